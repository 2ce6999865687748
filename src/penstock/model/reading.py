"""Reads the model's JSON files by tables of fields; every mistake is collected and named.

A file holds one object and lists of records. A table says, for each key of a record, what its value must be, in words
that a message can repeat, and what stands for a key that is left out.

Example:
    >>> reader = Reader("hosts.json")
    >>> fields = (Field("id", *NAME), Field("cores", *COUNT, default=1))
    >>> reader.records({"hosts": [{"id": "h1"}, {"id": "h2", "cores": 0}]}, "hosts", fields)
    [{'id': 'h1', 'cores': 1}]
    >>> reader.raise_if_any()
    Traceback (most recent call last):
    penstock.UserError: error: hosts.json: the `cores` of `h2` is 0; write a whole number from 1 up
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from penstock.base.diagnostics import Diagnostics, UserError, did_you_mean
from penstock.base.json_source import read_json

Record = dict[str, Any]

_REQUIRED = object()


class Field(NamedTuple):
    """One key of a record.

    Attributes:
        key: As the file has it.
        is_good: Whether a value will do.
        expected: What a value must be, in words.
        default: For a record without the key; without a default the key must be there.
    """

    key: str
    is_good: Callable[[Any], bool]
    expected: str
    default: Any = _REQUIRED


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e300 if isinstance(value, int) else math.isfinite(value)


def _is_amount(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _are(is_good: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(is_good, value))


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**31


Kind = tuple[Callable[[Any], bool], str]
NAME: Kind = (_is_name, "a name")
NAMES: Kind = (_are(_is_name), "a list of names")
AMOUNT: Kind = (_is_amount, "a number from 0 up")
AMOUNTS: Kind = (_are(_is_amount), "a list of numbers from 0 up")
POSITIVE: Kind = (lambda value: _is_number(value) and value > 0, "a number above 0")
COUNT: Kind = (lambda value: _is_whole(value, 1), "a whole number from 1 up")
INDEX: Kind = (lambda value: _is_whole(value, 0), "a whole number from 0 up")
FLAG: Kind = (lambda value: isinstance(value, bool), "true or false")
TEXT: Kind = (lambda value: isinstance(value, str), "a text")
LIST: Kind = (lambda value: isinstance(value, list), "a list")
OBJECT: Kind = (lambda value: isinstance(value, dict), "an object")


class Reader:
    """Takes records out of one file, and remembers what is wrong with it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found = Diagnostics()

    def complain(self, message: str, hint: str | None = None) -> None:
        """Record a mistake."""
        self.found.error(f"{self.path}: {message}", hint=hint)

    def raise_if_any(self) -> None:
        """Raise all mistakes, or return."""
        self.found.raise_if_any()

    def record(self, value: Record, fields: Sequence[Field], owner: str) -> Record | None:
        """One record with its defaults, or nothing after a complaint."""
        mistakes = [*self._unknown(value, fields, owner), *_bad_values(value, fields, owner)]
        for message, hint in mistakes:
            self.complain(message, hint)
        return None if mistakes else {f.key: value.get(f.key, f.default) for f in fields}

    def records(self, value: Mapping[str, Any], key: str, fields: Sequence[Field]) -> list[Record]:
        """The good records of a list; the others leave complaints."""
        items = value.get(key, [])
        if not isinstance(items, list):
            self.complain(f"`{key}` is {_shown(items)}", "write a list of objects")
            return []
        found = []
        for index, item in enumerate(items):
            if isinstance(item, dict):
                found.append(self.record(item, fields, _owner(item, f"{key}[{index}]")))
            else:
                self.complain(f"{key}[{index}] is {_shown(item)}", "write an object")
        kept = [record for record in found if record is not None]
        self._refuse_twins(kept, key)
        return kept

    def known(self, name: str, names: Mapping[str, Any] | Sequence[str], what: str) -> bool:
        """Whether a name exists; complains if not."""
        if name in names:
            return True
        self.complain(f"{what} `{name}` does not exist", did_you_mean(name, names))
        return False

    def version(self, value: Mapping[str, Any], newest: int, what: str) -> None:
        """Complain of a file that this version of Penstock cannot read."""
        found = value.get("version")
        if found != newest:
            said = "has no `version`" if found is None else f"has version {_shown(found)}"
            self.complain(f"the {what} {said}", f'this Penstock reads version {newest}: write "version": {newest}')

    def _unknown(self, value: Record, fields: Sequence[Field], owner: str) -> list[tuple[str, str | None]]:
        keys = [f.key for f in fields]
        known = f"known are {', '.join(f'`{key}`' for key in keys)}"
        return [
            (f"{owner} has an unknown key `{key}`", did_you_mean(key, keys) or known)
            for key in value
            if key not in keys
        ]

    def _refuse_twins(self, records: list[Record], key: str) -> None:
        seen: set[str] = set()
        for name in (record["id"] for record in records if "id" in record):
            if name in seen:
                self.complain(f"`{key}` has two of the id `{name}`", "give each its own")
            seen.add(name)


def load_object(path: Path) -> Record:
    """The object in a JSON file.

    Raises:
        UserError: The file cannot be read, or holds something else.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        raise UserError(f"{path}: the file holds {_shown(value)}", hint="write an object")
    return value


def _bad_values(value: Record, fields: Sequence[Field], owner: str) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    for key, is_good, expected, default in fields:
        if key not in value:
            if default is _REQUIRED:
                found.append((f"{owner} has no `{key}`", f"write {expected}"))
        elif not is_good(value[key]):
            found.append((f"the `{key}` of {owner} is {_shown(value[key])}", f"write {expected}"))
    return found


def _owner(item: Record, place: str) -> str:
    return f"`{item['id']}`" if _is_name(item.get("id")) else place


def _shown(value: object) -> str:
    """A value as a message shows it: short ones as they are."""
    text = json.dumps(value)
    if len(text) <= 40:
        return text
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a long value"
