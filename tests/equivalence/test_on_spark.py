"""On Spark every sink receives what the reference gives it, in the same order."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from compiling import compile_fused
from penstock import App, col, map_
from penstock.base.diagnostics import UserError
from penstock.bench.measure.on_spark import load_file
from penstock.codegen.plan.physical import physical_plan
from penstock.lang import compile_file, compile_text
from penstock.reference import run
from penstock.spark.job.run import run_on_spark
from penstock.testing import feed
from spark_session import (
    assert_equal_on_spark,
    environment,
    everything_fused,
    files,
    nothing_fused,
    run_spark,
    session,
)

pytestmark = pytest.mark.xdist_group("spark")


def test_branches_that_part_and_meet_again_keep_the_sequential_order(tmp_path):
    app = App("Diamond")
    numbers = app.source(feed(range(40)), "int32 x", name="A")
    low = numbers.filter(col.x % 3 != 0, name="B").with_columns(x=col.x * 10, name="C")
    high = numbers.filter(col.x % 2 == 0, name="D")
    low.union(high, name="E").write_file("out.csv", name="Sink")
    assert_equal_on_spark(app.program(), tmp_path)


def test_a_function_before_two_sinks_runs_once_for_each_tuple(tmp_path):
    @map_
    def stamped(t):
        import uuid

        return {"x": t.x, "id": uuid.uuid4().hex}

    app = App("Stamps")
    made = app.source(feed(range(50)), "int32 x", name="A").map(stamped, "int32 x, rstring id", name="B")
    made.filter(col.x >= 0, name="L").write_file("left.csv", name="Left")
    made.filter(col.x >= 0, name="R").write_file("right.csv", name="Right")
    found, outcome = run_spark(app.program(), tmp_path, nothing_fused(app.program().application), turns_per_batch=20)
    assert found["left.csv"] == found["right.csv"]
    assert len(set(found["left.csv"].splitlines())) == 50
    assert outcome.totals.received["B"] == [50]


def test_a_pe_that_stands_before_a_region_and_behind_it_gives_the_same(tmp_path):
    folder = Path(__file__).parents[2] / "examples" / "bargains"
    load_file(folder / "generate.py").generate(tmp_path / "ticks.csv", ticks=3_000, symbols=12, seed=3)
    made = compile_file(folder / "bargains.spl")
    plan = physical_plan(made.application, everything_fused(made.application), 2)
    assert ("Market", "Report") in [pe.operators for pe in plan.pes]
    assert_equal_on_spark(made, tmp_path, fusions=(everything_fused,), turns_per_batch=700, channels=2)


@pytest.mark.parametrize("fusion", [everything_fused, nothing_fused])
def test_what_operators_print_reaches_the_driver_once_and_in_order(fusion, tmp_path):
    path = Path(__file__).parents[1] / "fixtures" / "spl" / "valid" / "printing_pipeline.spl"
    program = compile_file(path)
    with contextlib.redirect_stdout(io.StringIO()) as wanted:
        run(program, environment=environment(tmp_path, tmp_path))
    with contextlib.redirect_stdout(io.StringIO()) as found:
        run_spark(program, tmp_path, fusion(program.application), turns_per_batch=3)
    assert found.getvalue() == wanted.getvalue()
    assert wanted.getvalue().count("\n") > 50


def test_poison_is_set_aside_and_the_counts_add_up(tmp_path):
    (tmp_path / "in.csv").write_text("".join(f"{n}\n" if n % 7 else "bad\n" for n in range(1, 101)))
    text = """composite Main { graph
        stream<int32 x> A = FileSource() { param file: "in.csv"; format: csv; parsing: permissive; }
        @catch(exception=all) stream<int32 x> B = Functor(A) { output B: x = 1000 / (x % 5); }
        () as Sink = FileSink(B) { param file: "out.csv"; } }"""
    found, outcome = run_spark(compile_text(text), tmp_path, [["A", "B", "Sink"]], turns_per_batch=30)
    good = [n for n in range(1, 101) if n % 7]
    assert outcome.totals.rejected == {"A": 100 - len(good), "B": sum(n % 5 == 0 for n in good)}
    assert outcome.totals.submitted["A"] == [len(good)]
    assert len(found["out.csv"].splitlines()) == len(good) - outcome.totals.rejected["B"]
    assert len(found["dead_letters.jsonl"].splitlines()) == sum(outcome.totals.rejected.values())


def test_a_failure_names_the_operator_the_tuple_and_the_cause(tmp_path):
    text = """composite Main { graph
        stream<int32 x> A = Beacon() { param iterations: 5u; output A: x = (int32) IterationCount(); }
        stream<int32 x> B = Functor(A) { output B: x = 10 / (x - 3); }
        () as Sink = FileSink(B) { param file: "out.csv"; } }"""
    with pytest.raises(UserError, match=r"operator `B` \(Functor\) failed on \{x=3\}: division by zero"):
        run_spark(compile_text(text), tmp_path, [["A", "B", "Sink"]])


def test_a_job_that_has_ended_gives_nothing_again_with_another_fusion(tmp_path):
    app = App("Numbers")
    app.source(feed([1, 2]), "int32 x", name="A").filter(col.x > 0, name="B").filter(col.x > 1, name="C").write_file(
        "out.csv", name="Sink"
    )
    program = app.program()
    fused, alone = (
        compile_fused(program, fuse(program.application), environment=environment(tmp_path, tmp_path / "out"))
        for fuse in (everything_fused, nothing_fused)
    )
    (tmp_path / "out").mkdir()
    run_on_spark(fused, session(), checkpoint=tmp_path / "job")
    written = files(tmp_path / "out")
    outcome = run_on_spark(alone, session(), checkpoint=tmp_path / "job")
    assert (outcome.resumed, outcome.batches, files(tmp_path / "out")) == (True, 0, written)
