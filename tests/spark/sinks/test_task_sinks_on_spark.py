"""Sinks that Spark's tasks write hold what the reference gives, with one and with several channels."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import parquet

from penstock.lang import compile_text
from spark_session import everything_fused, run_reference, run_spark

pytestmark = pytest.mark.xdist_group("spark")

PROGRAM = """composite Main { graph
    stream<int64 n, rstring name> A = Beacon() {
      param iterations: 400u;
      output A: n = (int64) IterationCount(), name = IterationCount() % 3ul == 0ul ? "a/b" : "c";
    }
    stream<A> B = Functor(A) { param filter: n % 7l != 0l; output B: n = n * 2l; }
    stream<int64 n, rstring name, int64 total> C = Aggregate(B) {
      window B: sliding, count(5), count(1), partitioned;
      param partitionBy: name;
      output C: total = Sum(n);
    }
    () as Plain = FileSink(B) { param file: "plain"; format: parquet; }
    () as Text = FileSink(B) { param file: "text"; }
    () as Divided = FileSink(C) { param file: "divided"; format: parquet; partitionBy: name; } }"""


def unpack(files: dict[str, bytes], folder: Path) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def rows_of(folder: Path) -> list[dict]:
    return parquet.read_table(folder).to_pylist()


@pytest.mark.parametrize("channels", [1, 3])
def test_tasks_write_what_the_reference_writes(channels, tmp_path):
    program = compile_text(PROGRAM)
    fusion = everything_fused(program.application)
    found, outcome = run_spark(program, tmp_path, fusion, turns_per_batch=90, channels=channels)
    wanted = run_reference(program, tmp_path)
    on_spark, reference = unpack(found, tmp_path / "spark"), unpack(wanted, tmp_path / "reference")
    assert outcome.batches > 3
    for sink in ("plain", "divided"):
        there, expected = rows_of(on_spark / sink), rows_of(reference / sink)
        assert sorted(map(str, there)) == sorted(map(str, expected))
        assert there == expected or channels > 1
    assert found["text"] == wanted["text"]
    received = outcome.totals.received
    assert received["Plain"] == received["Text"] == [len(rows_of(reference / "plain"))]
    assert received["Divided"] == [len(rows_of(reference / "divided"))]
