"""Columns and the rows they stand for.

A column is a numpy array for types that the machine computes with (boolean, integers, floats, timestamps), an Arrow
array for all others, or a scalar of either kind where every row has the same value. Columns of non-optional types hold
no nulls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.expr.values import to_arrow_array
from penstock.ir.arrow import arrow_type
from penstock.ir.types import FLOATS, INTEGERS, Primitive, Type

Column = Any
"""np.ndarray, np.generic, pa.Array or pa.Scalar; numpy and Arrow publish no useful common type."""

Mask = Any
"""A numpy array of booleans, one for each row."""

_DTYPES: dict[str, np.dtype[Any]] = {
    "boolean": np.dtype(np.bool_),
    "timestamp": np.dtype(np.int64),
    **{name: np.dtype(name) for name in (*INTEGERS, *FLOATS)},
}


def dtype_of(type_: Type) -> np.dtype[Any] | None:
    """The numpy type of values that the machine computes with; None for all others.

    Example:
        >>> from penstock.ir.types import INT16, RSTRING
        >>> dtype_of(INT16), dtype_of(RSTRING)
        (dtype('int16'), None)
    """
    return _DTYPES.get(type_.name) if isinstance(type_, Primitive) else None


class Frame:
    """Some of the rows of the batches that an expression is evaluated on.

    Args:
        batches: One for each port, of equal length.
        chosen: The positions of the rows; None for all of them.
    """

    def __init__(self, batches: Sequence[pa.RecordBatch], rows: int, chosen: Any | None = None) -> None:
        self.batches = batches
        self.rows = rows
        self._chosen = chosen
        self._columns: dict[tuple[int, int], Column] = {}

    def column(self, port: int, position: int, type_: Type) -> Column:
        """The values of an attribute."""
        key = (port, position)
        if key not in self._columns:
            array = self.batches[port].column(position)
            self._columns[key] = to_column(array if self._chosen is None else array.take(self._chosen), type_)
        return self._columns[key]

    def where(self, mask: Mask) -> Frame:
        """The rows for which a mask holds."""
        kept = np.flatnonzero(mask)
        chosen = kept if self._chosen is None else self._chosen[kept]
        return Frame(self.batches, len(kept), chosen)


def to_column(array: pa.Array, type_: Type) -> Column:
    """An Arrow array as the column of a type."""
    return array if dtype_of(type_) is None else array.to_numpy(zero_copy_only=False)


def constant(value: Any, type_: Type) -> Column:
    """The scalar column of a value."""
    dtype = dtype_of(type_)
    return to_arrow_array([value], type_)[0] if dtype is None else dtype.type(value)


def to_array(column: Column, type_: Type, rows: int) -> pa.Array:
    """A column as an Arrow array with one value for each row.

    Example:
        >>> from penstock.ir.types import INT8
        >>> to_array(np.int8(7), INT8, 2).to_pylist()
        [7, 7]
    """
    wanted = arrow_type(type_)
    if isinstance(column, np.generic):
        return pa.array(np.full(rows, column), wanted)
    if isinstance(column, pa.Scalar):
        return pa.repeat(column, rows)
    return pa.array(column, wanted) if isinstance(column, np.ndarray) else column


def is_scalar(column: Column) -> bool:
    """Whether every row has the same value."""
    return isinstance(column, np.generic | pa.Scalar)


def merge(mask: Mask, then: Column, otherwise: Column, type_: Type) -> Column:
    """The rows of `then` where the mask holds, those of `otherwise` elsewhere.

    Args:
        mask: For all rows.
        then: A scalar, or a value for each row for which the mask holds.
        otherwise: Likewise for the other rows.
        type_: Of the values.
    """
    dtype = dtype_of(type_)
    if dtype is not None:
        merged = np.empty(len(mask), dtype)
        merged[mask] = then
        merged[~mask] = otherwise
        return merged
    count = int(np.count_nonzero(mask))
    both = pa.concat_arrays([to_array(then, type_, count), to_array(otherwise, type_, len(mask) - count)])
    positions = np.where(mask, np.cumsum(mask) - 1, np.cumsum(~mask) - 1 + count)
    return both.take(pa.array(positions))


def compress(column: Column, mask: Mask) -> Column:
    """The rows of a column for which a mask holds."""
    if is_scalar(column):
        return column
    return column[mask] if isinstance(column, np.ndarray) else column.filter(pa.array(mask))
