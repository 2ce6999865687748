"""Regular expressions: POSIX extended ones (`regexMatch`, `regexReplace`) and Perl's (`regexMatchPerl`, ...).

Both run on Python's `re`. A POSIX pattern is first rewritten: in a bracket expression a backslash is a plain character
and `[:alpha:]` a class. One departure: where alternatives match at the same position, the first wins, not the longest.
"""

from __future__ import annotations

import re
from functools import lru_cache

from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import function

_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r" \t\n\r\f\v",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "print": " -~",
    "graph": "!-~",
    "cntrl": r"\x00-\x1f\x7f",
    "xdigit": "0-9A-Fa-f",
}
_BRACKET = re.compile(r"\[(\^?)(\]?(?:\[:\w+:\]|[^\]])*)\]")
_POSIX_PART = re.compile(r"\\.|" + _BRACKET.pattern, re.DOTALL)
_BRACKET_PART = re.compile(r"\[:(\w+):\]|([\\\[\]&~|^])")


def _python_part(match: re.Match[str]) -> str:
    if match[0].startswith("\\"):
        return match[0]
    inside = _BRACKET_PART.sub(_python_bracket_part, match[2])
    return f"[{match[1]}{inside}]"


def _python_bracket_part(match: re.Match[str]) -> str:
    if match[1] is None:
        return "\\" + match[2]
    if match[1] not in _CLASSES:
        raise EvaluationError(f"there is no character class `[:{match[1]}:]`")
    return _CLASSES[match[1]]


@lru_cache(maxsize=256)
def _compile(pattern: str, perl: bool) -> re.Pattern[str]:
    try:
        return re.compile(pattern if perl else _POSIX_PART.sub(_python_part, pattern))
    except re.error as error:
        raise EvaluationError(f"`{pattern}` is not a regular expression: {error}") from error


def _matches(text: str, pattern: str, perl: bool) -> list[str]:
    match = _compile(pattern, perl).search(text)
    return [] if match is None else [match[0], *(group or "" for group in match.groups())]


_REFERENCE = re.compile(r"\\(.)|\$([0-9])|(&)", re.DOTALL)


def _replaced(text: str, pattern: str, substitute: str, everywhere: bool, perl: bool) -> str:
    def fill(match: re.Match[str]) -> str:
        def part(reference: re.Match[str]) -> str:
            escaped, dollar, _ = reference.groups()
            if escaped is not None:
                return _group(match, escaped) if escaped in "123456789" else escaped
            if not perl:
                return reference[0]
            return match[0] if dollar is None else _group(match, dollar)

        # An empty match replaces nothing.
        return _REFERENCE.sub(part, substitute) if match[0] else ""

    return _compile(pattern, perl).sub(fill, text, count=0 if everywhere else 1)


def _group(match: re.Match[str], digit: str) -> str:
    number = int(digit)
    return (match[number] or "") if number <= match.re.groups else ""


@function("<string T> list<T> regexMatch(T str, T pattern)")
def regex_match(text: str, pattern: str) -> list[str]:
    """The first match of a POSIX extended regular expression, then its groups; empty if there is none."""
    return _matches(text, pattern, perl=False)


@function("<string T> list<T> regexMatchPerl(T str, T pattern)")
def regex_match_perl(text: str, pattern: str) -> list[str]:
    """The first match of a Perl regular expression, then its groups; empty if there is none."""
    return _matches(text, pattern, perl=True)


@function("<string T> T regexReplace(T str, T pattern, T substitute, boolean global)")
def regex_replace(text: str, pattern: str, substitute: str, everywhere: bool) -> str:
    r"""The string with the first match, or all, of a POSIX expression replaced; `\1` is a group."""
    return _replaced(text, pattern, substitute, everywhere, perl=False)


@function("<string T> T regexReplacePerl(T str, T pattern, T substitute, boolean global)")
def regex_replace_perl(text: str, pattern: str, substitute: str, everywhere: bool) -> str:
    r"""The string with the first match, or all, of a Perl expression replaced; `\1` or `$1` is a group."""
    return _replaced(text, pattern, substitute, everywhere, perl=True)
