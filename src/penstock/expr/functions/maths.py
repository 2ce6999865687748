"""Powers, roots, logarithms, angles and rounding.

As in C, nothing stops on a value outside a function's domain: the square root of -1.0 is NaN and `exp(1000.0)` is
infinite. A float32 is computed as a float64 and rounded; a decimal in the digits of its type; an integer wraps.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import Implementation, function
from penstock.expr.values.numbers import DECIMAL_CONTEXTS, round_complex32, round_float32, wrap_integer
from penstock.ir.types import COMPLEX32, FLOAT32, Primitive, Type, is_decimal, is_float, is_integer

Float = Callable[[float], float]


def _total(compute: Float, overflow: Callable[[float], float] = lambda x: math.nan) -> Float:
    """A function of `math` that answers where Python raises."""

    def total(x: float) -> float:
        try:
            return compute(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return overflow(x)

    return total


def _for_type(type_: Type, of_float: Float, of_decimal: Callable[[Context, Decimal], Decimal] | None = None) -> Any:
    """A function of one number for floats of both widths, and for decimals."""
    assert isinstance(type_, Primitive)
    if is_decimal(type_):
        assert of_decimal is not None
        return partial(of_decimal, DECIMAL_CONTEXTS[type_.name])
    return of_float if type_ != FLOAT32 else lambda x: round_float32(of_float(x))


def _float_vector(kernel: Implementation) -> Callable[[Type], Implementation]:
    """A vector factory over a kernel that is exact for float64; a float32 is computed as a float64 and rounded."""

    def run(type_: Type, values: pa.Array) -> object:
        if not is_float(type_) or not isinstance(values, pa.Array):
            return NotImplemented
        found = kernel(values.cast(pa.float64()))
        return found.cast(pa.float32()) if type_ == FLOAT32 else found

    return lambda type_: partial(run, type_)


def _declare(name: str, kind: str, doc: str, of_float: Float, of_decimal: Any = None, vector: Any = None) -> None:
    """Declare a function of one number for a kind of floating point types."""

    def make(type_: Type) -> Any:
        return _for_type(type_, of_float, of_decimal)

    make.__doc__ = doc
    declare = function(
        f"<{kind} T> T {name}(T x)", needs_types=True, vector=None if vector is None else _float_vector(vector)
    )
    declare(make)


def _log(compute: Float) -> Float:
    return _total(lambda x: -math.inf if x == 0 else compute(x))


# Arrow calls the same C library as Python's `math` does, so their answers are equal to the last bit; numpy's are not.
_exp = _total(math.exp, lambda x: math.inf)
_declare("exp", "floatingpoint", "e to the power of a number.", _exp, Context.exp, pc.exp)
for _name in ("ln", "log"):
    _declare(_name, "floatingpoint", "The natural logarithm.", _log(math.log), Context.ln, pc.ln)
for _name in ("lg", "log10"):
    _declare(_name, "floatingpoint", "The logarithm to base 10.", _log(math.log10), Context.log10, pc.log10)
_sinh, _cosh = _total(math.sinh, lambda x: math.copysign(math.inf, x)), _total(math.cosh, lambda x: math.inf)
_declare("log2", "float", "The logarithm to base 2.", _log(math.log2), vector=pc.log2)
_declare("sin", "float", "The sine of an angle in radians.", _total(math.sin), vector=pc.sin)
_declare("cos", "float", "The cosine of an angle in radians.", _total(math.cos), vector=pc.cos)
_declare("tan", "float", "The tangent of an angle in radians.", _total(math.tan), vector=pc.tan)
_declare("asin", "float", "The angle whose sine is given.", _total(math.asin), vector=pc.asin)
_declare("acos", "float", "The angle whose cosine is given.", _total(math.acos), vector=pc.acos)
_declare("atan", "float", "The angle whose tangent is given.", math.atan, vector=pc.atan)
_declare("sinh", "float", "The hyperbolic sine.", _sinh, vector=pc.sinh)
_declare("cosh", "float", "The hyperbolic cosine.", _cosh, vector=pc.cosh)
_declare("tanh", "float", "The hyperbolic tangent.", math.tanh, vector=pc.tanh)
_declare("cbrt", "float", "The cube root.", math.cbrt)


def _whole(compute: Callable[[float], int]) -> Float:
    """A rounding to whole numbers that keeps infinities, NaN and the sign of zero."""
    return lambda x: math.copysign(float(compute(x)), x) if math.isfinite(x) else x


def _half_away(x: float) -> int:
    whole = math.trunc(x)
    return whole + (1 if x > 0 else -1) if abs(x - whole) >= 0.5 else whole


def _decimal_whole(rounding: str) -> Callable[[Context, Decimal], Decimal]:
    return lambda context, x: x.to_integral_value(rounding, context)


_declare(
    "floor",
    "floatingpoint",
    "The greatest whole number that is not greater.",
    _whole(math.floor),
    _decimal_whole(ROUND_FLOOR),
    pc.floor,
)
_declare(
    "ceil",
    "floatingpoint",
    "The least whole number that is not less.",
    _whole(math.ceil),
    _decimal_whole(ROUND_CEILING),
    pc.ceil,
)
_declare(
    "round",
    "floatingpoint",
    "The nearest whole number; a half goes away from zero.",
    _whole(_half_away),
    _decimal_whole(ROUND_HALF_UP),
    partial(pc.round, round_mode="half_towards_infinity"),
)
_declare("trunc", "float", "The whole part of a number.", _whole(math.trunc), None, pc.trunc)


def _sqrt_integer(type_: Primitive, x: int) -> int:
    if x < 0:
        raise EvaluationError(f"sqrt of {x}, which has no {type_} root")
    return math.isqrt(x)


def vector_of_numbers(kernel: Implementation, kinds: Callable[[Type], bool]) -> Callable[..., Implementation]:
    """A vector factory over a kernel that is exact for some kinds of numbers.

    Example:
        >>> from penstock.ir.types import INT32
        >>> vector_of_numbers(pc.abs, is_integer)(INT32)(pa.array([-1])).to_pylist()
        [1]
    """

    def run(type_: Type, values: pa.Array) -> object:
        return kernel(values) if kinds(type_) and isinstance(values, pa.Array) else NotImplemented

    return lambda type_: partial(run, type_)


@function("<numeric T> T sqrt(T x)", needs_types=True, vector=vector_of_numbers(pc.sqrt, is_float))
def sqrt(type_: Primitive) -> Any:
    """The square root; of an integer, its whole part."""
    if is_integer(type_):
        return partial(_sqrt_integer, type_)
    return _for_type(type_, _total(math.sqrt), Context.sqrt)


def _power_of_integers(type_: Primitive, base: int, exponent: int) -> int:
    if exponent >= 0:
        return wrap_integer(pow(base, exponent, 1 << type_.bits), type_)
    if base == 0:
        raise EvaluationError("pow of 0 to a negative exponent: division by zero")
    return base ** (exponent & 1) if base in (1, -1) else 0


def _power_of_floats(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        odd = exponent % 2 == 1
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        if base == 0:
            return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf
        return math.nan


def _power_vector(type_: Type, _: Type) -> Implementation:
    def run(base: Any, exponent: Any) -> object:
        if not is_float(type_) or not isinstance(base, pa.Array):
            return NotImplemented
        found = pc.power(base.cast(pa.float64()), exponent.cast(pa.float64()))
        return found.cast(pa.float32()) if type_ == FLOAT32 else found

    return run


@function("<numeric T> T pow(T base, T exponent)", needs_types=True, vector=_power_vector)
def power(type_: Primitive, _: Type) -> Any:
    """A number to a power."""
    if is_integer(type_):
        return partial(_power_of_integers, type_)
    if is_decimal(type_):
        return DECIMAL_CONTEXTS[type_.name].power
    return _power_of_floats if type_ != FLOAT32 else lambda b, e: round_float32(_power_of_floats(b, e))


def _remainder(x: float, y: float) -> float:
    try:
        return math.fmod(x, y)
    except ValueError:
        return math.nan


@function("<float T> T fmod(T x, T y)")
def fmod(x: float, y: float) -> float:
    """The remainder of a division, with the sign of the dividend."""
    return _remainder(x, y)


@function("<float T> T atan2(T y, T x)", needs_types=True)
def atan2(type_: Type, _: Type) -> Any:
    """The angle of the point (x, y)."""
    return math.atan2 if type_ != FLOAT32 else lambda y, x: round_float32(math.atan2(y, x))


@function("<float T> T hypot(T x, T y)", needs_types=True)
def hypot(type_: Type, _: Type) -> Any:
    """The length of the vector (x, y)."""
    return math.hypot if type_ != FLOAT32 else lambda x, y: round_float32(math.hypot(x, y))


def _declare_part(name: str, bits: int, doc: str, compute: Callable[[complex], float]) -> None:
    """Declare a function from a complex number to a float of its width."""

    def run(x: complex) -> float:
        return compute(x) if bits == 64 else round_float32(compute(x))

    run.__doc__ = doc
    function(f"float{bits} {name}(complex{bits} x)")(run)


for _bits in (32, 64):
    _declare_part("real", _bits, "The real part.", lambda x: x.real)
    _declare_part("imag", _bits, "The imaginary part.", lambda x: x.imag)
    _declare_part("abs", _bits, "The distance from zero.", lambda x: math.hypot(x.real, x.imag))


@function("<complex T> boolean isNaN(T x)")
def is_nan_complex(x: complex) -> bool:
    """Whether a part is not a number."""
    return cmath.isnan(x)


@function("<complex T> boolean isInf(T x)")
def is_inf_complex(x: complex) -> bool:
    """Whether a part is infinite."""
    return cmath.isinf(x)


def _exp_complex(x: complex) -> complex:
    size = _exp(x.real)
    return complex(size, x.imag) if x.imag == 0 else complex(size * math.cos(x.imag), size * math.sin(x.imag))


def _log_complex(x: complex) -> complex:
    return cmath.log(x) if x else complex(-math.inf, math.atan2(x.imag, x.real))


def _log10_complex(x: complex) -> complex:
    return cmath.log10(x) if x else _log_complex(x)


def _power_complex(base: complex, exponent: complex) -> complex:
    if base == 0:
        return 1 + 0j if exponent == 0 else 0j if exponent.real > 0 else complex(math.nan, math.nan)
    return _exp_complex(exponent * _log_complex(base))


def _declare_complex(name: str, parameters: str, doc: str, compute: Callable[..., complex]) -> None:
    """Declare a function of complex numbers of one width."""

    def make(type_: Type, *_: Type) -> Any:
        return compute if type_ != COMPLEX32 else lambda *values: round_complex32(compute(*values))

    make.__doc__ = doc
    function(f"<complex T> T {name}({parameters})", needs_types=True)(make)


_declare_complex("pow", "T base, T exponent", "A number to a power.", _power_complex)
_declare_complex("exp", "T x", "e to the power of a number.", _exp_complex)
for _name in ("ln", "log"):
    _declare_complex(_name, "T x", "The natural logarithm.", _log_complex)
for _name in ("lg", "log10"):
    _declare_complex(_name, "T x", "The logarithm to base 10.", _log10_complex)
