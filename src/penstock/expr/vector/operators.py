"""Operators over whole columns, equal to the bit to what the scalar evaluator computes for each row.

Only operations that round exactly are done here. Each function takes columns of one type; an operation that would fail
on some row raises, and the caller finds out which row it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.emit.numbers import division_by_zero
from penstock.expr.errors import EvaluationError
from penstock.expr.typing.rules import can_convert
from penstock.expr.values import integer_range
from penstock.expr.vector.frame import Column, dtype_of, is_scalar
from penstock.ir.types import (
    BOOLEAN,
    TIMESTAMP,
    EnumType,
    Primitive,
    Type,
    is_float,
    is_integer,
    is_string,
)

Operation = Callable[[Column, Column], Column]

_NUMPY: dict[str, Operation] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_ARROW: dict[str, Operation] = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def binary_operation(operator: str, type_: Type) -> Operation | None:
    """The operator over columns of a type, or None where there is no exact one."""
    if type_ == TIMESTAMP and operator in _TIMES:
        return _TIMES[operator]
    if dtype_of(type_) is not None:
        if operator in ("/", "%"):
            return _DIVISIONS[operator, is_float(type_)]
        return _NUMPY.get(operator)
    if is_string(type_) and operator == "+":
        return _concatenate
    if is_string(type_) or (isinstance(type_, EnumType) and operator in ("==", "!=")):
        compare = _ARROW.get(operator)
        return None if compare is None else _to_numpy(compare)
    return None


def _to_numpy(compare: Operation) -> Operation:
    def compared(left: Column, right: Column) -> Column:
        found = compare(left, right)
        return np.bool_(found.as_py()) if isinstance(found, pa.Scalar) else found.to_numpy(zero_copy_only=False)

    return compared


def _concatenate(left: Column, right: Column) -> Column:
    return pc.binary_join_element_wise(left, right, "")


def _add_times(left: Column, right: Column) -> Column:
    total = np.add(left, right)
    return _check_times(total, (left ^ total) & (right ^ total))


def _subtract_times(left: Column, right: Column) -> Column:
    difference = np.subtract(left, right)
    return _check_times(difference, (left ^ right) & (left ^ difference))


def _check_times(times: Column, overflow: Column) -> Column:
    """Times of which none has overflowed: the sign of a sum is then that of one of its operands."""
    if np.any(overflow < 0):
        raise EvaluationError("a timestamp is out of range")
    return times


_TIMES: dict[str, Operation] = {"+": _add_times, "-": _subtract_times}


def _check_divisor(dividend: Column, divisor: Column) -> None:
    # Of no rows at all, none divides by zero.
    if not np.all(divisor) and np.broadcast(dividend, divisor).size:
        division_by_zero()


def _divide_integers(left: Column, right: Column) -> Column:
    _check_divisor(left, right)
    # What is left of the dividend is a multiple of the divisor, so that flooring and truncating agree.
    return np.floor_divide(np.subtract(left, np.fmod(left, right)), right)


def _remainder_of_integers(left: Column, right: Column) -> Column:
    _check_divisor(left, right)
    return np.fmod(left, right)


_DIVISIONS: dict[tuple[str, bool], Operation] = {
    ("/", False): _divide_integers,
    ("%", False): _remainder_of_integers,
    ("/", True): np.divide,
    ("%", True): np.fmod,
}


def shift_operation(operator: str, type_: Type) -> Operation:
    """A shift of integers of a type by a count of any integer type, taken modulo the width of the register."""
    assert isinstance(type_, Primitive)
    dtype = np.dtype(type_.name)
    modulus = 64 if type_.bits == 64 else 32
    wide = np.dtype(np.uint64) if type_.bits == 64 and operator == "<<" else dtype
    register = wide if type_.bits == 64 else np.dtype(np.int64)
    function = np.left_shift if operator == "<<" else np.right_shift

    def shift(left: Column, right: Column) -> Column:
        count = (np.asarray(right).astype(np.int64) & np.int64(modulus - 1)).astype(register)
        return function(np.asarray(left).astype(register), count).astype(dtype)

    return shift


def unary_operation(operator: str, type_: Type) -> Callable[[Column], Column] | None:
    """`-`, `~` or `!` over a column, or None where there is no exact one."""
    if dtype_of(type_) is None:
        return None
    return {"-": np.negative, "~": np.invert, "!": np.logical_not}.get(operator)


def cast_operation(source: Type, target: Type) -> Callable[[Column], Column] | None:
    """A cast over a column, or None where there is no exact one."""
    wanted = dtype_of(target)
    if _is_number(source) and _is_number(target):
        if is_float(source) and is_integer(target):
            return _truncate(target)
        # An integer becomes a float32 by way of float64, as in the scalar evaluator.
        step = np.dtype(np.float64) if wanted == np.float32 else wanted
        return lambda column: column.astype(step).astype(wanted)
    if is_string(target) and (is_integer(source) or source == BOOLEAN) and getattr(target, "bound", None) is None:
        return _print
    if is_string(source) and is_string(target):
        return _cut(target)
    return None


def _print(column: Column) -> Column:
    printed = pc.cast(pa.array(np.atleast_1d(column)), pa.string())
    return printed[0] if is_scalar(column) else printed


def can_cast_fail(source: Type, target: Type) -> bool:
    """Whether a cast that has an operation over columns may fail on a row."""
    return is_float(source) and is_integer(target) and not can_convert(source, target)


def _is_number(type_: Type) -> bool:
    return is_integer(type_) or is_float(type_)


def _truncate(target: Type) -> Callable[[Column], Column]:
    assert isinstance(target, Primitive)
    low, high = integer_range(target)
    dtype = np.dtype(target.name)

    def truncate(column: Column) -> Column:
        whole = np.trunc(column.astype(np.float64))
        if not np.all((whole >= float(low)) & (whole < float(high + 1))):
            raise EvaluationError(f"a number does not fit {target}")
        return whole.astype(dtype)

    return truncate


def _cut(target: Type) -> Callable[[Any], Any]:
    bound = getattr(target, "bound", None)
    return lambda column: column if bound is None else pc.utf8_slice_codeunits(column, 0, bound)
