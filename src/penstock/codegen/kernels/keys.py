"""Keys as small numbers: what lets state lie in arrays.

Introduction:
    Every key that a state knows has a number, from 0 on in the order in which they came. A batch of keys becomes an
    array of numbers, and the state of a key is a row of an array.

Formulation:
    The parts of a key are columns (`growing_columns`), in which its number is the row; a table of hashes (`key_index`)
    finds the number. Values that Arrow does not compare as SPL does (decimals, collections, optional types) stand in a
    dictionary of Python's, and their number there is the part.

Algorithm:
    A search of the whole batch at once: O(b) for b rows, however many keys are known, and none of them a Python object.

Example:
    >>> keys = Keys(["rstring"])
    >>> keys.codes([pa.array(["b", "a", "b"])]).tolist(), keys.codes([pa.array(["a", "c"])], known=True).tolist()
    ([0, 1, 0], [1, -1])
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.kernels.column_operations import values
from penstock.codegen.kernels.growing_arrays import GrowingArray
from penstock.codegen.kernels.growing_columns import growing_column, is_text
from penstock.codegen.kernels.key_index import KeyIndex
from penstock.codegen.rows.frames import taken
from penstock.codegen.rows.places import Array
from penstock.expr.values import to_arrow_array
from penstock.expr.vector.frame import Column, dtype_of
from penstock.ir.types import Type, parse_type
from penstock.parallel.routing import code_of
from penstock.toolkit.aggregates.distinct import identity_of
from penstock.toolkit.core.memory import same_nan


class Keys:
    """The numbers of keys.

    Args:
        types: Of the parts of a key, as SPL writes them; without any there is one key alone.
    """

    def __init__(self, types: Sequence[str]) -> None:
        self.types = [parse_type(text) for text in types]
        self._in_python = {i: _PythonNumbers(t) for i, t in enumerate(self.types) if not _is_compared_by_arrow(t)}
        self._parts = [growing_column(np.int64 if i in self._in_python else t) for i, t in enumerate(self.types)]
        self._index = KeyIndex()

    def __len__(self) -> int:
        return self._index.count if self.types else 1

    def codes(self, columns: Sequence[Column], *, known: bool = False, rows: int = 0) -> Array:
        """The number of each row's key.

        Args:
            columns: The parts of the key.
            known: Whether a key that is not known stays so, and gets -1.
            rows: How many there are; needed where the key has no parts.
        """
        if not self.types:
            return np.zeros(rows, np.int64)
        held = [self._as_held(part, column, known) for part, column in enumerate(columns)]
        hashes = code_of(held)
        codes = self._index.find(hashes, lambda chosen, numbers: self._equal(held, chosen, numbers))
        if not known and (fresh := np.flatnonzero(codes < 0)).size:
            codes[fresh] = self._add(held, hashes, fresh)
        return codes

    def _as_held(self, part: int, column: Column, known: bool) -> Column:
        """A part of keys in the form in which it is held and compared."""
        if part in self._in_python:
            return self._in_python[part].numbers(column, known=known)
        if isinstance(column, np.ndarray):
            return _one_form(column) if column.dtype.kind == "f" else column
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def _equal(self, held: Sequence[Column], rows: Array, numbers: Array) -> Array:
        found = np.ones(len(rows), bool)
        for part, column in zip(self._parts, held, strict=True):
            found &= part.equals(numbers, taken(column, rows))
        return found

    def _add(self, held: Sequence[Column], hashes: Array, fresh: Array) -> Array:
        """Know the keys of some rows, in the order in which they come; gives their numbers."""
        numbers = _numbered([taken(column, fresh) for column in held])
        first = fresh[np.flatnonzero(np.diff(np.maximum.accumulate(numbers), prepend=-1))]
        before = len(self)
        added = np.arange(before, before + len(first))
        for part, column in zip(self._parts, held, strict=True):
            part.reserve(before + len(first))
            part.put(added, taken(column, first))
        self._index.add(hashes[first])
        return before + numbers

    def columns(self, chosen: Array | None = None) -> list[Column]:
        """The parts of keys with some numbers, or of all keys in the order of their numbers."""
        if chosen is None:
            found = [part.head(len(self)) for part in self._parts]
        else:
            found = [part.take(chosen) for part in self._parts]
        return [self._in_python[i].values(column) if i in self._in_python else column for i, column in enumerate(found)]

    def restore(self, columns: Sequence[Column]) -> None:
        """Know these keys, numbered in this order, and no others."""
        for numbers in self._in_python.values():
            numbers.forget()
        self._index.forget()
        if not self.types:
            return
        held = [self._as_held(part, column, known=False) for part, column in enumerate(columns)]
        for part, column in zip(self._parts, held, strict=True):
            part.restore(column)
        self._index.add(code_of(held))

    def count_bytes(self) -> int:
        """The bytes of all keys, about."""
        return sum(part.count_bytes(len(self)) for part in self._parts)

    @property
    def arrays(self) -> list[GrowingArray] | None:
        """What they lie in; None where there is something else, too."""
        if self._in_python:
            return None
        return [*self._index.arrays, *(array for part in self._parts for array in part.arrays)]

    def sizes(self) -> list[Any]:
        """What else has to be known to go on with the arrays in another process."""
        return [self._index.count, *(part.sizes() for part in self._parts)]

    def restore_sizes(self, sizes: Sequence[Any]) -> None:
        """Go on with arrays that were attached."""
        self._index.count, *parts = sizes
        for part, own in zip(self._parts, parts, strict=True):
            part.restore_sizes(own)


def _is_compared_by_arrow(type_: Type) -> bool:
    return dtype_of(type_) is not None or is_text(type_)


def _one_form(column: Array) -> Array:
    """Floats with one zero and one NaN."""
    found = column + column.dtype.type(0.0)
    found[np.isnan(found)] = np.nan
    return found


def _numbered(columns: Sequence[Column]) -> Array:
    """Rows with numbers, equal ones with the same, in the order in which they first come."""
    numbers = _numbered_column(columns[0])
    for column in columns[1:]:
        last = _numbered_column(column)
        numbers = _numbered_column(numbers * (int(last.max()) + 1) + last)
    return numbers


def _numbered_column(column: Column) -> Array:
    found: Array = pa.array(column).dictionary_encode().indices.to_numpy(zero_copy_only=False)
    return found.astype(np.int64)


class _PythonNumbers:
    """The numbers of values that Arrow does not compare as SPL does."""

    def __init__(self, type_: Type) -> None:
        self._type = type_
        self._identity = identity_of(type_)
        self.forget()

    def forget(self) -> None:
        """Know nothing."""
        self._numbers: dict[Hashable, int] = {}
        self._values: list[Any] = []

    def numbers(self, column: Any, *, known: bool) -> Array:
        """The number of each value; one that is not known gets the next, or -1 if it is to stay so."""
        return np.array([self._number(value, known) for value in values(column, self._type)], np.int64)

    def _number(self, value: Any, known: bool) -> int:
        same: Hashable = same_nan(value if self._identity is None else self._identity(value))
        if known:
            return self._numbers.get(same, -1)
        number = self._numbers.setdefault(same, len(self._values))
        if number == len(self._values):
            self._values.append(value)
        return number

    def values(self, numbers: Array) -> Column:
        """The values with some numbers."""
        return to_arrow_array([self._values[number] for number in numbers.tolist()], self._type)


def by_key(codes: Array, count: int) -> Array:
    """The rows in the order of their keys' numbers, of which there are `count`, and within a key as they came."""
    # Numpy sorts 16 bits by their digits, so twice that is several times faster than once more of them.
    if count <= 1 << 16:
        return np.argsort(codes.astype(np.uint16), kind="stable")
    if count > 1 << 32:
        return np.argsort(codes, kind="stable")
    order = np.argsort((codes & 0xFFFF).astype(np.uint16), kind="stable")
    return order[np.argsort((codes >> 16).astype(np.uint16)[order], kind="stable")]


def present_keys(codes: Array, count: int) -> tuple[Array, Array]:
    """The keys of a batch, ascending, and for each row which of them is its own.

    Example:
        >>> [found.tolist() for found in present_keys(np.array([7, 2, 7]), 9)]
        [[2, 7], [1, 0, 1]]
    """
    order = by_key(codes, count)
    ordered = codes[order]
    is_first = np.diff(ordered, prepend=-1) != 0
    local = np.empty(len(codes), np.int64)
    local[order] = np.cumsum(is_first) - 1
    return ordered[is_first], local
