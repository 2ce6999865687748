"""The checks that a JSON problem goes through; every mistake is collected and named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.diagnostics import Diagnostics, did_you_mean
from penstock.json_source import kind_of

_LARGEST = 1e100
"""Beyond this, sums and products would overflow."""


class Mistakes:
    """Collects the mistakes of one file and the small checks that find them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found = Diagnostics()

    def add(self, message: str, hint: str | None = None) -> None:
        """Record a mistake."""
        self.found.error(f"{self.path}: {message}", hint=hint)

    def raise_if_any(self) -> None:
        """Raise all mistakes, or return."""
        self.found.raise_if_any()

    def check_keys(self, value: dict[str, Any], known: Sequence[str], owner: str) -> None:
        """Complain of the keys that an object should not have."""
        for key in value:
            if key not in known:
                hint = did_you_mean(key, known) or f"it knows {', '.join(f'`{k}`' for k in known)}"
                self.add(f"{owner} has an unknown key `{key}`", hint)

    def objects(self, value: dict[str, Any], key: str, known: Sequence[str]) -> list[dict[str, Any]]:
        """The list under a key, without what is not an object."""
        items = value.get(key, [])
        if not isinstance(items, list):
            self.add(f"`{key}` is {kind_of(items)}", "write a list")
            return []
        for index, item in enumerate(items):
            if isinstance(item, dict):
                self.check_keys(item, known, f"{key}[{index}]")
            else:
                self.add(f"{key}[{index}] is {kind_of(item)}", "write an object")
        return [item for item in items if isinstance(item, dict)]

    def ids(self, items: list[dict[str, Any]], key: str) -> dict[str, int]:
        """The position of each id."""
        index_of: dict[str, int] = {}
        for index, item in enumerate(items):
            name = item.get("id")
            if isinstance(name, bool) or not isinstance(name, str | int):
                self.add(f"{key}[{index}] has no id", 'write "id": "name"')
                continue
            if str(name) in index_of:
                self.add(f"the id `{name}` is given to {key}[{index_of[str(name)]}] and to {key}[{index}]")
            index_of.setdefault(str(name), index)
        return index_of

    def number(self, value: object, what: str, *, above_zero: bool = False) -> float:
        """A number from 0 up; 0 after a complaint."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.add(f"{what} is {kind_of(value)}", "write a number")
        elif not value <= _LARGEST:
            self.add(f"{what} is too large or not a number", f"write a number up to {_LARGEST:g}")
        elif value < 0:
            self.add(f"{what} is negative: {value}", "write a number from 0 up")
        elif above_zero and value == 0:
            self.add(f"{what} is 0", "write a number above 0")
        else:
            return float(value)
        return 0.0

    def numbers(self, item: dict[str, Any], one: str, many: str, owner: str, default: list[float]) -> list[float]:
        """The numbers under `weight` or `weights`, `capacity` or `capacities`."""
        if one in item and many in item:
            self.add(f"{owner} has both `{one}` and `{many}`", f"write `{many}` alone")
        if many not in item:
            return [self.number(item[one], f"the {one} of {owner}")] if one in item else default
        values = item[many]
        if not isinstance(values, list) or not values:
            self.add(f"the {many} of {owner} are {kind_of(values)}", "write a list of numbers")
            return default
        return [self.number(value, f"{many}[{i}] of {owner}") for i, value in enumerate(values)]

    def same_length(self, rows: list[list[float]], owners: Sequence[str], what: str, length: int) -> bool:
        """Whether all rows are of one length; complains of the others."""
        uneven = [i for i, row in enumerate(rows) if len(row) != length]
        for i in uneven:
            self.add(f"{owners[i]} has {len(rows[i])} {what}; expected {length}", "give every one as many")
        return not uneven
