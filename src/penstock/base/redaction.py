"""Passwords are left out of whatever is shown: plans, pages, messages, logs.

What is known to be a password by where it stands is replaced by `***`: in a URL between user and host, behind a word
such as `password` and `=` or `:`, and in a parameter or setting of such a name. What was given as one (`protect`) is
replaced wherever it stands. A program and its checkpoint have to hold passwords; what is made for people does not.

Example:
    >>> redact("postgresql://me:geheim@db/market?password=geheim")
    'postgresql://me:***@db/market?password=***'
    >>> redact('param url: "host=db password=\\'ge heim\\'"; table: "t";')
    'param url: "host=db password=***"; table: "t";'
"""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "***"

_WORDS = r"passw(?:or)?d|passphrase|pwd|secret|credentials?|token|api[._-]?key|access[._-]?key|private[._-]?key"
# What a pattern may span is bounded, so that a long text takes no more than time in proportion to its length.
_SECRET_NAME = re.compile(rf"(?:{_WORDS}|jaas[._-]?config)s?$", re.IGNORECASE)
_IN_URL = re.compile(r"((?<![\w+.-])[A-Za-z][\w+.-]*://[^\s/:@\"'\\<>]{0,200}):[^\s\"\\<>]{0,500}@")
_BEHIND_WORD = re.compile(
    rf"((?:{_WORDS})(?:\\*[\"'])?\s*[=:]\s*)"
    r"(?:(\\+[\"'])(?:(?!\2).){0,500}\2|\"(?:\\.|[^\"\\]){0,500}\"|'(?:\\.|[^'\\]){0,500}'|(?<=[=:])[^\s&\"'\\<>]+)",
    re.IGNORECASE,
)
_IN_SUM = re.compile(
    r"((?:://[^\s/:@\"'\\]{0,200}:|(?:" + _WORDS + r")=)(\\*[\"'])\s*\+\s*\\*[\"'])[^\s\"'\\]*", re.IGNORECASE
)
"""A password in a sum of strings: `"postgresql://me:" + "geheim" + "@db"`."""

_AFTER_SUM = re.compile(r"([\"']):[^\s\"'\\<>]{1,500}@")
"""The password behind a user that is computed: `"postgresql://" + user + ":geheim@db"`."""

_BEFORE_PASSWORD = re.compile(rf"(?:://[^\s/:@]*:|(?:{_WORDS})=)$", re.IGNORECASE)
_SHORTEST = 4
"""A shorter word would be found in too many places that have nothing to do with it."""

_protected: set[str] = set()


def protect(*secrets: str) -> None:
    """Leave these out from now on, wherever they stand."""
    _protected.update(secret for secret in secrets if len(secret) >= _SHORTEST)


def is_secret_name(name: str) -> bool:
    """Whether a setting of this name is to be left out.

    Example:
        >>> [is_secret_name(name) for name in ("DB_PASSWORD", "ssl.key.password", "sasl.jaas.config", "passengers")]
        [True, True, True, False]
    """
    return _SECRET_NAME.search(name) is not None


def protect_url(url: str) -> None:
    """Leave the password of a URL, or of a list such as `host=db password=x`, out from now on."""
    for pattern in (r"//[^/:@]*:(.*)@", r"password\s*=\s*'((?:\\.|[^'\\])*)'", r"password\s*=\s*([^\s'&]+)"):
        for password in re.findall(pattern, url, re.IGNORECASE):
            # Who misreads a URL reports a part of the password as the host.
            protect(password, *re.split(r"[@:/?#&]", password))


def redact(text: str) -> str:
    """A text without the passwords in it."""
    for secret in sorted(_protected, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    if "://" in text:
        text = _AFTER_SUM.sub(rf"\1:{HIDDEN}@", _IN_URL.sub(rf"\1:{HIDDEN}@", text))
    return _BEHIND_WORD.sub(_hide, _IN_SUM.sub(rf"\1{HIDDEN}", text))


def redact_json(value: Any) -> Any:
    """Plain data without the passwords in it."""
    match value:
        case str():
            return redact(value)
        case list() | tuple():
            return [redact_json(item) for item in value]
        case {"name": str(name), "values": values, **rest} if is_secret_name(name):
            return {**redact_json(rest), "name": name, "values": _without_text(values)}
        case {"node": "Binary", "left": left, "right": right, **rest} if _is_before_password(left):
            return {**redact_json(rest), "node": "Binary", "left": redact_json(left), "right": _without_text(right)}
        case {"node": "Literal", "value": str(text), **rest} if text.startswith(":") and "@" in text:
            return {**rest, "node": "Literal", "value": f":{HIDDEN}@{text.rpartition('@')[2]}"}
        case dict():
            return {
                key: _without_text(item) if is_secret_name(str(key)) and isinstance(item, str) else redact_json(item)
                for key, item in value.items()
            }
    return value


def _is_before_password(expression: Any) -> bool:
    """Whether a sum of strings ends with what a password follows."""
    match expression:
        case {"node": "Binary", "right": right}:
            return _is_before_password(right)
        case {"node": "Literal", "value": str(text)}:
            return _BEFORE_PASSWORD.search(text) is not None
    return False


def _without_text(value: Any) -> Any:
    """The values of a parameter, none of which is shown."""
    match value:
        case str():
            return HIDDEN
        case list() | tuple():
            return [_without_text(item) for item in value]
        case dict():
            return {
                key: _without_text(item) if key not in ("node", "type", "operator") else item
                for key, item in value.items()
            }
    return value


def _hide(match: re.Match[str]) -> str:
    # What closes a bracket or a list around the value stays.
    value = match[0][len(match[1]) :]
    tail = "" if value[0] in "\"'\\" else value[len(value.rstrip(";,)]}")) :]
    return f"{match[1]}{HIDDEN}{tail}"
