"""The floor of a batch: what a micro-batch of next to nothing costs, on Penstock and in native Spark, in turns.

Every batch has `ROWS` rows, of which each side takes a map of one function, or counts and sums by key. The map runs in
one task on both sides, and for comparison on two channels; the state lies on disk in the same store, on two channels or
partitions. What comes out is dropped.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock import App, KeyedOperator
from penstock.bench import Bench
from penstock.bench.measure.on_spark import by_hand, in_turns, run_timed
from penstock.bench.workloads.spark_data import write_slices
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, KEYS = 1_000, 200
SCHEMA = "int64 n, float64 x, rstring s"
BARS = {"stateless": 1.1, "stateful": 1.3}


def measure_floor(bench: Bench, spark: SparkSession, totals: type[KeyedOperator]) -> None:
    """Measure batches without and with state.

    Args:
        bench: Takes the figures.
        spark: Where both sides run.
        totals: The class that counts and sums by `n`.
    """
    batches, rounds = (6, 1) if bench.quick else (40, 3)
    with tempfile.TemporaryDirectory() as folder:
        sides = _Sides(spark, Path(folder), batches)
        jobs: dict[str, Mapping[str, Callable[[], float]]] = {
            "stateless": {
                "penstock": sides.of_penstock(_mapped(), channels=1),
                "native": sides.of_native(sides.hand.native_map),
                "two channels": sides.of_penstock(_mapped(), channels=2),
            },
            "stateful": {
                "penstock": sides.of_penstock(_counted(totals), channels=2),
                "native": sides.of_native(sides.hand.native_totals),
            },
        }
        for kind, ways in jobs.items():
            seconds = in_turns(rounds, ways)
            part = f"a batch of {ROWS:,} rows, {kind}"
            bench.progress(f"{part}: {', '.join(f'{side} {taken:.3f}' for side, taken in seconds.items())} s")
            for side, taken in seconds.items():
                bench.row(part=part, side=side, seconds=taken)
            bench.check(
                f"{part}: penstock to native", seconds["penstock"] / seconds["native"], at_most=BARS[kind], timed=True
            )


class _Sides:
    def __init__(self, spark: SparkSession, folder: Path, batches: int) -> None:
        self._spark, self._folder = spark, folder
        self.hand = by_hand("python")
        n = np.arange(ROWS * batches)
        rows = pa.table({"n": n % KEYS, "x": n * 0.5, "s": pa.array(np.char.add("s", (n % 100).astype(str)))})
        write_slices(rows, folder / "slices", batches, pq.write_table)
        pq.write_table(rows, folder / "rows.parquet", row_group_size=ROWS)

    def of_penstock(self, program: Program, *, channels: int) -> Callable[[], float]:
        """The median time of a batch of a program."""

        def measure() -> float:
            timed = run_timed(
                self._spark,
                program,
                data=self._folder,
                out=self._folder,
                turns_per_batch=ROWS,
                channels=channels,
            )
            return statistics.median(timed.batch_seconds)

        return measure

    def of_native(self, run: Callable[[Any, Path], list[float]]) -> Callable[[], float]:
        """The median time of a batch of a query."""
        return lambda: statistics.median(run(self._spark, self._folder / "slices"))


def _mapped() -> Program:
    app = App("Mapped")
    rows = app.read_parquet("rows.parquet", SCHEMA)
    rows.map(lambda t: {"n": t.n + 1, "x": t.x * 2.0, "s": t.s}, SCHEMA).write_nothing()
    return app.program()


def _counted(totals: type[KeyedOperator]) -> Program:
    app = App("Counted")
    rows = app.read_parquet("rows.parquet", SCHEMA)
    rows.apply(totals, "int64 n, int64 count, float64 total", partition_by="n").write_nothing()
    return app.program()
