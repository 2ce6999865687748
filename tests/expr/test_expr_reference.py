"""The examples of docs/reference/expressions.md give what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.expr.errors import EvaluationError
from penstock.expr.evaluate import Evaluator
from penstock.lang.compile import compile_text

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "expressions.md"
EXAMPLES = [
    tuple(line.strip().split(" -> "))
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("    ") and " -> " in line
]


def outcome(expression: str) -> str:
    text = f"""composite Main {{ graph
        stream<rstring text> Out = Beacon() {{ param iterations: 1u; output Out: text = (rstring) ({expression}); }}
    }}"""
    try:
        program = compile_text(text)
        value = program.application.operators[0].outputs[0].assignments[0].value
        return str(Evaluator(program.application.functions).constant(value))
    except UserError as error:
        found = error.diagnostics[0]
        return f"error: {found.message}; {found.hint}" if found.hint else f"error: {found.message}"
    except EvaluationError as error:
        return f"error: {error}"


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) > 40


@pytest.mark.parametrize(("expression", "expected"), EXAMPLES)
def test_an_example_of_the_reference_holds(expression: str, expected: str) -> None:
    assert outcome(expression) == expected
