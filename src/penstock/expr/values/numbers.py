"""Numbers of fixed size: the ranges of integers, the rounding of float32, the digits of decimals."""

from __future__ import annotations

import ctypes
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from typing import Any

from penstock.ir.types import Primitive, Type

_DIGITS = {"decimal32": (7, 96), "decimal64": (16, 384), "decimal128": (34, 6144)}


def integer_range(type_: Primitive) -> tuple[int, int]:
    """The least and the greatest value of an integer type.

    Example:
        >>> integer_range(Primitive("int8"))
        (-128, 127)
    """
    if type_.name.startswith("u"):
        return 0, (1 << type_.bits) - 1
    return -(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1


def wrap_integer(value: int, type_: Primitive) -> int:
    """The value of an integer type that is equal modulo its width, as in C.

    Example:
        >>> wrap_integer(200, Primitive("int8"))
        -56
    """
    least, _ = integer_range(type_)
    return ((value - least) & ((1 << type_.bits) - 1)) + least


def round_float32(value: float) -> float:
    """The float32 nearest to a number, as a Python float; infinite where it is too large.

    Example:
        >>> round_float32(0.1)
        0.10000000149011612
    """
    return ctypes.c_float(value).value


def round_complex32(value: complex) -> complex:
    """The complex number with its parts rounded to float32.

    Example:
        >>> round_complex32(0.1 + 0j)
        (0.10000000149011612+0j)
    """
    return complex(round_float32(value.real), round_float32(value.imag))


def _context(digits: int, exponent: int) -> Context:
    # IEEE 754 arithmetic never stops: what overflows is infinite and what is invalid is NaN.
    context = Context(prec=digits, Emax=exponent, Emin=1 - exponent, clamp=1)
    for signal in (InvalidOperation, DivisionByZero, Overflow):
        context.traps[signal] = False
    return context


DECIMAL_CONTEXTS = {name: _context(*size) for name, size in _DIGITS.items()}
"""The arithmetic of each decimal type: its digits, its exponents, and no exceptions."""


def as_type(value: Any, type_: Type) -> Any:
    """A number brought into a numeric type: integers wrap, float32 and decimals round.

    Example:
        >>> as_type(300, Primitive("uint8")), as_type(0.1, Primitive("float32"))
        (44, 0.10000000149011612)
    """
    assert isinstance(type_, Primitive)
    match type_.name:
        case "float32":
            return round_float32(value)
        case "float64":
            return float(value)
        case name if name in DECIMAL_CONTEXTS:
            return DECIMAL_CONTEXTS[name].create_decimal(value if isinstance(value, Decimal | int) else repr(value))
    return wrap_integer(int(value), type_)
