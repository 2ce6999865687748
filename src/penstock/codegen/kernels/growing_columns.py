"""Columns with a row for each key, which batches read and write where their keys are.

Introduction:
    A kernel remembers a few things of each key. Each is a column, in which the key's number is the row. A batch takes
    the rows of its keys, works on them and puts them back, so it costs what it touches, not what is known.

Formulation:
    Numbers lie in one array. Texts lie behind each other in an array of bytes, with two arrays that say where each
    begins and how long it is; a text that is set anew is put at the end. What Arrow alone can hold stays an Arrow
    array, which is made anew for each batch.

Example:
    >>> from penstock.ir.types import RSTRING
    >>> names = growing_column(RSTRING)
    >>> names.reserve(2)
    >>> names.put(np.array([1, 0]), pa.array(["b", "long"]))
    >>> names.put(np.array([1]), pa.array(["c"]))
    >>> names.take(np.array([0, 1])).to_pylist()
    ['long', 'c']
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.base.diagnostics import UserError
from penstock.codegen.kernels.growing_arrays import GrowingArray
from penstock.codegen.rows.places import Array
from penstock.expr.vector.frame import Column, dtype_of
from penstock.ir.arrow import arrow_type
from penstock.ir.types import BLOB, EnumType, Type, is_string

_MOST_BYTES = (1 << 31) - 1
_WASTE = 1 << 16
"""So many bytes of texts that nobody needs any more are not worth clearing away."""


class GrowingColumn(Protocol):
    """A column with a row for each key."""

    arrays: tuple[GrowingArray, ...]
    """What it lies in; empty where that cannot be mapped."""

    def reserve(self, rows: int) -> None:
        """Make room for so many rows."""

    def take(self, rows: Array) -> Column:
        """The values of some rows."""

    def put(self, rows: Array, values: Column) -> None:
        """Set the values of some rows, none of them twice."""

    def equals(self, rows: Array, values: Column) -> Array:
        """Whether the values of some rows are these."""

    def head(self, rows: int) -> Column:
        """The values of the first rows, perhaps those that lie here: to be read at once, and not to be changed."""

    def restore(self, values: Column) -> None:
        """Hold these values, and no others."""

    def count_bytes(self, rows: int) -> int:
        """The bytes of all rows, of which there are so many, about; the same for the same values."""

    def sizes(self) -> list[int]:
        """What else has to be known to go on with the arrays in another process."""

    def restore_sizes(self, sizes: list[int]) -> None:
        """Go on with arrays that were attached."""


def growing_column(type_: Any, shape: tuple[int, ...] = ()) -> GrowingColumn:
    """An empty column.

    Args:
        type_: Of its values: SPL's or numpy's.
        shape: Of a row, where it is numpy's.
    """
    if not isinstance(type_, Type):
        return _Numbers(type_, shape)
    dtype = dtype_of(type_)
    if dtype is not None:
        return _Numbers(dtype, shape)
    return _Texts(arrow_type(type_)) if is_text(type_) else _Others(arrow_type(type_))


def is_text(type_: Type) -> bool:
    """Whether values are strings of text or bytes."""
    return is_string(type_) or isinstance(type_, EnumType) or type_ == BLOB


class _Numbers:
    """Values that lie in one array; Python objects may, too."""

    def __init__(self, dtype: Any, shape: tuple[int, ...]) -> None:
        self._values = GrowingArray(dtype, shape)
        self.arrays: tuple[GrowingArray, ...] = (self._values,) if self._values.can_be_mapped else ()

    def reserve(self, rows: int) -> None:
        self._values.reserve(rows)

    def take(self, rows: Array) -> Column:
        return self._values.array[rows]

    def put(self, rows: Array, values: Column) -> None:
        self._values.array[rows] = values

    def equals(self, rows: Array, values: Column) -> Array:
        mine = self._values.array[rows]
        found: Array = mine == values
        return found | ((mine != mine) & (values != values)) if mine.dtype.kind == "f" else found

    def head(self, rows: int) -> Column:
        return self._values.array[:rows]

    def restore(self, values: Column) -> None:
        self._values.assign(values)

    def count_bytes(self, rows: int) -> int:
        return rows * self._values.row_bytes

    def sizes(self) -> list[int]:
        return []

    def restore_sizes(self, sizes: list[int]) -> None:
        pass


class _Texts:
    """Strings of text or bytes: where each begins, how long it is, and the bytes."""

    def __init__(self, type_: pa.DataType) -> None:
        self._type = type_
        self._starts, self._lengths = GrowingArray(np.int64), GrowingArray(np.int64)
        self._bytes = GrowingArray(np.uint8)
        self.arrays: tuple[GrowingArray, ...] = (self._starts, self._lengths, self._bytes)
        self._used = 0
        self._needed = 0

    def reserve(self, rows: int) -> None:
        self._starts.reserve(rows)
        self._lengths.reserve(rows)

    def take(self, rows: Array) -> Column:
        lengths = self._lengths.array[rows]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        if offsets[-1] > _MOST_BYTES:
            raise UserError(f"the texts of {len(rows):,} keys are too long for one column", hint="use more channels")
        at = np.arange(offsets[-1]) + np.repeat(self._starts.array[rows] - offsets[:-1], lengths)
        data = self._bytes.array[at] if len(at) else np.zeros(0, np.uint8)
        buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
        return pa.Array.from_buffers(self._type, len(rows), buffers)

    def put(self, rows: Array, values: Column) -> None:
        offsets, data = _bytes_of(values)
        lengths = np.diff(offsets)
        self._needed += int(lengths.sum()) - int(self._lengths.array[rows].sum())
        self._bytes.reserve(self._used + len(data))
        self._bytes.array[self._used : self._used + len(data)] = data
        self._starts.array[rows] = self._used + offsets[:-1]
        self._lengths.array[rows] = lengths
        self._used += len(data)
        if self._used > 2 * self._needed + _WASTE:
            self._clear_away()

    def _clear_away(self) -> None:
        """Forget the bytes of texts that were replaced."""
        kept = np.flatnonzero(self._lengths.array)
        data = _bytes_of(self.take(kept))[1]
        self._bytes.assign(data)
        self._starts.array[kept] = np.cumsum(self._lengths.array[kept]) - self._lengths.array[kept]
        self._used = self._needed = len(data)

    def equals(self, rows: Array, values: Column) -> Array:
        # As bytes, because text that is not UTF-8 is compared, too.
        mine, others = (column.view(pa.binary()) for column in (self.take(rows), values))
        found: Array = pc.equal(mine, others).to_numpy(zero_copy_only=False)
        return found

    def head(self, rows: int) -> Column:
        return self.take(np.arange(rows))

    def restore(self, values: Column) -> None:
        self._used = self._needed = 0
        for array in self.arrays:
            array.assign(np.zeros(0, array.array.dtype))
        self.reserve(len(values))
        self.put(np.arange(len(values)), values)

    def count_bytes(self, rows: int) -> int:
        return self._needed + 4 * rows

    def sizes(self) -> list[int]:
        return [self._used, self._needed]

    def restore_sizes(self, sizes: list[int]) -> None:
        self._used, self._needed = sizes


def _bytes_of(column: pa.Array) -> tuple[Array, Array]:
    """The bytes of texts behind each other, and where each begins, with the end of the last."""
    _, offsets_at, data_at = column.buffers()
    if not len(column) or offsets_at is None:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    offsets = np.frombuffer(offsets_at, np.int32, len(column) + 1 + column.offset)[column.offset :].astype(np.int64)
    data = np.zeros(0, np.uint8) if data_at is None else np.frombuffer(data_at, np.uint8)
    return offsets - offsets[0], data[int(offsets[0]) : int(offsets[-1])]


class _Others:
    """Values that only Arrow can hold."""

    def __init__(self, type_: pa.DataType) -> None:
        self._values = pa.array([], type_)
        self.arrays: tuple[GrowingArray, ...] = ()

    def reserve(self, rows: int) -> None:
        if rows > len(self._values):
            self._values = pa.concat_arrays([self._values, pa.nulls(rows - len(self._values), self._values.type)])

    def take(self, rows: Array) -> Column:
        return self._values.take(pa.array(rows))

    def put(self, rows: Array, values: Column) -> None:
        chosen = np.arange(len(self._values))
        chosen[rows] = len(self._values) + np.arange(len(rows))
        self._values = pa.concat_arrays([self._values, values]).take(pa.array(chosen))

    def equals(self, rows: Array, values: Column) -> Array:
        raise NotImplementedError("keys of such a type are compared in Python")

    def head(self, rows: int) -> Column:
        return self._values[:rows]

    def restore(self, values: Column) -> None:
        self._values = values

    def count_bytes(self, rows: int) -> int:
        # Not by its buffers: they depend on how it came to be.
        batch = pa.RecordBatch.from_arrays([self._values[:rows]], names=["column"])
        return int(pa.ipc.get_record_batch_size(batch))

    def sizes(self) -> list[int]:
        return []

    def restore_sizes(self, sizes: list[int]) -> None:
        pass
