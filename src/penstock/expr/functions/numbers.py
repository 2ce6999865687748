"""Functions of any number or ordered value: sign and size, the lesser and the greater, constants, random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.environment import Environment
from penstock.expr.functions.maths import vector_of_numbers
from penstock.expr.functions.registry import Implementation, function
from penstock.expr.values.numbers import DECIMAL_CONTEXTS, wrap_integer
from penstock.expr.values.order import order_key
from penstock.ir.types import EnumType, Primitive, Type, is_decimal, is_float, is_integer


def _is_machine_number(type_: Type) -> bool:
    return is_integer(type_) or is_float(type_)


@function("<numeric T> T abs(T x)", needs_types=True, vector=vector_of_numbers(pc.abs, _is_machine_number))
def absolute(type_: Primitive) -> Any:
    """The number without its sign; the least integer of a type stays as it is."""
    if is_integer(type_):
        return lambda x: wrap_integer(abs(x), type_)
    return abs if is_float(type_) else DECIMAL_CONTEXTS[type_.name].abs


@function("<numeric T> list<T> abs(list<T> values)", needs_types=True)
def absolute_of_each(type_: Any) -> Any:
    """Each number without its sign."""
    of_one = absolute(type_.element)
    return lambda values: [of_one(v) for v in values]


@function("<numeric T> int32 sign(T x)")
def sign(x: Any) -> int:
    """-1, 0 or 1: the sign of a number; 0 for NaN."""
    return int(x > 0) - int(x < 0)


@function("<float T> boolean isNaN(T x)", vector=pc.is_nan)
def is_nan(x: float) -> bool:
    """Whether it is not a number."""
    return x != x


@function("<float T> boolean isInf(T x)", vector=pc.is_inf)
def is_inf(x: float) -> bool:
    """Whether it is infinite."""
    return math.isinf(x)


@function("<decimal T> boolean isNaN(T x)")
def is_nan_decimal(x: Decimal) -> bool:
    """Whether it is not a number."""
    return x.is_nan()


@function("<decimal T> boolean isInf(T x)")
def is_inf_decimal(x: Decimal) -> bool:
    """Whether it is infinite."""
    return x.is_infinite()


@function("float64 PI()")
def pi() -> float:
    """The ratio of a circle's circumference to its diameter."""
    return math.pi


@function("float64 nanl()", "float32 nanw()")
def nan() -> float:
    """Not a number."""
    return math.nan


@function("float64 infl()", "float32 infw()")
def infinity() -> float:
    """Infinity."""
    return math.inf


def _pick(choose: Callable[..., Any], type_: Type) -> Callable[[Any, Any], Any]:
    """`min` or `max` of two values; the first of them if they are equal, or if one is NaN."""
    if isinstance(type_, EnumType):
        return partial(choose, key=order_key(type_))
    if is_decimal(type_):
        # Unlike a float, a decimal NaN refuses to be compared.
        return lambda a, b: a if a.is_nan() or b.is_nan() else choose(a, b)
    return choose


def _pick_vector(second_wins: Implementation) -> Callable[[Type, Type], Implementation]:
    def run(type_: Type, a: Any, b: Any) -> object:
        if isinstance(type_, EnumType) or is_decimal(type_) or not isinstance(a, pa.Array | pa.ChunkedArray):
            return NotImplemented
        return pc.if_else(second_wins(b, a), b, a)

    return lambda type_, _: partial(run, type_)


@function("<ordered T> T min(T a, T b)", needs_types=True, vector=_pick_vector(pc.less))
def minimum(type_: Type, _: Type) -> Callable[[Any, Any], Any]:
    """The lesser of two values."""
    return _pick(min, type_)


@function("<ordered T> T max(T a, T b)", needs_types=True, vector=_pick_vector(pc.greater))
def maximum(type_: Type, _: Type) -> Callable[[Any, Any], Any]:
    """The greater of two values."""
    return _pick(max, type_)


@function("<integral T> int32 bitCount(T x)", needs_types=True)
def bit_count(type_: Primitive) -> Callable[[int], int]:
    """The number of bits that are set."""
    mask = (1 << type_.bits) - 1
    return lambda x: (x & mask).bit_count()


@function("stateful float64 random()", needs_environment=True)
def random(environment: Environment) -> float:
    """A random number from 0 (included) to 1 (excluded)."""
    return environment.random.random()


@function("stateful list<float64> random(int32 count)", needs_environment=True)
def random_list(environment: Environment, count: int) -> list[float]:
    """A list of random numbers from 0 to 1."""
    return [environment.random.random() for _ in range(count)]


@function("stateful int32 srand(int32 seed)", needs_environment=True)
def seed_random(environment: Environment, seed: int) -> int:
    """Start the sequence of random numbers anew from a seed; gives 0."""
    environment.random.seed(seed)
    return 0
