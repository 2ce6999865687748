"""Reading values out of a JSON problem; every mistake is collected and named."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.diagnostics import Diagnostics, UserError, did_you_mean
from penstock.json_source import kind_of, read_json

Object = dict[str, Any]


def load_object(path: Path) -> Object:
    """The object in a JSON file.

    Raises:
        UserError: The file cannot be read, or holds something else.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        raise UserError(
            f"{path}: the problem is {kind_of(value)}", hint='write an object: {"operators": [...], "hosts": [...]}'
        )
    return value


class Reader:
    """Takes values out of objects, and complains of those that are not what they should be."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found = Diagnostics()

    def complain(self, message: str, hint: str | None = None) -> None:
        """Record a mistake."""
        self.found.error(f"{self.path}: {message}", hint=hint)

    def check_keys(self, item: Object, known: Sequence[str], owner: str) -> None:
        """Complain of keys that nobody reads."""
        for key in item.keys() - set(known):
            hint = did_you_mean(key, known) or f"known are {', '.join(f'`{k}`' for k in known)}"
            self.complain(f"{owner} has an unknown key `{key}`", hint)

    def objects(self, value: Object, key: str, known: Sequence[str]) -> list[Object]:
        """The list of objects under a key; what is none is an empty object after a complaint."""
        items = value.get(key, [])
        if not isinstance(items, list):
            self.complain(f"`{key}` is {kind_of(items)}", "write a list")
            return []
        found: list[Object] = []
        for index, item in enumerate(items):
            if not isinstance(item, dict):
                self.complain(f"{key}[{index}] is {kind_of(item)}", "write an object")
                continue
            self.check_keys(item, known, f"{key}[{index}]")
            found.append(item)
        return found

    def ids(self, items: list[Object], key: str) -> list[str]:
        """The id of each item, with a complaint for those that have none or share one."""
        names: list[str] = []
        first: dict[str, int] = {}
        for index, item in enumerate(items):
            name = item.get("id")
            if isinstance(name, bool) or not isinstance(name, str | int):
                self.complain(f"{key}[{index}] has no id", 'write "id": "name"')
                name = f"{key}[{index}]"
            elif first.setdefault(str(name), index) != index:
                self.complain(f"the id `{name}` is given to {key}[{first[str(name)]}] and to {key}[{index}]")
            names.append(str(name))
        return names

    def number(
        self, item: Object, key: str, owner: str, default: float | None = None, *, above_zero: bool = False
    ) -> float:
        """The number from 0 up under a key."""
        value = item.get(key, default)
        if value is None and key not in item:
            self.complain(f"{owner} has no {key}", f'write "{key}": a number')
        elif isinstance(value, bool) or not isinstance(value, int | float):
            self.complain(f"the {key} of {owner} is {kind_of(value)}", "write a number")
        elif not _is_finite(value):
            self.complain(f"the {key} of {owner} is too large or not a number", "write a finite number")
        elif value < 0:
            self.complain(f"the {key} of {owner} is negative: {value:g}", "write a number from 0 up")
        elif above_zero and value == 0:
            self.complain(f"the {key} of {owner} is 0", "write a number above 0")
        else:
            return float(value)
        return 1.0

    def count(self, item: Object, key: str, owner: str) -> int:
        """The whole number from 1 up under a key; 1 if there is none."""
        value = item.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
            self.complain(f"the {key} of {owner} is {value!r}", "write a whole number from 1 up")
            return 1
        return value

    def flag(self, item: Object, key: str, owner: str) -> bool:
        """The truth value under a key; false if there is none."""
        value = item.get(key, False)
        if not isinstance(value, bool):
            self.complain(f"`{key}` of {owner} is {kind_of(value)}", "write true or false")
        return value is True

    def name(self, item: Object, key: str, owner: str) -> str | None:
        """The optional name under a key."""
        value = item.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
            self.complain(f"the {key} of {owner} is {kind_of(value)}", "write a name")
            return None
        return None if value is None else str(value)

    def names(self, value: object, what: str) -> list[str]:
        """A list of names."""
        if not isinstance(value, list) or not value:
            self.complain(f"{what} is {'empty' if value == [] else kind_of(value)}", "write a list of names")
            return []
        return [str(name) for name in value]


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
