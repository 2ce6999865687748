"""Printed text means what the tree says: compiling it gives the tree back."""

import math
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.ir.expressions import Attribute, Cast, Expression, Literal, Unary
from penstock.ir.graph import Application, Operator
from penstock.ir.pretty import expression_text, function_text, operator_text, pretty, statement_text
from penstock.ir.statements import Break
from penstock.ir.types import BLOB, FLOAT64, INT32, TIMESTAMP, EnumType, Schema
from penstock.lang import compile_text
from strategies import expressions, schemas

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures" / "spl" / "valid").glob("*.spl"))


def is_printable(x: Expression) -> bool:
    """Whether SPL has a literal for everything in the expression."""
    for part in x.walk():
        if any(isinstance(t, EnumType) for t in part.type.walk()):
            return False
        if isinstance(part, Literal):
            if part.type in (TIMESTAMP, BLOB):
                return False
            if isinstance(part.value, float | Decimal) and not math.isfinite(part.value):
                return False
    return True


def recompiled(x: Expression, schema: Schema) -> Expression:
    text = f"""
        composite Main {{
          graph
            stream<{schema}> In = Beacon() {{ }}
            stream<{x.type} result> S = Functor(In) {{ output S: result = {expression_text(x)}; }}
        }}"""
    return compile_text(text).application.operator["S"].outputs[0].assignments[0].value


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data())
def test_a_printed_expression_compiles_to_the_same_tree(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    x = data.draw(expressions(schema))
    assume(is_printable(x))
    assert recompiled(x, schema) == x


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_a_printed_program_without_composites_compiles_to_the_same_operators(path: Path) -> None:
    application = compile_text(path.read_text(encoding="utf-8")).application
    if any("." in operator.id for operator in application.operators):
        pytest.skip("ids of expanded composites have dots")
    again = compile_text(pretty(application)).application
    assert again.operators == application.operators
    assert again.functions == application.functions


def test_brackets_stand_where_precedence_would_tell_otherwise() -> None:
    program = """composite Main { graph stream<int32 a, int32 b> N = Beacon() { }
        stream<int32 c> S = Functor(N) { output S: c = (a + b) * -(a - 1) - a / (b % 2); } }"""
    value = compile_text(program).application.operator["S"].outputs[0].assignments[0].value
    assert expression_text(value) == "((a + b) * -(a - 1)) - (a / (b % 2))"


def test_attributes_are_qualified_where_there_are_several_ports() -> None:
    x = Attribute(name="x", type=INT32, port=1)
    assert expression_text(x, ("L", "R")) == "R.x"
    assert expression_text(Attribute(name="x", type=INT32), ("L",)) == "x"


def test_prefix_operators_and_casts_do_not_run_together() -> None:
    x = Attribute(name="x", type=FLOAT64)
    negative = Unary(operator="-", operand=Unary(operator="-", operand=x, type=FLOAT64), type=FLOAT64)
    assert expression_text(negative) == "-(-x)"
    assert expression_text(Cast(type=INT32, operand=negative)) == "(int32) -(-x)"


def test_a_statement_of_one_word_prints_as_that() -> None:
    assert statement_text(Break()) == "break;"


def test_functions_loops_and_constraints_are_printed() -> None:
    program = """stateful int32 f(mutable int32 n) { n++; return n; }
        composite Main { graph
          stream<int32 x> N = Beacon() { config placement: partitionColocation("a"); }
          stream<int32 x> A = Custom(N, A) { logic state: mutable int32 n = 0; onTuple N: f(n);
            config placement: partitionColocation("a"); } }"""
    application = compile_text(program).application
    assert function_text(application.functions[0]).startswith("stateful int32 f(mutable int32 n) {\n  n += 1;")
    text = pretty(application)
    assert "Custom(N, A /* feedback */)" in text
    assert "// pe_colocation: N, A" in text
    assert operator_text(application.operator["N"]) in text.replace("\n    ", "\n")


def test_an_empty_application_prints_an_empty_graph() -> None:
    assert pretty(Application(name="Main")) == "composite Main {\n  graph\n}"
    assert operator_text(Operator(id="S", kind="FileSink")) == "() as S = FileSink() { }"
