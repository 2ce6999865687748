"""Numbers at the edges of their types, against arithmetic that is obviously right."""

from __future__ import annotations

import math
import struct
from decimal import Decimal

import numpy as np
import pytest

from penstock.base.diagnostics import UserError
from penstock.expr import typing as build
from penstock.expr.errors import EvaluationError
from penstock.expr.evaluate import Evaluator
from penstock.expr.values import batch_from_rows, from_arrow_array, integer_range, wrap_integer
from penstock.expr.vector.evaluator import compile_vector
from penstock.ir.expressions import Attribute, Expression
from penstock.ir.types import FLOAT32, FLOAT64, INT32, INT64, TIMESTAMP, Primitive, Type, tuple_type
from strategies import FLOAT_TYPES, INTEGER_TYPES

Rows = list[tuple[object, ...]]


def sides(type_: Type, other: Type | None = None) -> tuple[Expression, Expression]:
    return Attribute(name="a", type=type_), Attribute(name="b", type=other or type_)


def evaluate_both(x: Expression, rows: Rows, type_: Type, other: Type | None = None) -> list[object]:
    """The values of both evaluators, checked to be the same."""
    schema = tuple_type(a=type_, b=other or type_)
    scalar = Evaluator().scalar(x, ports=[schema])
    one_by_one = [scalar(row) for row in rows]
    together = from_arrow_array(compile_vector(x, [schema], Evaluator())([batch_from_rows(rows, schema)]), x.type)
    assert list(map(repr, together)) == list(map(repr, one_by_one))
    return one_by_one


def edges(type_: Primitive) -> list[int]:
    low, high = integer_range(type_)
    return sorted({v for v in (low, low + 1, -129, -3, -2, -1, 0, 1, 2, 3, 5, 127, high - 1, high) if low <= v <= high})


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


EXPECTED = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": truncated,
    "%": lambda a, b: a - truncated(a, b) * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}


@pytest.mark.parametrize("operator", EXPECTED)
@pytest.mark.parametrize("type_", INTEGER_TYPES, ids=str)
def test_integers_wrap_and_divide_as_in_c(type_: Primitive, operator: str) -> None:
    rows = [(a, b) for a in edges(type_) for b in edges(type_) if b or operator not in "/%"]
    values = evaluate_both(build.binary(operator, *sides(type_)), rows, type_)
    assert values == [wrap_integer(EXPECTED[operator](a, b), type_) for a, b in rows]


def test_times_are_added_and_subtracted_to_the_nanosecond() -> None:
    rows = [(10_900_000_000, 9_950_000_000), (0, 1), (-5, -(2**62)), (2**63 - 1, 0)]
    for operator in "+-":
        values = evaluate_both(build.binary(operator, *sides(TIMESTAMP)), rows, TIMESTAMP)
        assert values == [EXPECTED[operator](a, b) for a, b in rows]


@pytest.mark.parametrize(("operator", "row"), [("+", (2**63 - 1, 1)), ("-", (-(2**63), 1)), ("-", (0, -(2**63)))])
def test_a_time_out_of_range_is_an_error_on_its_row_in_both_evaluators(operator: str, row: tuple[int, int]) -> None:
    schema, x = tuple_type(a=TIMESTAMP, b=TIMESTAMP), build.binary(operator, *sides(TIMESTAMP))
    message = f"timestamp out of range: {EXPECTED[operator](*row)} ns since 1970"
    with pytest.raises(EvaluationError, match=message):
        Evaluator().scalar(x, ports=[schema])(row)
    with pytest.raises(EvaluationError, match=message) as found:
        compile_vector(x, [schema], Evaluator())([batch_from_rows([(1, 1), row], schema)])
    assert found.value.row == 1


@pytest.mark.parametrize("operator", ["*", "/", "%", "&"])
def test_times_have_no_other_arithmetic(operator: str) -> None:
    with pytest.raises(UserError, match=f"`[{operator}]` is not defined on timestamp and timestamp"):
        build.binary(operator, *sides(TIMESTAMP))


def test_seconds_are_not_added_to_a_time_without_a_cast() -> None:
    with pytest.raises(UserError, match="cast seconds with `\\(timestamp\\)`, or call add"):
        build.binary("+", *sides(TIMESTAMP, FLOAT64))


@pytest.mark.parametrize("type_", INTEGER_TYPES, ids=str)
def test_division_by_a_literal_truncates_too(type_: Primitive) -> None:
    rows = [(a, 0) for a in edges(type_)]
    for operator in "/%":
        x = build.binary(operator, Attribute(name="a", type=type_), build.literal(3))
        assert evaluate_both(x, rows, type_) == [EXPECTED[operator](a, 3) for a, _ in rows]


@pytest.mark.parametrize("type_", INTEGER_TYPES, ids=str)
def test_shifts_take_their_count_modulo_the_register(type_: Primitive) -> None:
    counts = [0, 1, 5, 31, 32, 33, 63, 64, 65, -1, 2**62]
    rows = [(a, b) for a in edges(type_) for b in counts]
    modulus = 64 if type_.bits == 64 else 32
    left = evaluate_both(build.binary("<<", *sides(type_, INT64)), rows, type_, INT64)
    right = evaluate_both(build.binary(">>", *sides(type_, INT64)), rows, type_, INT64)
    assert left == [wrap_integer(a << b % modulus, type_) for a, b in rows]
    assert right == [a >> b % modulus for a, b in rows]


