"""Sources on Spark itself: what tasks read by columns, and several sources in one order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import timed_logs

from penstock import App, Output, agg, col, time, tumbling
from penstock.lang import compile_text
from spark_session import everything_fused, run_reference, run_spark

pytestmark = pytest.mark.xdist_group("spark")

TWO_SOURCES = """composite Main { graph
    stream<rstring s, int32 n> A = FileSource() { param file: "a.csv"; parsing: permissive; }
    stream<rstring s, int32 n> B = Beacon() {
      param iterations: 9; period: 0.5; output B: s = "beacon", n = (int32) IterationCount(); }
    stream<rstring s, int32 n> C = Union(A; B) { }
    stream<rstring s, int32 n> D = Aggregate(C) { window C: tumbling, time(1); output D: s = Last(s), n = Count(); }
    () as Tuples = FileSink(C) { param file: "tuples.csv"; }
    () as Windows = FileSink(D) { param file: "windows.csv"; } }"""

BY_KEY = """composite Main { graph
    stream<rstring s, int32 n> A = FileSource() { param file: "a.csv"; parsing: permissive; }
    stream<rstring s, int32 n> B = Aggregate(A) {
      window A: tumbling, count(3), partitioned; param partitionBy: s; output B: n = Sum(n); }
    () as Sink = FileSink(B) { param file: "out.csv"; } }"""


def csv(folder: Path) -> None:
    rows = (f"k{i % 7},{i if i % 11 else 'bad'}\n" for i in range(300))
    (folder / "a.csv").write_text("# rows\n" + "".join(rows))


def test_sources_of_different_times_come_in_the_order_of_the_reference(tmp_path: Path) -> None:
    csv(tmp_path)
    program = compile_text(TWO_SOURCES)
    found, outcome = run_spark(program, tmp_path, everything_fused(program.application), turns_per_batch=100)
    letters = found.pop("dead_letters.jsonl")
    assert found == run_reference(program, tmp_path)
    assert len(letters.splitlines()) == outcome.totals.rejected["A"] == 28
    assert outcome.totals.submitted["A"] == [272]
    assert outcome.batches >= 3


def test_a_file_is_read_by_tasks_for_several_channels(tmp_path: Path) -> None:
    csv(tmp_path)
    program = compile_text(BY_KEY)
    fusion = everything_fused(program.application)
    found, outcome = run_spark(program, tmp_path, fusion, turns_per_batch=150, channels=2)
    assert found["out.csv"] == run_reference(program, tmp_path)["out.csv"]
    assert outcome.totals.submitted["A"] == [272]


def test_logs_that_carry_their_time_are_merged_by_tasks(tmp_path: Path) -> None:
    for name in "abc":
        times = sorted(random.Random(name).randrange(200) / 8 for _ in range(150))
        lines = [f"{seconds} {i % 7 if i % 20 else 'x'}\n" for i, seconds in enumerate(times)]
        timed_logs.write(tmp_path, {name: "".join(lines)})
    app = App("Counts")
    output = Output(schema="rstring file, int32 n", name="A")
    params = {"folder": str(tmp_path)}
    (logs,) = app.invoke(timed_logs.Logs, outputs=[output], params=params, role="source", on_error="skip")
    counts = logs.aggregate(tumbling(time(3.0)), by="n", n=agg.any(col.n), total=agg.count(), name="Counts")
    counts.write_file("counts.csv")
    program = app.program()
    found, outcome = run_spark(
        program, tmp_path, everything_fused(program.application), turns_per_batch=150, channels=2
    )
    assert found["counts.csv"] == run_reference(program, tmp_path)["counts.csv"]
    assert outcome.totals.rejected["A"] == 24
    assert outcome.batches >= 3
