"""Functions that reduce a list to one value; of an empty list, that is the default value of its elements' type.

Sums are formed from left to right in the type of the elements: integers wrap, a float32 and a decimal round at each
step.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from penstock.expr.errors import EvaluationError
from penstock.expr.functions.maths import sqrt
from penstock.expr.functions.registry import function
from penstock.expr.values.default import default_value
from penstock.expr.values.numbers import DECIMAL_CONTEXTS, round_float32, wrap_integer
from penstock.expr.values.order import order_key
from penstock.ir.types import FLOAT32, ListType, Primitive, Type, is_decimal, is_float, is_integer, is_numeric

Numbers = list[Any]


def _sum_integers(type_: Primitive, values: Numbers) -> int:
    return wrap_integer(sum(values), type_)


def _sum_floats(values: Numbers) -> float:
    # Python's own sum compensates for rounding from 3.12 on, and so gives other digits than a loop.
    total: float = values[0]
    for value in values[1:]:
        total += value
    return total


def _sum_float32(values: Numbers) -> float:
    total: float = values[0]
    for value in values[1:]:
        total = round_float32(total + value)
    return total


def _sum_decimals(type_: Primitive, values: Numbers) -> Decimal:
    add = DECIMAL_CONTEXTS[type_.name].add
    total: Decimal = values[0]
    for value in values[1:]:
        total = add(total, value)
    return total


def _adder(type_: Type) -> Callable[[Numbers], Any]:
    assert isinstance(type_, Primitive)
    if is_integer(type_):
        return partial(_sum_integers, type_)
    if is_decimal(type_):
        return partial(_sum_decimals, type_)
    return _sum_float32 if type_ == FLOAT32 else _sum_floats


def _divider(type_: Type) -> Callable[[Any, int], Any]:
    """Division by a count, in the type of the dividend."""
    assert isinstance(type_, Primitive)
    if is_float(type_):
        return lambda x, n: _divide_floats(type_, x, n)
    if is_decimal(type_):
        return lambda x, n: DECIMAL_CONTEXTS[type_.name].divide(x, Decimal(n))
    return _divide_integers


def _divide_floats(type_: Primitive, x: float, n: int) -> float:
    quotient = x / n if n else x * float("inf")
    return round_float32(quotient) if type_ == FLOAT32 else quotient


def _divide_integers(x: int, n: int) -> int:
    if n == 0:
        raise EvaluationError("division by zero")
    return x // n if x >= 0 else -(-x // n)


@function("<numeric T> T sum(list<T> values)", needs_types=True)
def total(type_: ListType) -> Callable[[Numbers], Any]:
    """The sum of the elements."""
    add, empty = _adder(type_.element), default_value(type_.element)
    return lambda values: add(values) if values else empty


@function("<numeric T> T product(list<T> values)", needs_types=True)
def product(type_: ListType) -> Callable[[Numbers], Any]:
    """The product of the elements."""
    multiply, empty = _multiplier(type_.element), default_value(type_.element)

    def multiply_all(values: Numbers) -> Any:
        result = values[0] if values else empty
        for value in values[1:]:
            result = multiply(result, value)
        return result

    return multiply_all


def _multiplier(type_: Type) -> Callable[[Any, Any], Any]:
    assert isinstance(type_, Primitive)
    if is_integer(type_):
        return lambda a, b: wrap_integer(a * b, type_)
    if is_decimal(type_):
        return DECIMAL_CONTEXTS[type_.name].multiply
    return (lambda a, b: round_float32(a * b)) if type_ == FLOAT32 else (lambda a, b: a * b)


@function("<numeric T> T avg(list<T> values)", needs_types=True)
def average(type_: ListType) -> Callable[[Numbers], Any]:
    """The mean of the elements; of integers, its whole part."""
    add, divide, empty = _adder(type_.element), _divider(type_.element), default_value(type_.element)
    return lambda values: divide(add(values), len(values)) if values else empty


@function("<numeric T> T stddev(list<T> values)", needs_types=True)
def population_deviation(type_: ListType) -> Callable[[Numbers], Any]:
    """The standard deviation of the elements as a whole population."""
    deviation = _deviation(type_)
    return lambda values: deviation(values, False)


@function("<numeric T> T stddev(list<T> values, boolean sample)", needs_types=True)
def deviation(type_: ListType, _: Type) -> Callable[[Numbers, bool], Any]:
    """The standard deviation of the elements, as a population or as a sample of one."""
    return _deviation(type_)


def _deviation(type_: ListType) -> Callable[[Numbers, bool], Any]:
    element = type_.element
    assert isinstance(element, Primitive)
    mean, add, multiply, divide = average(type_), _adder(element), _multiplier(element), _divider(element)
    subtract = _subtracter(element)
    root, empty = sqrt(element), default_value(element)

    def of_list(values: Numbers, sample: bool) -> Any:
        if not values:
            return empty
        center = mean(values)
        differences = [subtract(v, center) for v in values]
        return root(divide(add([multiply(d, d) for d in differences]), len(values) - sample))

    return of_list


def _subtracter(type_: Primitive) -> Callable[[Any, Any], Any]:
    if is_integer(type_):
        return lambda a, b: wrap_integer(a - b, type_)
    if is_decimal(type_):
        return DECIMAL_CONTEXTS[type_.name].subtract
    return (lambda a, b: round_float32(a - b)) if type_ == FLOAT32 else (lambda a, b: a - b)


@function("<ordered T> T min(list<T> values)", needs_types=True)
def least(type_: ListType) -> Callable[[Numbers], Any]:
    """The least element."""
    return _extreme(type_, lambda x, best: bool(x < best))


@function("<ordered T> T max(list<T> values)", needs_types=True)
def greatest(type_: ListType) -> Callable[[Numbers], Any]:
    """The greatest element."""
    return _extreme(type_, lambda x, best: bool(x > best))


def _extreme(type_: ListType, beats: Callable[[Any, Any], bool]) -> Callable[[Numbers], Any]:
    # A loop of its own, because NaN compares false with everything: the first element stays unless one beats it.
    empty = default_value(type_.element)
    key = order_key(type_.element) if not is_float(type_.element) else None
    rank = key or (lambda value: value)

    # A decimal NaN refuses to be compared at all.
    refuses = is_decimal(type_.element)

    def of_list(values: Numbers) -> Any:
        if not values:
            return empty
        best = values[0]
        for value in values:
            if not (refuses and (value.is_nan() or best.is_nan())) and beats(rank(value), rank(best)):
                best = value
        return best

    return of_list


@function("<ordered T> T median(list<T> values)", needs_types=True)
def median(type_: ListType) -> Callable[[Numbers], Any]:
    """The middle element in order; of two, their mean if they are numbers, else the second."""
    element = type_.element
    key, empty = order_key(element), default_value(element)
    mean = average(type_) if is_numeric(element) else None

    def of_list(values: Numbers) -> Any:
        if not values:
            return empty
        in_order = sorted(values, key=key)
        middle = len(in_order) // 2
        is_even = len(in_order) % 2 == 0
        return mean(in_order[middle - 1 : middle + 1]) if mean is not None and is_even else in_order[middle]

    return of_list


@function("<ordered T> T kthelem(list<T> values, uint32 k)", needs_types=True)
def kth_element(type_: ListType, _: Type) -> Callable[[Numbers, int], Any]:
    """The element that has `k` elements before it in order."""
    key = order_key(type_.element)

    def of_list(values: Numbers, k: int) -> Any:
        if k >= len(values):
            raise EvaluationError(f"kthelem {k} of a list of {len(values)} elements")
        return sorted(values, key=key)[k]

    return of_list
