"""Read the fields of a JSON object: a value that is wrong is reported and replaced with a harmless one."""

from __future__ import annotations

import difflib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from penstock.diagnostics import Diagnostics, did_you_mean
from penstock.json_source import kind_of
from penstock.scheduler.problem import Table

Item = Mapping[str, object]

_LONGEST = 57

LARGEST = 1e15
"""Products of numbers up to this, and quotients down to its inverse, stay far from where arithmetic overflows."""


class Fields:
    """Reads fields and records what is wrong with them.

    Example:
        >>> found = Diagnostics()
        >>> Fields(found).number("PE `p`", {"max_mips": "x"}, "max_mips")
        0.0
        >>> [str(diagnostic) for diagnostic in found]
        ['error: PE `p`: `max_mips` is "x"; give a number of at least 0']
    """

    def __init__(self, found: Diagnostics) -> None:
        self._found = found
        self._unnamed = itertools.count(1)

    def table(self, what: str, body: object) -> Table:
        """A table of points that rise."""
        points = tuple(self._points(what, body))
        if not points:
            if isinstance(body, list) and not body:
                self._found.error(f"{what} table has no points", hint="give at least one `[x, y]`")
            return Table(points=((0.0, 0.0),))
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            if x1 <= x0:
                self._found.error(f"{what} table has {x1:g} after {x0:g}", hint="put its points in rising order")
            if y1 < y0:
                self._found.error(
                    f"{what} table falls from {y0:g} at {x0:g} to {y1:g} at {x1:g}", hint="more must never give less"
                )
        return Table(points=points)

    def _points(self, what: str, body: object) -> Iterator[tuple[float, float]]:
        if not isinstance(body, list):
            self._found.error(f"{what} table is {kind_of(body)}; give a list of `[x, y]`")
            return
        for point in body:
            if not (isinstance(point, list) and len(point) == 2):
                self._found.error(f"{what} table has the point `{shown(point)}`; give `[x, y]`")
                continue
            x, y = (self.checked(f"{what} table: `{shown(point)}`", number) for number in point)
            yield x, y

    def boolean(self, where: str, item: Item, key: str, *, default: bool = False) -> bool:
        """True or false."""
        value = item.get(key, default)
        if isinstance(value, bool):
            return value
        self._found.error(f"{where}: `{key}` is {shown(value)}; give true or false")
        return default

    def number(self, where: str, item: Item, key: str, *, required: bool = False, default: float = 0.0) -> float:
        """A number field, not negative."""
        prefix = f"{where}: " if where else ""
        if key in item:
            return self.checked(f"{prefix}`{key}`", item[key])
        if required:
            self._found.error(f"{prefix}`{key}` is missing; give a number of at least 0")
        return default

    def positive(self, where: str, item: Item, key: str, *, default: float | None = None) -> float:
        """A number field above 0, and not so small that dividing by it overflows."""
        if key not in item:
            if default is None:
                self._found.error(f"{where}: `{key}` is missing; give a number above 0")
            return default or 1.0
        value = self.number(where, item, key)
        if value >= 1 / LARGEST:
            return value
        if item[key] == value:
            bound = f"of at least {1 / LARGEST:g}" if value else "above 0"
            self._found.error(f"{where}: `{key}` is {value:g}; give a number {bound}")
        return 1.0

    def count(self, where: str, item: Item, key: str, *, least: int = 1) -> int | None:
        """A whole number field; None where it is left out."""
        value = item.get(key)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST):
            return value
        self._found.error(f"{where}: `{key}` is {shown(value)}; give a whole number of at least {least}")
        return None

    def checked(self, what: str, value: object) -> float:
        """A number that is not negative and that can be counted with."""
        if not is_number(value) or not value >= 0:
            self._found.error(f"{what} is {shown(value)}; give a number of at least 0")
        elif value > LARGEST:
            self._found.error(f"{what} is {shown(value)}; give a number up to {LARGEST:g}")
        else:
            return float(value)
        return 0.0

    def text(self, where: str, item: Item, key: str) -> str:
        """A name; where it is missing, one that nothing else has."""
        value = item.get(key)
        if isinstance(value, str) and value:
            return value
        given = "missing" if key not in item else shown(value)
        self._found.error(f"{where}: its `{key}` is {given}; give a text")
        # A name that nothing else has, so that the checks of the whole problem see no clash.
        return f"#{next(self._unnamed)}"

    def texts(self, where: str, item: Item, key: str) -> tuple[str, ...]:
        """A list of names, none where it is left out."""
        value = item.get(key, [])
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            return tuple(value)
        self._found.error(f"{where}: `{key}` is {shown(value)}; give a list of texts")
        return ()

    def mapping(self, where: str, item: Item, key: str) -> Item:
        """An object, empty where it is left out."""
        value = item.get(key, {})
        if isinstance(value, dict):
            return value
        self._found.error(f"{where}: `{key}` is {kind_of(value)}; give an object")
        return {}

    def objects(self, where: str, item: Item, key: str) -> list[tuple[int, dict[str, object]]]:
        """A list of objects, each with its place in the list."""
        value = item.get(key, [])
        if not isinstance(value, list):
            self._found.error(f"{where}: `{key}` is {kind_of(value)}; give a list")
            return []
        for i, entry in enumerate(value):
            if not isinstance(entry, dict):
                self._found.error(f"{where}: entry {i} of `{key}` is {kind_of(entry)}; give an object")
        return [(i, entry) for i, entry in enumerate(value) if isinstance(entry, dict)]

    def spelling(self, where: str, item: Item, known: Sequence[str]) -> None:
        """Report keys that are nearly known; others may belong to another reader of the document."""
        for key in item:
            near = [] if key in known else difflib.get_close_matches(key, known, n=1, cutoff=0.85)
            if near:
                self._found.error(f"{where} has the unknown key `{key}`", hint=f"did you mean `{near[0]}`?")

    def only(self, where: str, item: Item, known: Sequence[str]) -> None:
        """Report keys that nobody reads."""
        for key in item:
            if key not in known:
                hint = did_you_mean(key, known) or "the keys are " + ", ".join(known)
                self._found.error(f"{where} has the unknown key `{key}`", hint=hint)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a JSON value is a number.

    Example:
        >>> is_number(2), is_number(True), is_number("2")
        (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def shown(value: object) -> str:
    """A JSON value as a message shows it, cut where it is long.

    Example:
        >>> shown(2.50), shown("x"), shown([1] * 100)
        ('2.5', '"x"', '[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,...')
    """
    text = f"{value:g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