@pytest.mark.parametrize("type_", INTEGER_TYPES, ids=str)
def test_unary_operators_wrap(type_: Primitive) -> None:
    rows = [(a, 0) for a in edges(type_)]
    operand = Attribute(name="a", type=type_)
    assert evaluate_both(build.unary("-", operand), rows, type_) == [wrap_integer(-a, type_) for a, _ in rows]
    assert evaluate_both(build.unary("~", operand), rows, type_) == [wrap_integer(~a, type_) for a, _ in rows]


def test_a_long_sum_wraps_once_and_rightly() -> None:
    a, b = sides(INT32)
    x = build.binary("-", build.binary("*", build.binary("+", build.binary("*", a, a), b), a), build.unary("-", b))
    rows = [(a, b) for a in edges(Primitive("int32")) for b in edges(Primitive("int32"))]
    assert evaluate_both(x, rows, INT32) == [wrap_integer((a * a + b) * a + b, Primitive("int32")) for a, b in rows]


@pytest.mark.parametrize("target", INTEGER_TYPES, ids=str)
@pytest.mark.parametrize("source", INTEGER_TYPES, ids=str)
def test_integer_casts_keep_the_low_bits(source: Primitive, target: Primitive) -> None:
    rows = [(a, 0) for a in edges(source)]
    x = build.cast(Attribute(name="a", type=source), target)
    assert evaluate_both(x, rows, source) == [wrap_integer(a, target) for a, _ in rows]


FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 3.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan]


def float32(x: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float32(x))


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%"])
@pytest.mark.parametrize("type_", FLOAT_TYPES, ids=str)
def test_floats_follow_ieee_754(type_: Primitive, operator: str) -> None:
    numbers = [float32(x) for x in FLOATS] if type_ == FLOAT32 else FLOATS
    rows = [(a, b) for a in numbers for b in numbers]
    function = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.fmod}[operator]
    dtype = np.dtype(str(type_)).type
    with np.errstate(all="ignore"):
        expected = [float(function(dtype(a), dtype(b))) for a, b in rows]
    assert list(map(repr, evaluate_both(build.binary(operator, *sides(type_)), rows, type_))) == list(
        map(repr, expected)
    )


@pytest.mark.parametrize("target", INTEGER_TYPES, ids=str)
def test_a_float_is_cut_to_an_integer_or_does_not_fit(target: Primitive) -> None:
    low, high = integer_range(target)
    x = build.cast(Attribute(name="a", type=Primitive("float64")), target)
    inside = [float(low), low + 0.5, -0.9, 0.0, 2.9, math.nextafter(float(high + 1), 0)]
    rows = [(v, 0.0) for v in inside if low - 1 < v < high + 1]
    assert evaluate_both(x, rows, Primitive("float64")) == [math.trunc(v) for v, _ in rows]
    schema = tuple_type(a=Primitive("float64"))
    for outside in (float(high + 1), low * 2.0 - 2, math.nan, math.inf, -math.inf):
        with pytest.raises(EvaluationError, match=f"does not fit {target}"):
            Evaluator().scalar(x, ports=[schema])((outside,))
        with pytest.raises(EvaluationError, match=f"does not fit {target}") as found:
            compile_vector(x, [schema], Evaluator())([batch_from_rows([(0.0,), (outside,)], schema)])
        assert found.value.row == 1


@pytest.mark.parametrize("source", [*INTEGER_TYPES, *FLOAT_TYPES], ids=str)
@pytest.mark.parametrize("target", FLOAT_TYPES, ids=str)
def test_numbers_become_the_nearest_float(source: Primitive, target: Primitive) -> None:
    numbers = [*edges(source), integer_range(source)[1] - 63] if source in INTEGER_TYPES else [0.1, 1e308, math.nan]
    if source == FLOAT32:
        numbers = [float32(x) for x in numbers]
    rows = [(a, a) for a in numbers]
    values = evaluate_both(build.cast(Attribute(name="a", type=source), target), rows, source)
    expected = [float32(float(a)) if target == FLOAT32 else float(a) for a in numbers]
    assert list(map(repr, values)) == list(map(repr, expected))


def test_a_float32_is_what_four_bytes_hold() -> None:
    x = build.cast(Attribute(name="a", type=Primitive("float64")), FLOAT32)
    (value,) = evaluate_both(x, [(0.1, 0.0)], Primitive("float64"))
    assert struct.unpack("f", struct.pack("f", 0.1)) == (value,)


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        ("+", "0.1", "0.2", "0.3"),
        ("/", "1", "3", "0.3333333333333333"),
        ("*", "9999999999999999", "10", "9.999999999999999E+16"),
        ("%", "-7.5", "2", "-1.5"),
        ("/", "1", "0", "Infinity"),
        ("/", "0", "0", "NaN"),
    ],
)
def test_decimals_keep_sixteen_digits(operator: str, left: str, right: str, expected: str) -> None:
    type_ = Primitive("decimal64")
    values = evaluate_both(build.binary(operator, *sides(type_)), [(Decimal(left), Decimal(right))], type_)
    assert list(map(str, values)) == [expected]


@pytest.mark.parametrize("operator", ["==", "<", "<=", ">", ">="])
def test_nothing_compares_with_nan(operator: str) -> None:
    for type_, nan, one in (
        (Primitive("float64"), math.nan, 1.0),
        (Primitive("decimal64"), Decimal("NaN"), Decimal(1)),
    ):
        rows: Rows = [(nan, one), (one, nan), (nan, nan)]
        assert evaluate_both(build.binary(operator, *sides(type_)), rows, type_) == [False, False, False]
