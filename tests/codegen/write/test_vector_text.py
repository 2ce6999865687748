"""Expressions as text over columns: the same values as the scalar evaluator, row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.codegen.kernels.column_operations import values
from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.places import Places
from penstock.codegen.write.body import Body
from penstock.codegen.write.module_imports import imports_of
from penstock.codegen.write.vector_text import VectorText, sight
from penstock.expr import typing as build
from penstock.expr.analysis import is_pure
from penstock.expr.emit.scope import Module
from penstock.expr.environment import Environment
from penstock.expr.errors import EvaluationError
from penstock.expr.evaluate import Evaluator
from penstock.expr.values import batch_from_rows, from_arrow_array, to_arrow_array
from penstock.expr.vector.frame import to_column
from penstock.ir.expressions import Attribute, Expression
from penstock.ir.types import Schema, parse_schema
from strategies import expressions, rows, schemas


def text_of(x: Expression, schema: Schema) -> str:
    """A module with a function that computes a column of a frame."""
    body = Body(Module())
    column = VectorText(body).column(x, sight(schema, "t"))
    body.add(f"return {column.text}")
    body.module.add(["def compute(t):", *body.lines])
    text = body.module.body()
    return f"{imports_of(text)}\n\n{text}"


def by_column(x: Expression, schema: Schema, found: list[tuple[object, ...]]) -> list[object]:
    names: dict[str, object] = {"environment": Environment()}
    exec(text_of(x, schema), names)
    batch = batch_from_rows(found, schema)
    columns = {a.name: to_column(batch.column(i), a.type) for i, a in enumerate(schema.attributes)}
    with np.errstate(all="ignore"):
        return values(names["compute"](Frame(Places(np.arange(len(found))), columns)), x.type)


@settings(max_examples=600, deadline=None)
@given(data=st.data(), schema=schemas())
def test_a_column_holds_what_the_scalar_evaluator_gives_for_each_row(data, schema):
    x = data.draw(expressions(schema))
    assume(is_pure(x))
    found = data.draw(rows(schema))
    scalar = Evaluator().scalar(x, ports=[schema])
    try:
        expected = [scalar(row) for row in found]
    except EvaluationError:
        with pytest.raises(EvaluationError):
            by_column(x, schema, found)
        return
    # By way of Arrow, so that equal sets print alike.
    settled = from_arrow_array(to_arrow_array(expected, x.type), x.type)
    assert list(map(repr, by_column(x, schema, found))) == list(map(repr, settled))


SCHEMA = parse_schema("int32 n, float64 x, rstring s")
N, X, S = (Attribute(name=a.name, type=a.type) for a in SCHEMA.attributes)


@pytest.mark.parametrize(
    ("x", "given", "expected"),
    [
        (build.binary("<<", N, build.literal(3)), [5], [40]),
        (build.binary(">>", build.literal(40), N), [3], [5]),
        (build.binary("/", N, build.literal(0)), [], []),
        (build.binary("%", N, build.literal(0)), [], []),
    ],
)
def test_literals_stand_beside_columns_of_any_length(x, given, expected):
    assert by_column(x, SCHEMA, [(n, 0.0, "") for n in given]) == expected


def last_line(x: Expression) -> str:
    return text_of(x, SCHEMA).splitlines()[-1].strip()


def test_arithmetic_and_comparisons_are_written_as_they_are():
    assert last_line(build.binary(">", build.binary("*", X, X), build.literal(100.0))) == (
        'return t["x"] * t["x"] > 100.0'
    )


def test_what_reads_no_row_is_computed_beforehand():
    assert last_line(build.binary("+", N, build.unary("-", build.literal(2)))) == 'return t["n"] + -2'


def test_a_side_that_may_fail_is_not_computed_where_it_is_not_needed():
    guarded = build.binary(
        "&&",
        build.binary("!=", N, build.literal(0)),
        build.binary(">", build.binary("/", build.literal(10), N), build.literal(3)),
    )
    assert by_column(guarded, SCHEMA, [(0, 0.0, ""), (2, 0.0, "")]) == [False, True]
    assert "for n in values" in text_of(guarded, SCHEMA)


def test_a_function_of_one_string_is_called_once_for_each_distinct_one():
    assert "by_distinct(" in text_of(build.call("hashCode", [S]), SCHEMA)
    assert (
        by_column(build.call("hashCode", [S]), SCHEMA, [(0, 0.0, "a")] * 3)
        == [Evaluator().scalar(build.call("hashCode", [S]), ports=[SCHEMA])((0, 0.0, "a"))] * 3
    )


def test_an_expression_that_stands_twice_is_computed_once():
    hashed = build.call("hashCode", [S])
    assert text_of(build.binary("==", hashed, hashed), SCHEMA).count("by_distinct(") == 1
