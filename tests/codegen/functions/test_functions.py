"""Functions made at random: on columns they give what Python gives row by row, exceptions included."""

from __future__ import annotations

import random

import pytest
from function_grammar import INPUTS, differences, functions, load, row_values
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.codegen.functions.compiled import Compiled, compile_function
from penstock.ir.types import parse_schema


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**64))
def test_functions_on_columns_give_what_python_gives_row_by_row(seed):
    rng = random.Random(seed)
    text, role, outputs = functions(rng.choice)
    rows = [row_values(rng.choice) for _ in range(25)]
    _, difference = differences(text, role, rows, outputs)
    assert not difference, difference


CASES = [
    ("map", "int64 a", """
    x = 1 // t.n
    return (5,)"""),
    ("map", "int64 a", """
    if t.n > 0:
        return {'a': t.n}"""),
    ("map", "optional<int64> a", """
    if t.n > 0:
        return {'a': t.n}"""),
    ("map", "optional<int64> a", """
    if t.n > 0:
        return t.n"""),
    ("map", "rstring a, float64 b", """
    m = PATTERN.match(t.s)
    if not m:
        return ('none', t.x)
    if m.group(2) is None:
        return (m.group(1), 0)
    return (m.group(2), int(m.group(2)))"""),
    ("map", "float64 a", """
    return (t.u * 0.5 if t.u else t.x,)"""),
    ("map", "uint64 u", """
    return t"""),
    ("map", "uint64 u, int64 a", """
    return (t.u, t.u // 2)"""),
    ("map", "int64 a", """
    x = t.n
    x += 1
    x *= 2
    x -= t.m
    if x > 5:
        x = -x
        if x < -100:
            return (x,)
    elif x == 0:
        raise KeyError(t.s)
    return (abs(x),)"""),
    ("map", "boolean a", """
    return (t.x == t.x and t.x < t.n < t.z,)"""),
    ("map", "boolean a", """
    return (t.n == 1 == t.x,)"""),
    ("flat map", "int64 a", """
    if t.b:
        return
    yield (t.n,)
    if t.x > 1:
        yield (t.m,)
        return
    yield (t.n + t.m,)"""),
    ("flat map", "int64 a", """
    if t.b:
        return [(t.n,), {'a': t.m}]
    if t.x > 1:
        return None
    return ()"""),
    ("filter", INPUTS, """
    if t.b:
        return t.n
    if t.x > 2:
        return t.s
    elif t.x < -2:
        return t.on"""),
    ("filter", INPUTS, """
    return t"""),
    ("filter", INPUTS, """
    return t.os and t.on and t.ox"""),
    ("filter", INPUTS, """
    return None"""),
    ("map", "float32 a, float64 b", """
    return (t.x * t.z, t.y * t.y)"""),
    ("map", "rstring[4] q, rstring a", """
    return (t.w, t.q)"""),
    ("map", "list<int32> l, rstring w", """
    return {'w': t.s, 'l': t.l}"""),
    ("map", "int64 a", """
    n = t.n
    a, (b, c) = n, (t.m, t.i)
    return (a - b * c,)"""),
    ("map", "rstring a", """
    return (f'{t.n:>{5}}|{t.x:.3e}|{t.b}|{t.on}|{t.s:>4}',)"""),
    ("map", "rstring a", """
    return (f'{t.n!r:>20}{{}}',)"""),
    ("map", "int64 a", """
    return (clamp(clamp(t.n, 0), high=clamp(t.m)),)"""),
    ("map", "int64 a", """
    return (len(STEPS) + STEPS[1] + len((t.n, t.m)),)"""),
    ("map", "int64 a", """
    return (int(t.x) if -9 < t.x < 9 else round(t.z),)"""),
    ("map", "float64 a", """
    return (max(t.x, t.z, -1.0, 0.0),)"""),
    ("map", "float64 a", """
    return (min(0.0, -0.0, t.x),)"""),
    ("map", "boolean a", """
    return (not t.on is None and t.on > 3 or t.os is None,)"""),
    ("map", "int64 a", """
    return (t.s.find('a', 1) + t.s.count(t.w),)"""),
    ("map", "rstring a", """
    return (t.s[t.j:t.i] + t.w[-2:] + t.s[:t.on],)"""),
    ("map", "int64 a", """
    return (t.n >> 63,)"""),
    ("map", "int64 a", """
    return (-7 // t.n + -7 % t.n,)"""),
    ("map", "float64 a", """
    return (7 // t.x + t.x % -3 + 7.5 % t.z,)"""),
    ("map", "int64 a", """
    return (True + t.b - (t.n > 3) * 2,)"""),
]  # fmt: skip
ROWS = [row_values(random.Random(3).choice), *(row_values(random.Random(seed).choice) for seed in range(80))]


@pytest.mark.parametrize(("role", "outputs", "body"), CASES)
def test_paths_returns_and_corners_are_those_of_python(role, outputs, body):
    is_compiled, difference = differences(f"def f(t):\n{body}", role, ROWS, outputs)
    assert not difference, difference
    assert is_compiled


@pytest.mark.parametrize("test", ["t.b and (x := t.n) > 3", "0 < t.n < (x := t.m) < 9", "t.b or (x := t.m)"])
def test_what_is_assigned_on_one_side_of_a_test_is_so_for_its_rows_alone(test):
    text = f"def f(t):\n    x = 1\n    if {test}:\n        pass\n    return (x,)"
    _, difference = differences(text, "map", ROWS, "int64 a")
    assert not difference, difference


def test_most_functions_of_the_grammar_become_columns():
    forms = []
    for seed in range(100):
        text, role, outputs = functions(random.Random(seed).choice)
        forms.append(compile_function(load(text), role, parse_schema(INPUTS), parse_schema(outputs)))
    understood = sum(isinstance(form, Compiled) for form in forms)
    assert understood > 70, [form for form in forms if isinstance(form, str)]
