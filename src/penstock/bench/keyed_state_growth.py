"""How the batches of a job with state by key fare while it knows more and more keys, beside Spark's own aggregation.

First every key comes once; then batches of random keys are measured, and batches that touch few of them. The two sides
run one after the other in one session, on two channels and two partitions. Native Spark keeps its state as we do, in
RocksDB with a log of changes, and throws its totals away.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.bench import Bench
from penstock.bench.measure.on_spark import by_hand
from penstock.bench.workloads.spark_data import write_csv, write_slices
from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MEASURED = 7
"""Batches of random keys behind those that bring every key."""

_FEW = 1_000
_SPREAD = 250
"""How many keys a turn makes where few are touched later, so that a batch of few turns makes many keys."""


def measure_growth(bench: Bench, spark: SparkSession) -> None:
    """Measure with more and more keys."""
    sizes = (2_000,) if bench.quick else (250_000, 2_000_000, 10_000_000)
    per_batch = 1_000 if bench.quick else 250_000
    ours: dict[int, float] = {}
    for keys in sizes:
        bench.progress(f"{keys:,} keys: batches of penstock and of native Spark")
        with tempfile.TemporaryDirectory() as folder:
            measured = _measure(spark, Path(folder), keys, per_batch)
        for side, (seconds, size) in measured.items():
            bench.row(keys=keys, rows=per_batch, side=f"{side}, a batch", seconds=seconds, state_bytes=size)
        ours[keys] = measured["penstock"][0]
        seconds, size = (measured["penstock"][i] / measured["native"][i] for i in (0, 1))
        bench.check(f"{keys:,} keys: a batch of penstock to one of native", seconds, at_most=1.2, timed=True)
        bench.check(f"{keys:,} keys: bytes of state a batch, penstock to native", size, at_most=1.5)
    first, last = min(ours), max(ours)
    bench.check(f"a batch with {last:,} keys to one with {first:,}", ours[last] / ours[first], at_most=1.5, timed=True)
    bench.progress(f"{last:,} keys: batches that touch few of them")
    with tempfile.TemporaryDirectory() as folder:
        touching, empty = _few_touched(spark, Path(folder), last)
    bench.row(keys=last, rows=_FEW, side="penstock, a batch that touches few", seconds=touching)
    bench.row(keys=last, rows=0, side="penstock, an empty batch", seconds=empty)
    bench.check(
        f"a batch that touches {_FEW:,} of {last:,} keys to an empty one", touching / empty, at_most=2.0, timed=True
    )


def _measure(spark: SparkSession, folder: Path, keys: int, per_batch: int) -> dict[str, tuple[float, float]]:
    """For each side the seconds of a batch, and the bytes of state that it writes."""
    rng = np.random.default_rng(keys)
    fill = -(-keys // per_batch) * per_batch
    k = np.concatenate([rng.permutation(fill) % keys, rng.integers(0, keys, _MEASURED * per_batch)])
    table = pa.table({"k": k, "v": rng.integers(0, 1000, len(k))})
    write_csv(table, folder / "rows.csv")
    write_slices(table, folder / "slices", len(k) // per_batch)
    with tempfile.TemporaryDirectory() as checkpoint:
        seconds = _run(spark, count_and_sum(1_000), folder, Path(checkpoint) / "job", per_batch)
        ours = _last(seconds), _bytes_of(Path(checkpoint) / "job/spark/state") / len(seconds)
    with tempfile.TemporaryDirectory() as checkpoint:
        batches = by_hand("keyed_state").native_batches(spark, folder / "slices", Path(checkpoint))
        seconds = [batch["batchDuration"] / 1000 for batch in batches if batch["numInputRows"]]
        native = _last(seconds), _bytes_of(Path(checkpoint) / "state") / len(seconds)
    return {"penstock": ours, "native": native}


def _run(spark: SparkSession, program: Program, folder: Path, checkpoint: Path, per_batch: int) -> list[float]:
    """The seconds of each batch of a program."""
    from penstock.spark.job.rescaling import run_program

    (folder / "out").mkdir(exist_ok=True)
    environment = Environment(data_directory=folder, output_directory=folder / "out")
    options = Options(environment=environment, fusion="all", loops="inside", channels=2, batch=per_batch)
    seen: list[float] = []
    run_program(
        program,
        options,
        spark,
        checkpoint=checkpoint,
        on_progress=lambda progress: seen.append(progress["batchDuration"] / 1000),
    )
    return seen


def _last(seconds: list[float]) -> float:
    """The time of a batch when all keys are known; the last one of all ends the job, too."""
    return statistics.median(seconds[-_MEASURED:-1])


def _bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _few_touched(spark: SparkSession, folder: Path, keys: int) -> tuple[float, float]:
    """The seconds of a batch that touches few keys of many, and of one that touches none."""
    rng = np.random.default_rng(keys)
    phases = [-np.ones(-(-keys // _SPREAD), np.int64), rng.integers(0, keys, 12 * _FEW), -np.ones(12 * _FEW, np.int64)]
    k = np.concatenate(phases)
    write_csv(pa.table({"k": k, "v": np.ones(len(k), np.int64)}), folder / "few.csv")
    with tempfile.TemporaryDirectory() as checkpoint:
        seconds = _run(spark, few_of_many(keys), folder, Path(checkpoint) / "job", _FEW)
    return statistics.median(seconds[-22:-13]), statistics.median(seconds[-10:-1])


def count_and_sum(rows_of_each_key: int) -> Program:
    """A program that counts and sums all rows of each key."""
    return compile_text(f"""composite Totals {{ graph
        stream<int64 k, int64 v> Rows = FileSource() {{ param file: "rows.csv"; format: csv; }}
        {_totals("Rows", rows_of_each_key)} }}""")


def few_of_many(keys: int) -> Program:
    """A program that first makes many keys, and then counts and sums the rows of a few of them."""
    return compile_text(f"""composite Totals {{ graph
        stream<int64 i> Turns = Beacon() {{ param iterations: {-(-keys // _SPREAD)}u;
          output Turns: i = (int64) IterationCount(); }}
        stream<int64 k, int64 v> All = Custom(Turns as I) {{ logic onTuple I: {{
          for (int32 j in range({_SPREAD})) {{ submit({{k = i * {_SPREAD}l + (int64) j, v = 1l}}, All); }} }} }}
        stream<int64 k, int64 v> Few = FileSource() {{ param file: "few.csv"; format: csv; }}
        stream<Few> Rows = Filter(Few) {{ param filter: k >= 0l; }}
        {_totals("All, Rows", 1_000)} }}""")


def _totals(rows: str, rows_of_each_key: int) -> str:
    return f"""stream<int64 k, int32 n, int64 total> Totals = Aggregate({rows} as I) {{
          window I: tumbling, count({rows_of_each_key}), partitioned;
          param partitionBy: k;
          output Totals: k = Any(k), n = Count(), total = Sum(v); }}
        () as Sink = FileSink(Totals) {{ param file: "totals.csv"; format: csv; }}"""
