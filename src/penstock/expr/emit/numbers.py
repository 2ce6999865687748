"""Numbers as SPL computes them, where Python's own arithmetic differs: what emitted code calls.

Emitted code does the common case inline and calls these functions only where it must.
"""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, Context, Decimal
from typing import Any, NoReturn

from penstock.expr.errors import EvaluationError

_EXACT = Context(prec=60, rounding=ROUND_DOWN, traps=[])
NANOSECONDS = 1_000_000_000


def division_by_zero() -> NoReturn:
    """Fail as an integer division by zero does."""
    raise EvaluationError("division by zero")


def divide_by_zero(dividend: float, divisor: float) -> float:
    """The quotient of two floats where the divisor is zero.

    Example:
        >>> divide_by_zero(-1.0, 0.0)
        -inf
    """
    if dividend == 0.0 or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def remainder(dividend: float, divisor: float) -> float:
    """The remainder of a truncating division of floats, which is exact; NaN where there is none.

    Example:
        >>> remainder(-7.5, 2.0)
        -1.5
    """
    try:
        return math.fmod(dividend, divisor)
    except ValueError:
        return math.nan


def out_of_range(value: float | Decimal, type_name: str) -> NoReturn:
    """Fail as a number does that has no place in an integer type."""
    raise EvaluationError(f"{value} does not fit {type_name}")


def decimal_to_integer(value: Decimal, low: int, high: int, type_name: str) -> int:
    """A decimal cut to an integer.

    Example:
        >>> decimal_to_integer(Decimal("-2.9"), -128, 127, "int8")
        -2
    """
    if not value.is_finite() or not low <= (cut := int(value)) <= high:
        out_of_range(value, type_name)
    return cut


def timestamp_to_seconds(nanoseconds: int) -> Decimal:
    """The seconds of a timestamp, exactly.

    Example:
        >>> timestamp_to_seconds(1_500_000_000)
        Decimal('1.5')
    """
    return _EXACT.divide(Decimal(nanoseconds), Decimal(NANOSECONDS))


def checked(nanoseconds: int) -> int:
    """A timestamp, or an error where it lies outside the years 1677 to 2262.

    Example:
        >>> checked(5)
        5
    """
    if not -(1 << 63) <= nanoseconds < 1 << 63:
        raise EvaluationError(f"timestamp out of range: {nanoseconds} ns since 1970")
    return nanoseconds


def seconds_to_timestamp(seconds: float | Decimal) -> int:
    """The timestamp of a number of seconds, cut to nanoseconds.

    Example:
        >>> seconds_to_timestamp(1.5)
        1500000000
    """
    number = Decimal(seconds)
    if not number.is_finite():
        raise EvaluationError(f"{seconds} seconds are not a timestamp")
    nanoseconds = int(_EXACT.multiply(number, Decimal(NANOSECONDS)))
    if not -(1 << 63) <= nanoseconds < 1 << 63:
        raise EvaluationError(f"{seconds} seconds are not a timestamp: it is out of range")
    return nanoseconds


def complex_of(parts: list[Any]) -> complex:
    """The complex number of a list of its real and imaginary part.

    Example:
        >>> complex_of([1, 2.5])
        (1+2.5j)
    """
    if len(parts) != 2:
        raise EvaluationError(f"a complex number has 2 parts, found a list of {len(parts)}")
    return complex(float(parts[0]), float(parts[1]))


def divide_complex(dividend: complex, divisor: complex) -> complex:
    """A quotient; one by zero is infinite or not a number in each part, as that of floats is.

    Example:
        >>> divide_complex(4 + 2j, 2 + 0j), divide_complex(1 + 0j, 0j)
        ((2+1j), (inf+nanj))
    """
    if divisor:
        return dividend / divisor
    return complex(divide_by_zero(dividend.real, divisor.real), divide_by_zero(dividend.imag, divisor.real))
