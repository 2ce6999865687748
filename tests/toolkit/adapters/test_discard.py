"""Discard: counted on every engine and channel, with nothing left to write."""

from __future__ import annotations

import pytest

from penstock import App, col
from penstock.codegen.plan.physical import physical_plan
from penstock.testing import feed


def application() -> App:
    app = App("Load")
    numbers = app.source(feed([(n,) for n in range(50)]), "int64 n")
    numbers.with_columns({"m": col.n * 2}).write_nothing(name="Columns")
    numbers.map(lambda t: {"n": max(t.n, 7)}, "int64 n").filter(lambda t: t.n > 9).write_nothing(name="Functions")
    return app


@pytest.mark.parametrize(("engine", "channels"), [("reference", 1), ("local", 1), ("local", 3)])
def test_it_counts_what_came(engine, channels):
    options = {} if engine == "reference" else {"channels": channels}
    totals = application().run(engine=engine, **options).wait().totals
    assert (totals["Columns"].received, totals["Functions"].received) == (50, 40)


def test_it_runs_where_its_tuples_are_made_and_there_is_no_pe_for_sinks():
    program = application().program().application
    plan = physical_plan(program, [[o.id for o in program.operators]])
    assert [pe.role for pe in plan.pes] == ["source", "stateless"]


def test_what_stands_before_it_does_its_work():
    app = App("Failing")
    app.beacon("int64 n", iterations=3).with_columns({"n": 1 / (col.n - col.n)}).write_nothing()
    with pytest.raises(Exception, match="divi"):
        app.run(engine="local").wait()
