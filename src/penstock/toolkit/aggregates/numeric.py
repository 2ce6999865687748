"""Sums, averages and deviations in the arithmetic of each numeric type.

Integers: a sum wraps, an average truncates towards zero and does not overflow on the way. Floats are added in order of
arrival, float32 rounded at each step, so that the result is one number and not a matter of taste. Decimals use the
digits of their type; complex numbers are two floats. Strings are joined. Lists are aggregated element by element, and
must be of one length.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Context as DecimalContext
from decimal import Decimal
from typing import Any

from penstock.expr.errors import EvaluationError
from penstock.expr.values.numbers import DECIMAL_CONTEXTS, as_type, round_float32, wrap_integer
from penstock.ir.types import (
    COMPLEX32,
    FLOAT32,
    FLOAT64,
    ListType,
    Primitive,
    Type,
    is_complex,
    is_decimal,
    is_integer,
    is_string,
)

Column = Sequence[Any]


def sum_of(type_: Type) -> Callable[[Iterable[Any]], Any]:
    """The function that adds the values of a column.

    Example:
        >>> sum_of(Primitive("int8"))([100, 100])
        -56
    """
    if isinstance(type_, ListType):
        return by_element(sum_of(type_.element))
    if is_string(type_):
        return "".join
    if is_complex(type_):
        return _of_parts(sum_of, type_)
    assert isinstance(type_, Primitive)
    if is_integer(type_):
        return lambda column: wrap_integer(sum(column), type_)
    if is_decimal(type_):
        context = DECIMAL_CONTEXTS[type_.name]
        return lambda column: _fold(context.add, column, Decimal(0))
    if type_.name == "float32":
        return lambda column: _fold(lambda a, b: round_float32(a + b), column, 0.0)
    return _sum_of_floats


def by_element(compute: Callable[[Column], Any]) -> Callable[[Iterable[Any]], list[Any]]:
    """The function that aggregates lists element by element.

    Example:
        >>> by_element(max)([[1, 8], [5, 2]])
        [5, 8]
    """

    def aggregate(lists: Iterable[Any]) -> list[Any]:
        given = list(lists)
        if len({len(values) for values in given}) > 1:
            raise EvaluationError("lists of several lengths cannot be aggregated element by element")
        return [compute(column) for column in zip(*given, strict=True)]

    return aggregate


def _of_parts(make: Callable[[Type], Callable[[Column], float]], type_: Type) -> Callable[[Iterable[complex]], complex]:
    """The function that aggregates the two parts of complex numbers, each as a float."""
    compute = make(FLOAT32 if type_ == COMPLEX32 else FLOAT64)

    def aggregate(column: Iterable[complex]) -> complex:
        given = list(column)
        return complex(compute([z.real for z in given]), compute([z.imag for z in given]))

    return aggregate


def _sum_in_order(column: Iterable[float]) -> float:
    total = 0.0
    for value in column:
        total += value
    return total


def _sum_at_once(column: Iterable[float]) -> float:
    return sum(column, 0.0)


# From Python 3.12 on `sum` compensates rounding errors; before, it adds in order, only faster than a loop does.
_sum_of_floats = _sum_at_once if sys.version_info < (3, 12) else _sum_in_order


def _fold(add: Callable[[Any, Any], Any], column: Iterable[Any], start: Any) -> Any:
    total = start
    for value in column:
        total = add(total, value)
    return total


def average_of(type_: Type) -> Callable[[Column], Any]:
    """The function that gives the mean of a column that is not empty.

    Example:
        >>> average_of(Primitive("int32"))([1, 2]), average_of(Primitive("int32"))([-1, -2])
        (1, -1)
    """
    if isinstance(type_, ListType):
        return by_element(average_of(type_.element))
    if is_complex(type_):
        return _of_parts(average_of, type_)
    assert isinstance(type_, Primitive)
    if is_integer(type_):
        return lambda column: truncated_mean(sum(column), len(column))
    add = sum_of(type_)
    if is_decimal(type_):
        context = DECIMAL_CONTEXTS[type_.name]
        return lambda column: context.divide(add(column), Decimal(len(column)))
    if type_.name == "float32":
        return lambda column: round_float32(add(column) / len(column))
    return lambda column: add(column) / len(column)


def truncated_mean(total: int, count: int) -> int:
    """The integer next to `total / count`, towards zero."""
    return total // count if total >= 0 else -(-total // count)


def deviation_of(type_: Type, *, sample: bool) -> Callable[[Column], Any]:
    """The function that gives the standard deviation of a column: of a sample, or of the whole population.

    One value alone deviates by 0. Numbers other than decimals are computed as float64 and brought into the type at
    the end, so the deviation of integers truncates.

    Example:
        >>> deviation_of(Primitive("float64"), sample=False)([1.0, 3.0])
        1.0
    """
    if is_decimal(type_):
        assert isinstance(type_, Primitive)
        context = DECIMAL_CONTEXTS[type_.name]
        return lambda column: _decimal_deviation(context, column, len(column) - sample)
    return lambda column: as_type(_float_deviation(column, len(column) - sample), type_)


def _float_deviation(column: Column, divisor: int) -> float:
    if divisor <= 0:
        return 0.0
    values = [float(value) for value in column]
    mean = _sum_of_floats(values) / len(values)
    return math.sqrt(_sum_of_floats((value - mean) * (value - mean) for value in values) / divisor)


def _decimal_deviation(context: DecimalContext, column: Column, divisor: int) -> Decimal:
    if divisor <= 0:
        return Decimal(0)
    mean = context.divide(_fold(context.add, column, Decimal(0)), Decimal(len(column)))
    squares = [context.multiply(d, d) for d in (context.subtract(value, mean) for value in column)]
    return context.sqrt(context.divide(_fold(context.add, squares, Decimal(0)), Decimal(divisor)))
