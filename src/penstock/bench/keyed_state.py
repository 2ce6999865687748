"""`penstock bench keyed-state`: count and sum by key, on Penstock and by hand in PySpark, side by side.

The program on Penstock is an Aggregate over a partitioned window, updated on columns. Beside it run Spark's aggregation
in the JVM and `transformWithStateInPandas` with the state of one key at a time
(`benchmarks/handwritten_keyed_state.py`). All read the same rows from CSV files, in equal batches, and their totals are
compared. State for each key is slow, so it is measured on the first batch alone.

Rates count the whole run, the start of the query included, after a short run of each to warm up. With many keys the
figure is the median time of the last batches, when all keys are known, and what the state of a batch takes on disk
(`keyed_state_growth`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv

from penstock.base.diagnostics import UserError
from penstock.bench import Bench
from penstock.bench.keyed_state_growth import count_and_sum, measure_growth
from penstock.bench.measure.on_spark import by_hand, in_turns, open_bench_session, run_timed, seconds_of
from penstock.bench.workloads.spark_data import keyed_rows, write_csv, write_slices

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROWS_PER_BATCH, _QUICK_ROWS_PER_BATCH = 250_000, 5_000
_TOTALS = ("k", "n", "total")


def run(bench: Bench) -> None:
    """Measure with few and with many keys."""
    spark = open_bench_session()
    sizes = ((20_000, 500),) if bench.quick else ((4_000_000, 20_000), (4_000_000, 200_000))
    per_batch = _QUICK_ROWS_PER_BATCH if bench.quick else _ROWS_PER_BATCH
    with tempfile.TemporaryDirectory() as folder:
        if not bench.quick:
            bench.progress("warming up")
            _Sides(spark, Path(folder) / "warm", rows=8_000, keys=1_000, per_batch=2_000).run_each()
        for rows, keys in sizes:
            _side_by_side(bench, _Sides(spark, Path(folder) / str(keys), rows=rows, keys=keys, per_batch=per_batch))
    measure_growth(bench, spark)


def _side_by_side(bench: Bench, sides: _Sides) -> None:
    bench.progress(f"{sides.keys:,} keys: penstock, native and per key in turns")
    seconds = in_turns(
        1 if bench.quick else 3,
        {"penstock": lambda: seconds_of(sides.penstock), "native": lambda: seconds_of(sides.native)},
    )
    seconds |= in_turns(1, {"per key": lambda: seconds_of(sides.per_key)})
    sides.compare()
    counted = {"penstock": sides.rows, "native": sides.rows, "per key": sides.per_batch}
    rate = {name: counted[name] / seconds[name] for name in seconds}
    for name, value in rate.items():
        bench.row(keys=sides.keys, rows=counted[name], side=name, rows_per_second=value, seconds=seconds[name])
    bench.check(
        f"{sides.keys:,} keys: penstock to per key", rate["penstock"] / rate["per key"], at_least=8.0, timed=True
    )
    bench.check(f"{sides.keys:,} keys: penstock to native", rate["penstock"] / rate["native"], at_least=0.9, timed=True)
    with bench.figure(
        f"keyed_state_{sides.keys}", title=f"Count and sum over {sides.keys:,} keys", xlabel="", ylabel="rows/s"
    ) as axes:
        axes.bar(list(rate), list(rate.values()))


class _Sides:
    """The same totals, three ways."""

    def __init__(self, spark: SparkSession, folder: Path, *, rows: int, keys: int, per_batch: int) -> None:
        self.spark, self.folder, self.rows, self.keys, self.per_batch = spark, folder, rows, keys, per_batch
        self.hand = by_hand("keyed_state")
        self.program = count_and_sum(rows // keys)
        table = keyed_rows(rows, keys)
        write_csv(table, folder / "rows.csv")
        write_slices(table, folder / "slices", rows // per_batch)
        write_slices(table.slice(0, per_batch), folder / "first", 1)
        self.by_native: pa.Table | None = None

    def run_each(self) -> None:
        """Run all three."""
        for side in (self.penstock, self.native, self.per_key):
            side()
        self.compare()

    def penstock(self) -> None:
        """Run the program."""
        out = self.folder / "out"
        run_timed(self.spark, self.program, data=self.folder, out=out, turns_per_batch=self.per_batch)

    def native(self) -> None:
        """Run Spark's aggregation."""
        self.by_native = self._by_hand(self.hand.native, "slices")

    def per_key(self) -> None:
        """Run the state of one key at a time, on the first batch."""
        self._by_hand(self.hand.per_key, "first")

    def compare(self) -> None:
        """See that Penstock and Spark have found the same totals.

        Raises:
            UserError: They have not.
        """
        options = pyarrow.csv.ReadOptions(column_names=list(_TOTALS))
        ours = pyarrow.csv.read_csv(self.folder / "out" / "totals.csv", options).sort_by("k")
        assert self.by_native is not None
        theirs = self.by_native.rename_columns(list(_TOTALS)).sort_by("k")
        if not all(ours[name].equals(theirs[name].cast(ours[name].type)) for name in _TOTALS):
            raise UserError("the totals of penstock are not those of Spark")

    def _by_hand(self, side: Callable[[SparkSession, Path, Path], pa.Table], data: str) -> pa.Table:
        with tempfile.TemporaryDirectory() as checkpoint:
            return side(self.spark, self.folder / data, Path(checkpoint))
