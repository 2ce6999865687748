"""The operations that generated code calls: over columns, where Python has no operator with SPL's meaning.

A generated module defines what it needs by name and type, such as `_divide_1 = operation("/", "int32")`; all of them
give to the bit what the scalar evaluator gives for each row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.rows.places import Array
from penstock.expr.emit.parts import standard
from penstock.expr.functions.registry import resolve
from penstock.expr.values import from_arrow_array, to_arrow_array
from penstock.expr.vector.frame import Column, constant, dtype_of, to_array, to_column
from penstock.expr.vector.operators import binary_operation, cast_operation, shift_operation
from penstock.ir.types import Type, parse_type

Operation = Callable[..., Column]


def operation(operator: str, type_: str) -> Operation:
    """A binary operator over columns of a type.

    Example:
        >>> operation("/", "int32")(np.array([7, -7], np.int32), 2).tolist()
        [3, -3]
    """
    made = binary_operation(operator, parse_type(type_))
    assert made is not None
    return made


def shift(operator: str, type_: str) -> Operation:
    """A shift of integers of a type."""
    return shift_operation(operator, parse_type(type_))


def cast(source: str, target: str) -> Operation:
    """A cast between types.

    Example:
        >>> cast("int32", "rstring")(np.array([7], np.int32)).to_pylist()
        ['7']
    """
    made = cast_operation(parse_type(source), parse_type(target))
    assert made is not None
    return made


def function(name: str, *types: str) -> Operation:
    """A standard function over columns; where its vector form does not apply, it is called for each row.

    Example:
        >>> function("sqrt", "float64")(np.array([4.0, 9.0])).tolist()
        [2.0, 3.0]
    """
    parsed = [parse_type(text) for text in types]
    found = resolve(name, parsed)
    vector, scalar = found.bind_vector(), standard(name, *types)
    assert vector is not None

    def call(*columns: Any) -> Column:
        arrays = [_to_arrow(column, type_) for column, type_ in zip(columns, parsed, strict=True)]
        made = vector(*arrays)
        if made is NotImplemented:
            rows = max(len(column) for column in columns if not _is_one(column))
            lists = [[c] * rows if _is_one(c) else values(c, t) for c, t in zip(columns, parsed, strict=True)]
            made = to_arrow_array([scalar(*row) for row in zip(*lists, strict=True)], found.return_type)
        return to_column(made, found.return_type)

    return call


def _is_one(column: Any) -> bool:
    return not isinstance(column, np.ndarray | pa.Array)


def _to_arrow(column: Any, type_: Type) -> Any:
    if _is_one(column):
        return to_arrow_array([column], type_)[0]
    return to_array(column, type_, len(column))


def choose(test: Array, then: Any, otherwise: Any, type_: Type) -> Column:
    """The values of `then` where a test holds, those of `otherwise` elsewhere; both are numbers.

    Example:
        >>> from penstock.ir.types import INT8
        >>> choose(np.array([True, False]), np.array([1, 2], np.int8), 0, INT8).tolist()
        [1, 0]
    """
    return np.where(test, then, otherwise).astype(dtype_of(type_), copy=False)


def values(column: Column, type_: Type) -> list[Any]:
    """The values of a column as Python has them."""
    found: list[Any] = (
        column.tolist() if isinstance(column, np.ndarray) else from_arrow_array(to_array(column, type_, 0), type_)
    )
    return found


def typed(found: list[Any], type_: Type) -> Column:
    """The column of Python values.

    Example:
        >>> from penstock.ir.types import INT8
        >>> typed([1, 2], INT8)
        array([1, 2], dtype=int8)
    """
    return to_column(to_arrow_array(found, type_), type_)


def full(rows: int, value: Any, type_: Type) -> Column:
    """A column that holds one value.

    Example:
        >>> from penstock.ir.types import RSTRING
        >>> full(2, "x", RSTRING).to_pylist()
        ['x', 'x']
    """
    return to_column(to_array(constant(value, type_), type_, rows), type_)


def by_distinct(column: pa.Array, compute: Callable[[Any], Any], type_: Type) -> Column:
    """A function of strings, called once for each distinct one.

    Example:
        >>> from penstock.ir.types import INT32
        >>> by_distinct(pa.array(["a", "bc", "a"]), len, INT32).tolist()
        [1, 2, 1]
    """
    coded = column.dictionary_encode()
    made = typed([compute(value) for value in coded.dictionary.to_pylist()], type_)
    codes = coded.indices.to_numpy(zero_copy_only=False)
    return made[codes] if isinstance(made, np.ndarray) else made.take(coded.indices)
