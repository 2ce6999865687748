"""The scalar and the vectorised evaluator give the same values, or the same error, on every input."""

from __future__ import annotations

import math
from decimal import Decimal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.expr.errors import EvaluationError
from penstock.expr.evaluate import Evaluator
from penstock.expr.values import batch_from_rows, from_arrow_array, to_arrow_array
from penstock.expr.vector.evaluator import compile_vector
from penstock.ir.expressions import Expression
from penstock.ir.types import (
    BOOLEAN,
    FLOAT32,
    FLOAT64,
    INT32,
    RSTRING,
    ListType,
    MapType,
    OptionalType,
    Schema,
    SetType,
    TupleType,
    TypedName,
)
from strategies import SCALAR_TYPES, expressions, rows, schemas


def outcome_by_rows(x: Expression, schema: Schema, found: list[tuple[object, ...]]) -> object:
    function = Evaluator().scalar(x, ports=[schema])
    values = []
    for number, row in enumerate(found):
        try:
            values.append(function(row))
        except EvaluationError as error:
            return f"row {number}: {error}"
    return identity(from_arrow_array(to_arrow_array(values, x.type), x.type))


def outcome_of_vector(x: Expression, schema: Schema, found: list[tuple[object, ...]]) -> object:
    function = compile_vector(x, [schema], Evaluator())
    try:
        array = function([batch_from_rows(found, schema)])
    except EvaluationError as error:
        return f"row {error.row}: {error}"
    return identity(from_arrow_array(array, x.type))


def identity(value: object) -> object:
    """A value in a form that is equal only for values that are the same bit for bit, NaN apart."""
    match value:
        case float():
            return ("float", "nan") if math.isnan(value) else ("float", value.hex())
        case Decimal() | bool() | int():
            return type(value).__name__, str(value)
        case list() | tuple():
            return type(value).__name__, [identity(v) for v in value]
        case set():
            return "set", sorted(map(repr, map(identity, value)))
        case dict():
            return "dict", [(identity(k), identity(v)) for k, v in value.items()]
    return value


@st.composite
def cases(draw: st.DrawFn, wide: bool) -> tuple[Expression, Schema, list[tuple[object, ...]]]:
    schema = WIDE if wide else draw(schemas())
    type_ = draw(st.sampled_from(schema.attributes)).type if wide else None
    return draw(expressions(schema, type_)), schema, draw(rows(schema))


WIDE = TupleType(
    tuple(
        TypedName(f"a{i}", type_)
        for i, type_ in enumerate(
            [
                *SCALAR_TYPES,
                *map(OptionalType, (INT32, FLOAT32, FLOAT64, RSTRING, BOOLEAN)),
                *map(ListType, (INT32, FLOAT64, RSTRING)),
                SetType(INT32),
                MapType(RSTRING, INT32),
            ]
        )
    )
)
"""An attribute of every type that expressions are often made of."""


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(wide=False))
def test_scalar_and_vector_evaluation_agree(case: tuple[Expression, Schema, list[tuple[object, ...]]]) -> None:
    x, schema, found = case
    assert outcome_of_vector(x, schema, found) == outcome_by_rows(x, schema, found)


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(wide=True))
def test_scalar_and_vector_evaluation_agree_where_all_types_meet(
    case: tuple[Expression, Schema, list[tuple[object, ...]]],
) -> None:
    x, schema, found = case
    assert outcome_of_vector(x, schema, found) == outcome_by_rows(x, schema, found)
