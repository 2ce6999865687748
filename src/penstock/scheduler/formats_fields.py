"""Read the fields of a JSON object: a value that is wrong is reported and replaced with a harmless one."""

from __future__ import annotations

import difflib
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from penstock.diagnostics import Diagnostics
from penstock.scheduler.problem import Table

_T = TypeVar("_T")


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
                self._found.error(
                    f"{what} table has {show(x1)} after {show(x0)}", hint="put its points in rising order"
                )
            if y1 < y0:
                self._found.error(
                    f"{what} table falls from {show(y0)} at {show(x0)} to {show(y1)} at {show(x1)}",
                    hint="more must never give less",
                )
        return Table(points=points)

    def _points(self, what: str, body: object) -> Iterator[tuple[float, float]]:
        if not isinstance(body, list):
            self._found.error(f"{what} table is {kind_of(body)}; give a list of `[x, y]`")
            return
        for point in body:
            if not (isinstance(point, list) and len(point) == 2):
                self._found.error(f"{what} table has the point `{json.dumps(point)}`; give `[x, y]`")
                continue
            yield (
                self.checked(f"{what} table: `{json.dumps(point)}`", point[0]),
                self.checked(f"{what} table: `{json.dumps(point)}`", point[1]),
            )

    def boolean(self, where: str, item: Mapping[str, object], key: str) -> bool:
        """True or false; false where it is left out."""
        value = item.get(key, False)
        if not isinstance(value, bool):
            self._found.error(f"{where}: `{key}` is {json.dumps(value)}; give true or false")
        return bool(value)

    def number(
        self, where: str, item: Mapping[str, object], key: str, *, required: bool = False, default: float = 0.0
    ) -> float:
        """A number field, finite and not negative."""
        prefix = f"{where}: " if where else ""
        if key in item:
            return self.checked(f"{prefix}`{key}`", item[key])
        if required:
            self._found.error(f"{prefix}`{key}` is missing; give a number of at least 0")
        return default

    def checked(self, what: str, value: object) -> float:
        """A finite number that is not negative."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._found.error(f"{what} is {json.dumps(value)}; give a number of at least 0")
            return 0.0
        if value < 0 or not math.isfinite(value):
            self._found.error(f"{what} is {show(value)}; give a number of at least 0")
            return 0.0
        return float(value)

    def text(self, where: str, item: Mapping[str, object], key: str, kind: str = "id") -> str:
        """A name; where it is missing, one that nothing else has."""
        value = item.get(key)
        if isinstance(value, str) and value:
            return value
        given = "missing" if key not in item else json.dumps(value)
        self._found.error(f"{where}: its `{key}` is {given}; give a text that names the {kind}")
        # A name that nothing else has, so that the checks of the whole problem see no clash.
        return f"#{next(self._unnamed)}"

    def texts(self, where: str, item: Mapping[str, object], key: str) -> tuple[str, ...]:
        """A list of stream ids, each once."""
        value = item.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            self._found.error(f"{where}: `{key}` is {json.dumps(value)}; give a list of stream ids")
            return ()
        for twice in duplicates(value):
            self._found.error(f"{where} reads stream `{twice}` twice", hint="name it once")
        return tuple(dict.fromkeys(value))

    def objects(self, where: str, item: Mapping[str, object], key: str) -> list[tuple[int, dict[str, object]]]:
        """A list of objects, each with its place in the list."""
        value = item.get(key, [])
        if not isinstance(value, list):
            self._found.error(f"{where}: `{key}` is {kind_of(value)}; give a list")
            return []
        for i, entry in enumerate(value):
            if not isinstance(entry, dict):
                self._found.error(f"{where}: entry {i} of `{key}` is {kind_of(entry)}; give an object")
        return [(i, entry) for i, entry in enumerate(value) if isinstance(entry, dict)]

    def spelling(self, where: str, item: Mapping[str, object], known: tuple[str, ...]) -> None:
        """Report keys that are nearly known; others may belong to another reader of the document."""
        for key in item:
            near = [] if key in known else difflib.get_close_matches(key, known, n=1, cutoff=0.85)
            if near:
                self._found.error(f"{where} has the unknown key `{key}`", hint=f"did you mean `{near[0]}`?")


def duplicates(items: Iterable[_T]) -> list[_T]:
    """The items that come more than once, each once, in order.

    Example:
        >>> duplicates(["a", "b", "a", "a"])
        ['a']
    """
    seen: set[_T] = set()
    twice: dict[_T, None] = {}
    for item in items:
        if item in seen:
            twice[item] = None
        seen.add(item)
    return list(twice)


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def show(number: float) -> str:
    """A number as a person writes it."""
    return f"{number:g}" if isinstance(number, float) else str(number)
