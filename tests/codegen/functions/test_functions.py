"""Functions made at random: on columns they give what Python gives row by row, exceptions included."""

from __future__ import annotations

import random

from function_grammar import INPUTS, differences, functions, load, row_values
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.codegen.functions.compiled import Compiled, compile_function
from penstock.ir.types import parse_schema


@settings(max_examples=350, deadline=None)
@given(st.integers(0, 2**64))
def test_functions_on_columns_give_what_python_gives_row_by_row(seed):
    rng = random.Random(seed)
    text, role, outputs = functions(rng.choice)
    rows = [row_values(rng.choice) for _ in range(25)]
    _, difference = differences(text, role, rows, outputs)
    assert not difference, difference


def test_most_functions_of_the_grammar_become_columns():
    forms = []
    for seed in range(100):
        text, role, outputs = functions(random.Random(seed).choice)
        forms.append(compile_function(load(text), role, parse_schema(INPUTS), parse_schema(outputs)))
    understood = sum(isinstance(form, Compiled) for form in forms)
    assert understood > 80, [form for form in forms if isinstance(form, str)]
