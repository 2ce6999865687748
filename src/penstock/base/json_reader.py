"""Values out of a JSON problem: every mistake is collected and said in one wording.

    the cost of operator `a` is negative: -3; write a number from 0 up

A message names the value by its key and its owner, says what was found, and then what to write. After a mistake a
harmless value stands in, so that the rest of the file is still read and all mistakes are reported at once.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any, TypeGuard

from penstock.base.diagnostics import Diagnostics, UserError, did_you_mean
from penstock.base.json_source import kind_of, nearest, read_json

Object = dict[str, Any]
Point = tuple[float, float]

_LONGEST = 57
_ALIKE = 0.85
_MOST = 2**31 - 1
_MOST_COMPARED = 100_000


def load_object(path: Path, example: str) -> Object:
    """The object in a JSON file; `example` shows what to write.

    Raises:
        UserError: The file cannot be read, or holds something else.
    """
    return expect_object(read_json(path), str(path), example)


def expect_object(value: object, path: str, example: str) -> Object:
    """A problem, which is an object.

    Raises:
        UserError: It is something else.

    Example:
        >>> expect_object([], "p.json", '{"tasks": [...]}')
        Traceback (most recent call last):
        penstock.UserError: error: p.json: the problem is a list; write an object: {"tasks": [...]}
    """
    if not isinstance(value, dict):
        raise UserError(f"{path}: the problem is {kind_of(value)}", hint=f"write an object: {example}")
    return value


class JsonReader:
    """Takes values out of objects, and complains of those that are not what they should be.

    Args:
        path: The file, for messages; empty if they should not name it.
        largest: The largest number that can be calculated with.

    Attributes:
        found: The mistakes so far.

    Example:
        >>> reader = JsonReader("p.json")
        >>> reader.number({"cost": "x"}, "cost", "operator `a`")
        1.0
        >>> [str(mistake) for mistake in reader.found]
        ['error: p.json: the cost of operator `a` is a string; write a number']
    """

    def __init__(self, path: str = "", *, largest: float = math.inf) -> None:
        self.path = path
        self.largest = largest
        self.found = Diagnostics()
        self._nameless = count(1)
        self._compared = 0

    def complain(self, message: str, hint: str | None = None) -> None:
        """Record a mistake."""
        self.found.error(f"{self.path}: {message}" if self.path else message, hint=hint)

    def raise_if_any(self) -> None:
        """Raise all mistakes, or return."""
        self.found.raise_if_any()

    def check_keys(self, item: Mapping[str, Any], known: Sequence[str], owner: str) -> None:
        """Complain of keys that nobody reads."""
        for key in item:
            if key not in known:
                hint = did_you_mean(key, known) or f"known are {', '.join(f'`{k}`' for k in known)}"
                self.complain(f"{owner} has an unknown key `{key}`", hint)

    def check_spelling(self, item: Mapping[str, Any], known: Sequence[str], owner: str) -> None:
        """Complain of keys that are nearly known; others may belong to another reader of the file."""
        for key in item:
            near = [] if key in known else difflib.get_close_matches(key, known, n=1, cutoff=_ALIKE)
            if near:
                self.complain(f"{owner} has an unknown key `{key}`", f"did you mean `{near[0]}`?")

    def check_name(self, name: str, known: Collection[str], owner: str, what: str) -> bool:
        """Whether a name exists; complains if not."""
        if name not in known:
            self.complain(f"{owner} names {what} `{name}`, which does not exist", self.suggest(name, known))
        return name in known

    def suggest(self, word: str, known: Collection[str]) -> str | None:
        """A hint that names the nearest known word; none in a file with so many mistakes that it would take long."""
        self._compared += len(known)
        return nearest(word, known) if self._compared <= _MOST_COMPARED else None

    def entries(self, value: Mapping[str, Any], key: str, owner: str | None = None) -> list[tuple[int, Object]]:
        """The objects of the list under a key, each with its position; none if the key is left out."""
        items = self.values(value, key, owner)
        for index, item in enumerate(items):
            if not isinstance(item, dict):
                self.complain(f"{within(f'{key}[{index}]', owner)} is {kind_of(item)}", "write an object")
        return [(index, item) for index, item in enumerate(items) if isinstance(item, dict)]

    def values(self, item: Mapping[str, Any], key: str, owner: str | None = None) -> list[Any]:
        """The list under a key, whatever it holds; empty where it is left out."""
        value = item.get(key, [])
        if isinstance(value, list):
            return value
        self.complain(f"{within(f'`{key}`', owner)} is {kind_of(value)}", "write a list")
        return []

    def objects(self, value: Mapping[str, Any], key: str, known: Sequence[str]) -> list[Object]:
        """The objects of the list under a key, without what is none and with complaints of unknown keys."""
        found = self.entries(value, key)
        for index, item in found:
            self.check_keys(item, known, f"{key}[{index}]")
        return [item for _, item in found]

    def mapping(self, item: Mapping[str, Any], key: str, owner: str) -> Object:
        """The object under a key, empty where it is left out."""
        value = item.get(key, {})
        if isinstance(value, dict):
            return value
        self.complain(f"the {key} of {owner} is {kind_of(value)}", "write an object")
        return {}

    def ids(self, items: Sequence[Object], key: str) -> list[str]:
        """The id of each item, with a complaint for those that have none or share one."""
        names: list[str] = []
        for index, item in enumerate(items):
            name = item.get("id")
            if isinstance(name, bool) or not isinstance(name, str | int):
                self.complain(f"{key}[{index}] has no id", 'write "id": "name"')
                name = f"{key}[{index}]"
            names.append(str(name))
        self.refuse_twins(enumerate(names), key)
        return names

    def refuse_twins(self, ids: Iterable[tuple[int, str]], key: str, owner: str | None = None) -> None:
        """Complain of entries of a list that share an id; each comes with its position."""
        first: dict[str, int] = {}
        for index, name in ids:
            if first.setdefault(name, index) != index:
                other = within(f"{key}[{index}]", owner)
                self.complain(f"the id `{name}` is given to {key}[{first[name]}] and to {other}", "give each its own")

    def amount(self, value: object, what: str, *, above_zero: bool = False) -> float:
        """A number from 0 up; 1 after a complaint."""
        fault = self._fault(value, above_zero=above_zero)
        if fault is None:
            return float(value)  # type: ignore[arg-type]  # what has no fault is a number
        self.complain(f"{what} is {fault[0]}", fault[1])
        return 1.0

    def is_amount(self, value: object) -> bool:
        """Whether `amount` takes a value without a complaint."""
        return self._fault(value) is None

    def _fault(self, value: object, *, above_zero: bool = False) -> tuple[str, str] | None:
        """The fault of a number, and the advice for it; None if there is none."""
        if not is_number(value):
            return kind_of(value), "write a number"
        if not _is_finite(value) or value > self.largest:
            most = "a finite number" if math.isinf(self.largest) else f"a number up to {self.largest:g}"
            return "too large or not a number", f"write {most}"
        if value < 0:
            return f"negative: {value:g}", "write a number from 0 up"
        if above_zero and value < 1 / self.largest:
            return f"{value:g}", _least(self.largest, value)
        return ("0", "write a number above 0") if above_zero and value == 0 else None

    def amounts(self, values: Sequence[object], what: str, owner: str) -> list[float] | None:
        """Numbers from 0 up; None after a complaint."""
        read = [self.amount(value, f"{what}[{index}] of {owner}") for index, value in enumerate(values)]
        return read if all(map(self.is_amount, values)) else None

    def points(self, value: object, what: str) -> list[Point]:
        """The points of a table, which rise; what is none is left out."""
        if not isinstance(value, list) or not value:
            self.complain(f"{what} is {'empty' if value == [] else kind_of(value)}", "write a list of [x, y]")
            return []
        points = [p for index, entry in enumerate(value) if (p := self._point(entry, f"point {index} of {what}"))]
        for (x0, y0), (x1, y1) in pairwise(points):
            if x1 <= x0:
                self.complain(f"{what} has {x1:g} after {x0:g}", "put its points in rising order")
            if y1 < y0:
                self.complain(f"{what} falls from {y0:g} at {x0:g} to {y1:g} at {x1:g}", "more must never give less")
        return points

    def _point(self, value: object, what: str) -> Point | None:
        if not isinstance(value, list) or len(value) != 2:
            self.complain(f"{what} is {shown(value)}", "write [x, y]")
            return None
        x, y = (self.amount(number, f"the {axis} of {what}") for axis, number in zip("xy", value, strict=True))
        return (x, y) if all(map(self.is_amount, value)) else None

    def number(
        self, item: Mapping[str, Any], key: str, owner: str, default: float | None = None, *, above_zero: bool = False
    ) -> float:
        """The number from 0 up under a key; the default where it is left out."""
        if key in item:
            return self.amount(item[key], f"the {key} of {owner}", above_zero=above_zero)
        if default is None:
            self.complain(f"{owner} has no {key}", f'write "{key}": a number')
        return 1.0 if default is None else default

    def numbers(self, item: Mapping[str, Any], one: str, many: str, owner: str, default: list[float]) -> list[float]:
        """The numbers under two keys of which one is given: `weight` or `weights`, say."""
        if one in item and many in item:
            self.complain(f"{owner} has both `{one}` and `{many}`", f"write `{many}` alone")
        if many not in item:
            return [self.number(item, one, owner)] if one in item else default
        values = item[many]
        if not isinstance(values, list) or not values:
            self.complain(f"the {many} of {owner} are {kind_of(values)}", "write a list of numbers")
            return default
        return [self.amount(value, f"{many}[{i}] of {owner}") for i, value in enumerate(values)]

    def check_lengths(self, rows: Sequence[Sequence[float]], owners: Sequence[str], what: str, length: int) -> bool:
        """Whether all rows are of one length; complains of the others."""
        uneven = [i for i, row in enumerate(rows) if len(row) != length]
        for i in uneven:
            self.complain(f"{owners[i]} has {len(rows[i])} {what}; expected {length}", "give every one as many")
        return not uneven

    def count(self, item: Mapping[str, Any], key: str, owner: str, *, least: int = 1, default: int = 1) -> int:
        """The whole number under a key, also where it is written as `2.0`; the default where it is left out."""
        value = item.get(key, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        most = self.largest if self.largest < 2**63 else _MOST
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.complain(f"the {key} of {owner} is {shown(value)}", f"write a whole number from {least} up")
        elif value > most:
            self.complain(f"the {key} of {owner} is {shown(value)}", f"write a whole number up to {most:g}")
        else:
            return value
        return default

    def limit(self, item: Mapping[str, Any], key: str, owner: str, *, least: int = 1) -> int | None:
        """The whole number under a key; None where it is left out or null, which set no limit."""
        return None if item.get(key) is None else self.count(item, key, owner, least=least)

    def flag(self, item: Mapping[str, Any], key: str, owner: str, *, default: bool = False) -> bool:
        """The truth value under a key; the default where it is left out."""
        value = item.get(key, default)
        if isinstance(value, bool):
            return value
        self.complain(f"the {key} of {owner} is {kind_of(value)}", "write true or false")
        return default

    def word(self, item: Mapping[str, Any], key: str, allowed: Sequence[str]) -> str:
        """One of some words under a key of the problem; the first where it is left out."""
        value = item.get(key, allowed[0])
        if value not in allowed:
            self.complain(f"`{key}` is {shown(value)}", f"write one of {', '.join(allowed)}")
            return allowed[0]
        return str(value)

    def variant(self, item: Mapping[str, Any], key: str, owner: str, kinds: Sequence[str]) -> tuple[str, Any] | None:
        """The kind and the body of a value that is written `{"kind": body}`; None after a complaint."""
        value = item.get(key)
        if isinstance(value, dict) and len(value) == 1 and (kind := next(iter(value))) in kinds:
            return kind, value[kind]
        hint = "write " + " or ".join(f'{{"{kind}": ...}}' for kind in kinds)
        if value is None:
            self.complain(f"{owner} has no {key}", hint)
        else:
            self.complain(f"the {key} of {owner} is {shown(value)}", hint)
        return None

    def kind(self, item: Mapping[str, Any], known: Collection[str], owner: str) -> str | None:
        """The known word under `kind`; None after a complaint."""
        word = item.get("kind")
        if isinstance(word, str) and word in known:
            return word
        hint = did_you_mean(word, known) if isinstance(word, str) else None
        fault = f"an unknown kind: {shown(word)}" if "kind" in item else "no kind"
        self.complain(f"{owner} has {fault}", hint or f"write one of {', '.join(known)}")
        return None

    def name(self, item: Mapping[str, Any], key: str, owner: str) -> str | None:
        """The name under a key, None where it is left out."""
        value = item.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
            self.complain(f"the {key} of {owner} is {kind_of(value)}", "write a name")
            return None
        return None if value is None else str(value)

    def text(self, item: Mapping[str, Any], key: str, owner: str) -> str:
        """The text under a key, which must be there; after a complaint one that nothing else has."""
        value = item.get(key)
        if isinstance(value, str) and value:
            return value
        if key not in item:
            self.complain(f"{owner} has no {key}", f'write "{key}": "name"')
        else:
            self.complain(f"the {key} of {owner} is {'empty' if value == '' else kind_of(value)}", "write a name")
        return f"#{next(self._nameless)}"

    def texts(self, item: Mapping[str, Any], key: str, owner: str) -> list[str]:
        """The list of texts under a key; empty where it is left out, without what is none."""
        value = item.get(key, [])
        if not isinstance(value, list):
            self.complain(f"`{key}` of {owner} is {kind_of(value)}", "write a list of names")
            return []
        for index, entry in enumerate(value):
            if not isinstance(entry, str):
                self.complain(f"{key}[{index}] of {owner} is {kind_of(entry)}", "write a name")
        return [entry for entry in value if isinstance(entry, str)]

    def names(self, value: object, what: str) -> list[str]:
        """A list of names."""
        if not isinstance(value, list) or not value:
            self.complain(f"{what} is {'empty' if value == [] else kind_of(value)}", "write a list of names")
            return []
        for index, name in enumerate(value):
            if isinstance(name, bool) or not isinstance(name, str | int):
                self.complain(f"{what}[{index}] is {kind_of(name)}", "write a name")
        return [str(name) for name in value]


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a JSON value is a number.

    Example:
        >>> is_number(2), is_number(True), is_number("2")
        (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def within(what: str, owner: str | None) -> str:
    """Something with its owner, if it has one.

    Example:
        >>> within("`pes`", "job `j`"), within("`jobs`", None)
        ('`pes` of job `j`', '`jobs`')
    """
    return what if owner is None else f"{what} of {owner}"


def shown(value: object) -> str:
    """A JSON value as a message shows it, cut where it is long.

    Example:
        >>> shown(2.50), shown("x"), shown([1] * 100)
        ('2.5', '"x"', '[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,...')
    """
    try:
        text = f"{value:g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        # Too many digits, or nested too deeply, to be written.
        return kind_of(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _least(largest: float, value: float) -> str:
    return f"write a number from {1 / largest:g} up" if value else "write a number above 0"
