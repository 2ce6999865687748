"""Submission-time values as Python gives them, as the text that programs read.

Example:
    >>> submission_values({"least": 5, "names": ["a", "b"], "all": True})
    {'least': ['5'], 'names': ['a', 'b'], 'all': ['true']}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.base.secret_references import protect_value


def submission_values(given: Mapping[str, Any]) -> dict[str, list[str]]:
    """Values by name, as text; a list is several values for the name.

    Raises:
        UserError: They are not given by name.
    """
    if not isinstance(given, Mapping):
        raise UserError(f"`set` takes values by name, found {given!r}", hint='write set={"name": value}')
    settings = {
        name: [_text(one) for one in (value if isinstance(value, list | tuple) else [value])]
        for name, value in given.items()
    }
    for name, values in settings.items():
        for value in values:
            protect_value(name, value)
    return settings


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
