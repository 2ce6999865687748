"""Keyed classes as columns give what the loop gives, and leave the same instances."""

from __future__ import annotations

import random

import pytest
from class_grammar import INPUTS, Runner, Setting, attempt, classes, differences, fewest, row_values
from hypothesis import given, settings
from hypothesis import strategies as st
from pes import assert_same, inner_pe, plan_of
from test_class_calls import batches, chain

from penstock import App, KeyedOperator
from penstock.codegen.functions.class_columns import CompiledClass
from penstock.codegen.functions.instance_table import memory_of
from penstock.codegen.write.generate import Module, generate
from penstock.runtime.verify.verify_models import verify_some
from penstock.testing import feed


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**64))
def test_classes_on_columns_do_what_the_loop_does(seed):
    rng = random.Random(seed)
    is_columns, difference = differences(*classes(rng.choice), rng.choice)
    assert not (is_columns and difference), difference


def test_most_classes_of_the_grammar_become_columns():
    forms = [Setting(*classes(random.Random(seed).choice)).form for seed in range(30)]
    assert sum(isinstance(form, CompiledClass) for form in forms) > 15, [f for f in forms if isinstance(f, str)]


UNDERSTOOD = {
    "an attribute of the class until it is set": """
    of_this_key = 0
    def process(self, t):
        self.of_this_key += 1
        yield (self.of_this_key,)""",
    "None in the beginning": """
    def __init__(self):
        self.last = None
    def process(self, t):
        if t.x != self.last:
            self.last = t.x
            yield (t.n,)""",
    "text in an instance": """
    def __init__(self):
        self.last = None
    def process(self, t):
        if self.last is not None and self.last != t.s:
            yield (t.n,)
        self.last = t.s""",
    "methods that set attributes": """
    def __init__(self):
        self.reset()
    def reset(self):
        self.n = 0
        self.m: float = 0.0
    def process(self, t):
        self.n += 1
        self.m = self.m * 0.5 + t.x
        if self.n > 10:
            self.reset()
            return
        yield (self.n,)""",
    "an integer that becomes a float": """
    def __init__(self):
        self.total = 0
    def process(self, t):
        self.total += t.x
        yield (1 if self.total > 3 else 0,)""",
    "several in one statement, and submit": """
    most = 100
    def __init__(self):
        self.a = self.b = 1
    def process(self, t):
        self.a, self.b = self.b, min(self.a + self.b, self.most)
        if t.b:
            self.submit((self.a,))
        self.submit({"a": self.b})""",
    "an integer that leaves 64 bits and comes back": """
    def __init__(self):
        self.n = 2**62
    def process(self, t):
        self.n = self.n * 4 if t.b else self.n // 16
        yield (self.n % 100,)""",
}  # fmt: skip


@pytest.mark.parametrize("body", UNDERSTOOD.values(), ids=UNDERSTOOD)
def test_forms_of_classes_that_are_understood(body):
    for seed in range(6):
        text = f"class f(KeyedOperator):\n    partition_by = 's'\n{body}"
        is_columns, difference = differences(text, "int64 a", random.Random(seed).choice)
        assert is_columns, difference
        assert not difference, difference


REFUSED = {
    "changes its state other than": """
    def __init__(self):
        self.seen = []
    def process(self, t):
        self.seen.append(t.n)
        yield (1,)""",
    "of several kinds": """
    def __init__(self):
        self.n = 0
    def process(self, t):
        if t.b:
            self.n = t.x
        else:
            self.n = t.n
        yield (1,)""",
    "`self.n` has no constant value in the beginning": """
    def process(self, t):
        if t.b:
            self.n = 1
        yield (1,)""",
    "sets `self.n` for the first time in one of several cases": """
    n = 0
    def process(self, t):
        if t.b:
            self.n = 1
        yield (1,)""",
    "assigns inside a side of a condition": """
    def __init__(self):
        self.n = 0
    def up(self):
        self.n += 1
        return True
    def process(self, t):
        if t.b and self.up():
            yield (self.n,)""",
    "a `For` statement": """
    def __init__(self):
        self.n = 0
    def process(self, t):
        for i in range(3):
            self.n += i
        yield (1,)""",
    "calls `key`": """
    def __init__(self):
        self.n = 0
    def process(self, t):
        self.n += 1
        yield (len(self.key.s),)""",
    "sets no attribute": """
    def process(self, t):
        yield (t.n,)""",
    "an attribute begins as an integer and becomes a float": """
    def __init__(self):
        self.total = 0
    def process(self, t):
        yield (len(f"{self.total}"),)
        self.total += t.x""",
}  # fmt: skip


