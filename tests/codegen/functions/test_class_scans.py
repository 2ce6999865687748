"""Few keys, all tuples of each at once: what is given and what instances hold are those of the loop."""

from __future__ import annotations

import math
import random

import pytest
from class_grammar import Runner, Setting, attempt, classes, fewest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.codegen.functions.class_scans import HANDED_DOWN, HIGHEST, LOWEST, SUM

ROW = "n=0, i=0, x=0.0, b=False, s='', on=None, ox=None"

SUMS = """
    def __init__(self):
        self.count, self.total = 0, 0.0
    def process(self, t):
        self.count += 1
        self.total -= t.x
        yield (self.count, self.total)"""
EXTREMES = """
    def __init__(self):
        self.high, self.low, self.most = None, 5.0, 0
    def process(self, t):
        if self.high is None or self.high < t.x:
            self.high = t.x
        if not t.x >= self.low:
            self.low = t.x
        self.most = max(self.most, t.n)
        yield (self.most, self.high + self.low)"""
LAST = """
    def __init__(self):
        self.last, self.seen, self.text, self.before = None, False, "", 0
    def process(self, t):
        yield (self.before, 0.0 if self.last is None else self.last)
        if t.b:
            self.last, self.seen = t.x, not t.b
            self.text = t.s
        self.before = len(self.text)"""
DEPENDING = """
    def __init__(self):
        self.count, self.odd, self.mean = 0, 0, 0.0
    def process(self, t):
        self.count += 1
        if self.count % 2:
            self.odd += self.count
        yield (self.odd, self.mean)
        self.mean = (t.x + self.count) / self.count"""


def setting(body: str) -> Setting:
    return Setting(f"class f(KeyedOperator):\n    partition_by = 'i'\n{body}", "int64 a, float64 d")


def row(**values):
    return tuple({**eval(f"dict({ROW})"), **values}.values())


def run(made: Setting, *batches):
    """What columns and the loop give for batches, with what their instances then hold."""
    step, attributes, _ = made.step()
    sides = Runner(made, step, attributes), Runner(made, None, attributes)
    with fewest(0, 1):
        found = [[attempt(side, rows, 10 * i) for i, rows in enumerate(batches)] for side in sides]
        return found, [side.snapshot() for side in sides]


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        (SUMS, {"count": SUM, "total": SUM}),
        (EXTREMES, {"high": HIGHEST, "low": LOWEST, "most": HIGHEST}),
        (LAST, dict.fromkeys(("last", "seen", "text", "before"), HANDED_DOWN)),
        (DEPENDING, {"count": SUM, "odd": SUM, "mean": HANDED_DOWN}),
    ],
)
def test_how_attributes_come_about_is_seen_in_the_code(body, kinds):
    assert setting(body).scans == kinds


@pytest.mark.parametrize(
    "change", ["self.count = self.count * 2 + t.n", "self.count = 0 if self.count > 3 else self.count + 1"]
)
def test_what_is_made_of_its_own_value_in_another_way_has_no_scans(change):
    body = SUMS.replace("self.count += 1", change)
    assert setting(body).scans is None


@pytest.mark.parametrize("body", [SUMS, EXTREMES, LAST, DEPENDING])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_scans_give_what_the_loop_gives(body, seed):
    rng = random.Random(seed)
    floats = (0.0, -0.0, 0.1, -0.3, 1e308, -1e308, math.inf, -math.inf, math.nan, 3.0)

    def rows():
        return [
            row(i=rng.randrange(3), n=rng.choice((1, -1, 2**62, -(2**63))), x=rng.choice(floats), b=rng.random() < 0.3,
                s=rng.choice(("", "é", "abc")))
            for _ in range(rng.randrange(1, 60))
        ]  # fmt: skip

    (columns, loop), (held, wanted) = run(setting(body), rows(), rows(), rows())
    assert columns == loop
    assert held == wanted


def test_a_sum_that_leaves_64_bits_goes_on_in_the_loop():
    body = SUMS.replace("self.count += 1", "self.count += t.n").replace("yield (self.count,", "yield (self.count % 7,")
    (columns, loop), (held, wanted) = run(setting(body), [row(n=2**62)] * 5, [row(n=1)] * 3)
    assert columns == loop
    assert str(5 * 2**62 + 3) in held
    assert held == wanted


def test_a_tuple_that_fails_fails_behind_all_that_come_before_it():
    body = SUMS.replace("self.count += 1", "self.count += 1 // (t.n - 3)")
    (columns, loop), _ = run(setting(body), [row(n=n) for n in range(10)])
    assert columns == loop
    assert "ZeroDivisionError" in columns[0]


def test_classes_of_the_grammar_are_often_scanned():
    made = [Setting(*classes(random.Random(seed).choice)) for seed in range(40)]
    assert sum(one.scans is not None for one in made) > 5
