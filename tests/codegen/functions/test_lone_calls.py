"""Operators with one instance, by columns: they give what the loop gives, and leave the same instance."""

from __future__ import annotations

import random

import numpy as np
import pytest
from class_grammar import INPUTS, Setting, classes, row_values
from hypothesis import given, settings
from hypothesis import strategies as st
from pes import assert_same, generated, inner_pe, plan_of
from test_class_calls import batches, chain
from test_class_scans import DEPENDING, EXTREMES, LAST, SUMS

from penstock import Operator
from penstock.codegen.functions import lone_calls
from penstock.codegen.functions.class_columns import CompiledClass
from penstock.codegen.plan.python_classes import class_calls
from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.places import Places
from penstock.expr.environment import Environment
from penstock.expr.values import batch_from_rows, rows_from_batch
from penstock.expr.vector.frame import to_column
from penstock.ir.types import parse_schema
from penstock.runtime.verify.verify_models import verify_some


@pytest.fixture(autouse=True)
def batches_of_any_size(monkeypatch):
    monkeypatch.setattr(lone_calls, "LEAST_ROWS", 1)


def setting(body: str, outputs: str = "int64 a, float64 d") -> Setting:
    return Setting(f"class f(Operator):\n{body}", outputs)


class Side:
    """A class by columns, or in the loop."""

    def __init__(self, made: Setting, by_columns: bool) -> None:
        step, attributes, _ = made.step()
        self.made, self.step = made, step if by_columns else None
        self.attributes = attributes if by_columns else None
        self.calls = self.fresh()

    def fresh(self):
        return class_calls(self.made.program, self.made.operator, Environment(), self.attributes)

    def restart(self):
        state = self.calls.snapshot()
        self.calls = self.fresh()
        self.calls.restore(state)

    def take(self, rows):
        schema, outputs = parse_schema(INPUTS), parse_schema(self.made.outputs)
        batch = batch_from_rows(rows, schema)
        columns = {a.name: to_column(batch.column(i), a.type) for i, a in enumerate(schema.attributes)}
        frame = Frame(Places(np.arange(len(rows))), columns)

        def times(frame):
            return frame.places.item

        try:
            with np.errstate(all="ignore"):
                if self.step is None:
                    made = self.calls.process(times, [frame])[0]
                else:
                    made = self.calls.process_at_once(times, frame, self.step, self.made.scans)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        given = rows_from_batch(made.batch(outputs), outputs)
        return list(map(repr, zip(made.places.item.tolist(), given, strict=True)))


def compare(made: Setting, rng: random.Random) -> None:
    columns, loop = Side(made, True), Side(made, False)
    for _ in range(3):
        rows = [row_values(rng.choice, 5) for _ in range(rng.choice((1, 2, 30, 80)))]
        found, wanted = columns.take(rows), loop.take(rows)
        assert found == wanted, made.text
        if isinstance(wanted, str):
            return
        assert repr(columns.calls.snapshot()) == repr(loop.calls.snapshot()), made.text
        if rng.random() < 0.5:
            columns.restart()
            loop.restart()


@pytest.mark.parametrize("body", [SUMS, EXTREMES, LAST, DEPENDING])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_an_operator_by_columns_does_what_the_loop_does(body, seed):
    compare(setting(body), random.Random(seed))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**64))
def test_so_do_the_classes_of_the_grammar(seed):
    rng = random.Random(seed)
    text, outputs = classes(rng.choice)
    head, key, *body = text.split("\n")
    assert (head, key.split()[0]) == ("class f(KeyedOperator):", "partition_by")
    made = Setting("\n".join(["class f(Operator):", *body]), outputs)
    if isinstance(made.form, CompiledClass):
        compare(made, rng)


class Changes(Operator):
    """Counts what is not as before."""

    def __init__(self, step: int = 1):
        self.step, self.count, self.last, self.total = step, 0, None, 0.0

    def process(self, t):
        self.total += t.f
        if t.s != self.last:
            self.count += self.step
            yield {"n": self.count, "s": t.s, "f": self.total}
        self.last = t.s


@pytest.mark.parametrize("is_checked", [False, True])
def test_in_a_generated_pe_it_gives_what_a_container_gives(is_checked):
    program = chain(Changes, step=3)
    program = verify_some(program) if is_checked else program
    plan = plan_of(program)
    pe = inner_pe(plan)
    assert generated(program, plan, pe).text.count("# class by columns, all tuples at once") == 1
    assert_same(program, plan, pe, batches([e.index for e in plan.into(pe)]))


def test_an_instance_that_holds_something_else_goes_on_in_the_loop():
    made = setting(SUMS)
    columns, loop = Side(made, True), Side(made, False)
    rows = [row_values(random.Random(i).choice, 3) for i in range(20)]
    for side in (columns, loop):
        side.take(rows[:1])
        side.calls._runtime.instance.count = 2**70
    assert columns.take(rows) == loop.take(rows)
    assert columns.calls._runtime.instance.count == 2**70 + 20


def test_what_is_left_to_the_loop_says_why():
    form = setting(SUMS.replace("self.count += 1", "self.count = self.count * 2 + t.n")).form
    assert form == "it has one instance, and keeps more than sums, extremes and last values"