@pytest.mark.parametrize(("why", "body"), REFUSED.items(), ids=REFUSED)
def test_what_is_not_understood_says_why(why, body):
    text = f"class f(KeyedOperator):\n    partition_by = 's'\n{body}"
    form = Setting(text, "int64 a").form
    assert isinstance(form, str)
    assert why in form


def test_a_float_key_is_left_to_the_loop():
    text = "class f(KeyedOperator):\n    partition_by = 'x'" + UNDERSTOOD["None in the beginning"]
    assert Setting(text, "int64 a").form == "its key `x` is of type float64"


def test_the_first_row_that_fails_is_the_first_in_the_order_of_rows():
    text = (
        "class f(KeyedOperator):\n    partition_by, met = 'i', 0\n    def process(self, t):\n        self.met += 1\n"
        "        assert t.n != 7, t.s\n        yield (10 // t.n,)"
    )
    setting = Setting(text, "int64 a")
    step, attributes, _ = setting.step()
    rows = [row_values(random.Random(i).choice, 9)[1:] for i in range(60)]
    good = [(1 + i, i % 9, *row[1:]) for i, row in enumerate(rows) if 1 + i != 7]
    for bad in [(50, 0, 20, 7), (20, 7, 50, 0)]:
        given = list(good)
        for at, n in zip(bad[::2], bad[1::2], strict=True):
            given[at] = (n, *given[at][1:])
        with fewest(0):
            found = [attempt(Runner(setting, *form), given, 0) for form in [(step, attributes), (None, None)]]
        assert found[0] == found[1]
        assert isinstance(found[0], str)


class Totals(KeyedOperator):
    partition_by = "s"

    def __init__(self, step: int = 1):
        self.step, self.count, self.total = step, 0, 0.0

    def process(self, t):
        self.count += self.step
        self.total += t.f
        if t.n % 3:
            yield {"n": self.count, "s": t.s, "f": self.total}


@pytest.mark.parametrize("is_checked", [False, True])
def test_a_class_in_a_generated_pe_gives_what_a_container_gives(is_checked):
    program = chain(Totals, Totals, step=3)
    program = verify_some(program) if is_checked else program
    plan = plan_of(program)
    made = generate(program, plan, inner_pe(plan))
    assert isinstance(made, Module)
    assert made.text.count("# class by columns, a tuple of each key at a time") == 2
    with fewest(0):
        assert_same(program, plan, inner_pe(plan), batches([e.index for e in plan.into(inner_pe(plan))]))


def test_an_instance_that_has_other_attributes_goes_on_in_the_loop():
    """State that was left with another parameter keeps it."""
    text = """class f(KeyedOperator):
    partition_by = 's'
    def __init__(self, step: int = 2):
        self.step, self.n = step, 0
    def process(self, t):
        self.n += self.step
        yield (self.n,)"""
    setting = Setting(text, "int64 a")
    runner = Runner(setting, *setting.step()[:2])
    rows = [row_values(random.Random(i).choice, 3) for i in range(20)]
    with fewest(0):
        runner.take(rows, 0)
        (whole, parts) = memory_of(runner.calls.snapshot())
        ((_, stored),) = parts.values()
        key = next(iter(stored))
        stored[key] = (*stored[key][:3], (("step", "n"), (100, 5)), None, None)
        runner.calls = runner.fresh()
        runner.calls.restore((whole, parts))
        runner.take(rows, 0)
    ((_, after),) = memory_of(runner.calls.snapshot())[1].values()
    mine = sum(row[4] == key[0] for row in rows)
    assert after[key][3] == (("step", "n"), (100, 5 + 100 * mine))


@pytest.mark.parametrize(("keys", "count"), [(5, 600), (100, 50)])
def test_few_keys_and_few_rows_are_left_to_the_loop(keys, count):
    text = "class f(KeyedOperator):\n    partition_by = 's'" + UNDERSTOOD["None in the beginning"]
    setting = Setting(text, "int64 a")
    runner = Runner(setting, *setting.step()[:2])
    rows = [row_values(random.Random(i).choice, keys) for i in range(count)]
    assert runner.take(rows, 0) == Runner(setting, None, None).take(rows, 0)


def test_the_reason_stands_in_the_generated_module():
    class Seen(KeyedOperator):
        partition_by = "s"

        def __init__(self):
            self.seen = []

        def process(self, t):
            self.seen.append(t.n)
            yield t

    app = App("Test")
    app.source(feed([]), INPUTS, name="A").apply(Seen, name="C").write_file("out.csv", name="Sink")
    program = app.program()
    plan = plan_of(program)
    made = generate(program, plan, inner_pe(plan))
    assert isinstance(made, Module)
    assert "# class row by row: it " in made.text
