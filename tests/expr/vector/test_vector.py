"""The vectorised evaluator: what is lazy, what fails where, and what costs nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.expr import typing as build
from penstock.expr.environment import Environment
from penstock.expr.errors import EvaluationError
from penstock.expr.evaluate import Evaluator
from penstock.expr.values import batch_from_rows
from penstock.expr.vector.evaluator import compile_vector
from penstock.ir.expressions import Attribute, Expression, InputTuple, Variable
from penstock.ir.statements import Block, Function, Parameter, Return
from penstock.ir.types import INT32, Schema, parse_schema

SCHEMA = parse_schema("int32 n, float64 price, rstring name, optional<int32> o, list<int32> xs")
ROWS = [(4, 0.5, "a", 1, [1]), (0, 1.5, "bé", None, []), (-3, 2.5, "", 3, [5, 6])]


def attribute(name: str, schema: Schema = SCHEMA, port: int = 0) -> Attribute:
    return Attribute(name=name, type=schema.attribute(name).type, port=port)


def evaluate(x: Expression, rows: list[tuple[object, ...]] = ROWS) -> list[object]:
    found: list[object] = compile_vector(x, [SCHEMA], Evaluator())([batch_from_rows(rows, SCHEMA)]).to_pylist()
    return found


N, PRICE, NAME, KNOWN, XS = map(attribute, SCHEMA.names)
QUOTIENT = build.binary("/", build.literal(12), N)


def test_a_guarded_division_is_evaluated_only_where_the_guard_lets_it() -> None:
    is_positive = build.binary(">", QUOTIENT, build.literal(0))
    assert evaluate(build.binary("&&", build.binary("!=", N, build.literal(0)), is_positive)) == [True, False, False]
    assert evaluate(build.binary("||", build.binary("==", N, build.literal(0)), is_positive)) == [True, True, False]
    guarded = build.conditional(build.binary("==", N, build.literal(0)), build.literal(-1), QUOTIENT)
    assert evaluate(guarded) == [3, -1, -4]


def test_a_default_is_evaluated_only_where_there_is_null() -> None:
    default = build.binary("/", build.literal(12), build.binary("+", N, build.literal(3)))
    assert evaluate(build.binary("?:", KNOWN, default)) == [1, 4, 3]


def test_a_failure_tells_its_row_and_the_message_of_the_scalar_evaluator() -> None:
    for x, message in (
        (QUOTIENT, "division by zero"),
        (build.unary("unwrap", KNOWN), "null has no value to unwrap"),
        (build.index(XS, build.literal(0)), "position 0 is out of range: the size is 0"),
        (build.cast(build.binary("/", build.literal(1.0), N), INT32), "inf does not fit int32"),
    ):
        with pytest.raises(EvaluationError) as found:
            evaluate(x)
        assert (str(found.value), found.value.row) == (message, 1)


def test_the_first_row_that_fails_is_reported_whichever_operand_fails_first() -> None:
    x = build.binary("+", build.unary("unwrap", KNOWN), build.index(XS, build.literal(0)))
    with pytest.raises(EvaluationError, match="position 0") as found:
        evaluate(x, [(1, 1.0, "", 5, []), (1, 1.0, "", None, [1])])
    assert found.value.row == 0


def test_an_expression_with_effects_runs_row_by_row() -> None:
    random = build.call("random", [])
    x = build.binary("-", random, random)
    scalar = Evaluator(environment=Environment()).scalar(x)
    found = compile_vector(x, [SCHEMA], Evaluator(environment=Environment()))([batch_from_rows(ROWS, SCHEMA)])
    assert found.to_pylist() == [scalar() for _ in ROWS]


def test_functions_of_the_application_are_called_for_each_row() -> None:
    body = Block(body=(Return(value=build.binary("*", Variable(name="v", type=INT32), build.literal(2))),))
    double = Function(name="double", parameters=(Parameter(name="v", type=INT32),), returns=INT32, body=body)
    call = build.call("double", [N], functions=[double])
    found = compile_vector(call, [SCHEMA], Evaluator([double]))([batch_from_rows(ROWS, SCHEMA)])
    assert found.to_pylist() == [8, 0, -6]


def test_two_ports_are_read_side_by_side() -> None:
    other = parse_schema("int32 m")
    x = build.binary("+", N, attribute("m", other, port=1))
    batches = [batch_from_rows(ROWS, SCHEMA), batch_from_rows([(1,), (2,), (3,)], other)]
    assert compile_vector(x, [SCHEMA, other], Evaluator())(batches).to_pylist() == [5, 2, 0]


def test_a_slice_of_a_batch_is_read_from_its_start() -> None:
    batch = batch_from_rows(ROWS * 3, SCHEMA).slice(4, 3)
    length, known = build.call("length", [NAME]), build.binary("?:", KNOWN, N)
    for x, expected in ((N, [0, -3, 4]), (length, [2, 0, 1]), (known, [0, 3, 1])):
        assert compile_vector(x, [SCHEMA], Evaluator())([batch]).to_pylist() == expected


def test_no_rows_give_no_values_and_no_failure() -> None:
    zero = build.binary("/", build.literal(1), build.literal(0))
    for x in (zero, QUOTIENT, XS, build.literal("x"), InputTuple(type=SCHEMA)):
        assert evaluate(x, []) == []


def test_a_constant_has_a_value_for_each_row() -> None:
    assert evaluate(build.literal(5)) == [5, 5, 5]
    assert evaluate(build.literal("x")) == ["x"] * 3
    assert evaluate(build.list_literal([build.literal(1)])) == [[1]] * 3
    assert evaluate(build.cast(build.literal(7), parse_schema("rstring s").attribute("s").type)) == ["7"] * 3


def test_an_attribute_by_itself_is_not_copied() -> None:
    batch = batch_from_rows(ROWS, SCHEMA)
    for position, name in enumerate(SCHEMA.names):
        found = compile_vector(attribute(name), [SCHEMA], Evaluator())([batch])
        assert found.buffers()[-1].address == batch.column(position).buffers()[-1].address


def test_membership_in_a_list_of_literals() -> None:
    x = build.binary("in", NAME, build.list_literal([build.literal("a"), build.literal("")]))
    assert evaluate(x) == [True, False, True]
    nothing = build.convert(build.list_literal([]), parse_schema("list<rstring> l").attribute("l").type)
    assert evaluate(build.binary("in", NAME, nothing)) == [False] * 3


def test_large_columns_wrap_without_warnings() -> None:
    schema = parse_schema("int64 a")
    values = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 10_000)
    a = attribute("a", schema)
    x = build.binary("*", build.binary("+", a, a), a)
    found = compile_vector(x, [schema], Evaluator())([pa.record_batch([pa.array(values)], names=["a"])])
    scalar = Evaluator().scalar(x, ports=[schema])
    assert found.to_pylist() == [scalar((value,)) for value in values.tolist()]
