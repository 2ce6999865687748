import random

import pytest
from mutate import mutated
from programs import VALID, in_custom

from penstock.base.diagnostics import Diagnostic, UserError
from penstock.lang import compile_text

SEEDS = range(10)
PROGRAMS = 800
EXPRESSIONS = 200
SMALL = [text for path in VALID if len(text := path.read_text(encoding="utf-8")) < 1800]
SAMPLES = (
    'price * (float64) volume > 100.0 && sym != "X"',
    "[1, 2, 3][size(names) - 1] + (x < 3 ? abs(-x) : max(x, 7))",
    '{name = "a" + (rstring) x, at = {lat = 1.5, lon = -2e3}}.at.lat',
    'has(ages, "Ann") ? ages["Ann"] << 2 : (n = n + 1) % 5',
    '(list<int64>) names[1:] .+ [1l, 2l] == [] || !("a" in {"a", "b"})',
    "substring(\"hello\", 1, (maybe ?: 3) - 1) < upper('x') && maybe?? && maybe! == 3",
)
DECLARATIONS = """
    float64 price = 1.5; int32 volume = 3; rstring sym = "a"; int32 x = 1; mutable int32 n = 0;
    list<int32> names = [1, 2]; map<rstring, int32> ages = {"Ann": 3}; optional<int32> maybe = 4;
"""


def assert_located(text: str) -> None:
    """The text compiles, or every message says where and what."""
    for diagnostic in diagnostics(text):
        assert diagnostic.span is not None, f"{diagnostic}\n{text}"
        assert str(diagnostic).startswith("mutant.spl:")
        assert diagnostic.message


def diagnostics(text: str) -> tuple[Diagnostic, ...]:
    try:
        compile_text(text, path="mutant.spl")
    except UserError as error:
        return error.diagnostics
    return ()


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_programs_get_located_messages(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(PROGRAMS):
        assert_located(mutated(chance.choice(SMALL), chance))


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_expressions_get_located_messages(seed: int) -> None:
    chance = random.Random(1000 + seed)
    for _ in range(EXPRESSIONS):
        expression = mutated(chance.choice(SAMPLES), chance)
        assert_located(in_custom(f"{DECLARATIONS} println({expression});"))


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_expressions_are_right_before_they_are_damaged(sample: str) -> None:
    compile_text(in_custom(f"{DECLARATIONS} println({sample});"))
