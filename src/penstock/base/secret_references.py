"""Secrets that are named and not written down: `env:NAME` and `file:PATH`.

What a user gives as a password may say where the password is: in an environment variable, or in a file such as those
that Docker and Kubernetes mount below `/run/secrets`. Programs, plans, checkpoints, logs and pages then hold the
reference; whoever needs the secret itself looks it up where it is used, on the machine where it is used.

Only values that are secrets by their name are looked up, so that `file:data.csv` elsewhere stays what it is.

Example:
    >>> os.environ["MARKET_PASSWORD"] = "geheim"
    >>> reveal("env:MARKET_PASSWORD"), reveal("no reference"), is_reference("file:/run/secrets/market")
    ('geheim', 'no reference', True)
    >>> from penstock.base.redaction import redact
    >>> redact("it said: geheim")
    'it said: ***'
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.base.redaction import is_secret_name, protect, protect_url

_REFERENCE = re.compile(r"env:(?P<name>[A-Za-z_][A-Za-z0-9_]*)|file:(?!//)(?P<path>.+)")
_MOST_BYTES = 65_536


def is_reference(value: str) -> bool:
    """Whether a value names a secret."""
    return _REFERENCE.fullmatch(value) is not None


def reveal(value: str) -> str:
    """A secret for its reference; any other value is itself. It is left out of whatever is shown from then on.

    Raises:
        UserError: The secret is not there.
    """
    found = _REFERENCE.fullmatch(value)
    if found is None:
        return value
    secret = _of_environment(found["name"]) if found["name"] else _of_file(Path(found["path"]))
    protect(secret)
    return secret


def reveal_url(value: str) -> str:
    """The URL of a server for its reference; only the password in it is left out of what is shown."""
    url = reveal(value) if is_reference(value) else value
    protect_url(url)
    return url


def reveal_named(name: str, value: str) -> str:
    """The value of a setting: looked up if its name says that it is a secret.

    Example:
        >>> reveal_named("format", "env:HOME")
        'env:HOME'
    """
    return reveal(value) if is_secret_name(name) else value


def protect_value(name: str, value: str) -> None:
    """Leave a value out of what is shown if it is a secret by its name; a reference may be shown."""
    if is_secret_name(name) and not is_reference(value):
        protect(value)


def _of_environment(name: str) -> str:
    try:
        return os.environ[name]
    except KeyError:
        message = f"the secret `env:{name}` is not there: the environment variable is not set"
        raise UserError(message, hint="set it where the job runs, on a cluster for its workers too") from None


def _of_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        message = f"the secret `file:{path}` cannot be read: {error.strerror or error}"
        raise UserError(message, hint="it is read where the job runs, on a cluster by its workers too") from None
    if len(data) > _MOST_BYTES:
        raise UserError(f"the secret `file:{path}` is longer than {_MOST_BYTES:,} bytes")
    try:
        return data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise UserError(f"the secret `file:{path}` is no text in UTF-8") from None
