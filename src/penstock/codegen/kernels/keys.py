"""Keys as small numbers: what lets state lie in arrays.

Introduction:
    Every key that a state knows has a number, from 0 on in the order in which they came. A batch of keys becomes an
    array of numbers, and the state of a key is a row of an array.

Formulation:
    A key of one part is a value of a dictionary: an Arrow array in which a value's position is its number. A key of
    several parts is a pair, in a dictionary of pairs: the number of the parts before the last, and the number of the
    last. Values that Arrow does not compare as SPL does (decimals, collections, optional types) stand in a dictionary
    of Python's.

Algorithm:
    One search of the whole batch in a hash table of all known keys, made anew for each batch by Arrow: O(b + k) for b
    rows and k known keys, none of them a Python object.

Example:
    >>> keys = Keys(["rstring"])
    >>> keys.codes([pa.array(["b", "a", "b"])]).tolist(), keys.codes([pa.array(["a", "c"])], known=True).tolist()
    ([0, 1, 0], [1, -1])
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.codegen.kernels.column_operations import values
from penstock.codegen.rows.frames import taken
from penstock.codegen.rows.places import Array
from penstock.expr.values import to_arrow_array
from penstock.expr.vector.frame import Column, dtype_of
from penstock.ir.arrow import arrow_type
from penstock.ir.types import BLOB, INT64, EnumType, Type, is_string, parse_type
from penstock.toolkit.aggregates.distinct import identity_of
from penstock.toolkit.core.memory import same_nan

_PAIR = 1 << 32
"""No dictionary holds more values than this."""


class _Dictionary(Protocol):
    """Values with their numbers."""

    def __len__(self) -> int: ...

    def codes(self, column: Any, *, known: bool) -> Array:
        """The number of each value; one that is not known gets the next, or -1 if it is to stay so."""

    def values(self) -> Column:
        """The values in the order of their numbers."""


class _ArrowDictionary:
    """Values that are the same where Arrow says so."""

    def __init__(self, type_: Type) -> None:
        self._is_float = (dtype := dtype_of(type_)) is not None and dtype.kind == "f"
        self._is_plain = dtype is not None
        self._known = pa.array([], arrow_type(type_))

    def __len__(self) -> int:
        return len(self._known)

    def codes(self, column: Any, *, known: bool) -> Array:
        array = pa.array(_one_form(column) if self._is_float else column) if self._is_plain else column
        found = pc.index_in(array, value_set=self._known)
        codes = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        if found.null_count and not known:
            fresh = array.filter(found.is_null()).dictionary_encode()
            codes[codes < 0] = len(self._known) + fresh.indices.to_numpy(zero_copy_only=False)
            self._known = pa.concat_arrays([self._known, fresh.dictionary])
        return codes

    def values(self) -> Column:
        return self._known.to_numpy(zero_copy_only=False) if self._is_plain else self._known


def _one_form(column: Array) -> Array:
    """Floats with one zero and one NaN."""
    found = column + column.dtype.type(0.0)
    found[np.isnan(found)] = np.nan
    return found


class _PythonDictionary:
    """Values that Arrow does not compare as SPL does."""

    def __init__(self, type_: Type) -> None:
        self._type = type_
        self._identity = identity_of(type_)
        self._numbers: dict[Hashable, int] = {}
        self._values: list[Any] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def codes(self, column: Any, *, known: bool) -> Array:
        return np.array([self._code(value, known) for value in values(column, self._type)], np.int64)

    def _code(self, value: Any, known: bool) -> int:
        same: Hashable = same_nan(value if self._identity is None else self._identity(value))
        if known:
            return self._numbers.get(same, -1)
        number = self._numbers.setdefault(same, len(self._values))
        if number == len(self._values):
            self._values.append(value)
        return number

    def values(self) -> Column:
        return to_arrow_array(self._values, self._type)


def _dictionary(type_: Type) -> _Dictionary:
    by_arrow = dtype_of(type_) is not None or is_string(type_) or isinstance(type_, EnumType) or type_ == BLOB
    return _ArrowDictionary(type_) if by_arrow else _PythonDictionary(type_)


class Keys:
    """The numbers of keys.

    Args:
        types: Of the parts of a key, as SPL writes them; without any there is one key alone.
    """

    def __init__(self, types: Sequence[str]) -> None:
        self.types = [parse_type(text) for text in types]
        self._clear()

    def _clear(self) -> None:
        self._parts = [_dictionary(type_) for type_ in self.types]
        self._pairs = [_ArrowDictionary(INT64) for _ in self.types[1:]]

    def __len__(self) -> int:
        return len(self._pairs[-1] if self._pairs else self._parts[0]) if self.types else 1

    def codes(self, columns: Sequence[Column], *, known: bool = False, rows: int = 0) -> Array:
        """The number of each row's key.

        Args:
            columns: The parts of the key.
            known: Whether a key that is not known stays so, and gets -1.
            rows: How many there are; needed where the key has no parts.
        """
        if not self.types:
            return np.zeros(rows, np.int64)
        found = [part.codes(column, known=known) for part, column in zip(self._parts, columns, strict=True)]
        codes = found[0]
        for pairs, last in zip(self._pairs, found[1:], strict=True):
            is_unknown = (codes < 0) | (last < 0)
            codes = pairs.codes(codes * _PAIR + last, known=known)
            codes[is_unknown] = -1
        return codes

    def columns(self) -> list[Column]:
        """The parts of all keys, in the order of their numbers."""
        codes, parts = np.arange(len(self)), []
        for pairs, part in zip(reversed(self._pairs), reversed(self._parts[1:]), strict=True):
            codes, last = np.divmod(pairs.values()[codes], _PAIR)
            parts.append(taken(part.values(), last))
        return [taken(self._parts[0].values(), codes), *reversed(parts)] if self.types else []

    def keep(self, kept: Array) -> None:
        """Forget all keys but those for which a mask holds; they are numbered anew, in their old order."""
        chosen = np.flatnonzero(kept)
        remaining = [taken(column, chosen) for column in self.columns()]
        self.restore(remaining)

    def restore(self, columns: Sequence[Column]) -> None:
        """Know these keys, numbered in this order, and no others."""
        self._clear()
        if self.types:
            self.codes(columns)


def by_key(codes: Array, count: int) -> Array:
    """The rows in the order of their keys' numbers, of which there are `count`, and within a key as they came."""
    # Numpy sorts 16 bits by their digits, so twice that is several times faster than once more of them.
    if count <= 1 << 16:
        return np.argsort(codes.astype(np.uint16), kind="stable")
    if count > 1 << 32:
        return np.argsort(codes, kind="stable")
    order = np.argsort((codes & 0xFFFF).astype(np.uint16), kind="stable")
    return order[np.argsort((codes >> 16).astype(np.uint16)[order], kind="stable")]


def grown(array: Array, rows: int) -> Array:
    """An array with room for at least so many rows; what is new is zero."""
    if len(array) >= rows:
        return array
    larger = np.zeros((max(rows, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
