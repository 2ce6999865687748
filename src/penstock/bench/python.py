"""`penstock bench python`: chains of Python functions and a keyed class, against what a Python user would use instead.

All sides call the functions of `benchmarks/handwritten_python.py` on the same rows, and drop what comes out:

- `penstock`: on Spark, two channels, exactly once with a checkpoint; figures are those of steady batches.
- `mapInArrow`: one function by hand that calls them all, in Structured Streaming; steady batches.
- `bytewax`: two processes, in memory, without recovery; from the first row to the last. Rows are NamedTuples.
- `plain loop`: one process, the making of rows left out.
- `columns`, `native`: map, filter, map as column expressions of Penstock, and in the JVM by Spark's own.
- `per key`: the keyed class by `transformWithState`, on the first part of the rows.

Behind these comes what a batch of next to nothing costs (`python_floor`).
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock import App, KeyedOperator, col
from penstock.base.diagnostics import UserError
from penstock.bench import Bench
from penstock.bench.measure.on_spark import ROOT, by_hand, in_turns, open_bench_session, run_timed
from penstock.bench.python_floor import measure_floor
from penstock.bench.workloads.spark_data import write_slices
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "int64 n, float64 x, rstring s"
CHANNELS = 2

Rates = Mapping[str, Callable[[], float]]
"""What measures the tuples a second of each side."""


class Totals(KeyedOperator):
    """The count and the sum of a key so far, for every tuple."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0

    def process(self, t: Any) -> Any:
        """Add a tuple."""
        self.count += 1
        self.total += t.x
        yield {"n": t.n, "count": self.count, "total": self.total}


def run(bench: Bench) -> None:
    """Measure every chain, and the keyed class."""
    if find_spec("bytewax") is None:
        raise UserError("this experiment needs Bytewax", hint="pip install 'penstock[bench]'")
    spark = open_bench_session()
    per_batch, batches, rounds = (5_000, 3, 1) if bench.quick else (1_000_000, 10, 3)
    with tempfile.TemporaryDirectory() as folder:
        sides = _Sides(spark, Path(folder), per_batch=per_batch, batches=batches)
        for case in sides.hand.CASES:
            _report(bench, case, in_turns(rounds, sides.of_chain(case)))
        _report(bench, sides.hand.KEYED, in_turns(rounds, sides.of_keyed_class()))
    measure_floor(bench, spark, Totals)


def _report(bench: Bench, case: str, rates: Mapping[str, float]) -> None:
    bench.progress(f"{case}: {', '.join(f'{side} {rate:,.0f}' for side, rate in rates.items())} tuples a second")
    for side, rate in rates.items():
        bench.row(part=case, side=side, tuples_per_second=rate)
    for side, bar in _BARS[case].items():
        bench.check(f"{case}: penstock to {side}", rates["penstock"] / rates[side], at_least=bar, timed=True)
    with bench.figure(f"python_{_BARS_ORDER.index(case)}", title=case, xlabel="", ylabel="tuples/s") as axes:
        axes.bar(list(rates), list(rates.values()))


_BARS: dict[str, dict[str, float]] = {
    "16 identity functions": {"bytewax": 1.0, "mapInArrow": 4.0},
    "16 functions that change one attribute": {"bytewax": 1.0, "mapInArrow": 4.0},
    "map, filter, map": {"columns": 0.9, "native": 1.0},
    "a function that is not understood": {"plain loop": 1 / 1.3},
    "a keyed class": {"bytewax": 2.0, "per key": 20.0},
}
_BARS_ORDER = list(_BARS)


class _Sides:
    """The same functions on the same rows, every way."""

    def __init__(self, spark: SparkSession, folder: Path, *, per_batch: int, batches: int) -> None:
        self.spark, self.folder, self.per_batch, self.batches = spark, folder, per_batch, batches
        self.hand = by_hand("python")
        self.slices, self.first = folder / "slices", folder / "first"
        rows = _rows(per_batch * batches)
        write_slices(rows, self.slices, batches, pq.write_table)
        write_slices(rows.slice(0, per_batch // 5), self.first, 1, pq.write_table)
        pq.write_table(rows, folder / "rows.parquet", row_group_size=100_000)

    def of_chain(self, case: str) -> Rates:
        """The sides of a chain of functions."""
        steps = self.hand.CASES[case]
        found: dict[str, Callable[[], float]] = {
            "penstock": lambda: self._penstock(chain(steps)),
            "mapInArrow": lambda: self._steady(self.hand.by_map_in_arrow(self.spark, self.slices, steps)),
            "bytewax": lambda: self._bytewax(case),
            "plain loop": lambda: self._plain(steps),
        }
        if "native" in _BARS[case]:
            found["columns"] = lambda: self._penstock(column_chain())
            found["native"] = lambda: self._steady(self.hand.native(self.spark, self.slices))
        return found

    def of_keyed_class(self) -> Rates:
        """The sides of the keyed class."""
        return {
            "penstock": lambda: self._penstock(keyed(self.hand.KEYS)),
            "bytewax": lambda: self._bytewax(self.hand.KEYED),
            "per key": lambda: self.per_batch // 5 / self.hand.per_key(self.spark, self.first)[0],
        }

    def _penstock(self, program: Program) -> float:
        timed = run_timed(
            self.spark,
            program,
            data=self.folder,
            out=self.folder,
            turns_per_batch=self.per_batch,
            channels=CHANNELS,
        )
        return timed.steady_tps(self.per_batch)

    def _steady(self, seconds: list[float]) -> float:
        return self.per_batch / statistics.median(seconds)

    def _bytewax(self, case: str) -> float:
        with tempfile.TemporaryDirectory() as report:
            flow = f"{ROOT / 'benchmarks' / 'bytewax_python.py'}:flow({case!r}, {str(self.slices)!r}, {report!r})"
            call = [sys.executable, "-m", "bytewax.testing", "-p", str(CHANNELS), flow]
            subprocess.run(call, check=True, capture_output=True)
            times = [json.loads(path.read_text()) for path in Path(report).iterdir()]
        seconds = max(t["last"] for t in times) - min(t["first"] for t in times)
        return float(self.per_batch * self.batches / seconds)

    def _plain(self, steps: Any) -> float:
        """On the first two files: a plain loop is as fast on few rows as on many."""
        files = sorted(self.slices.iterdir())[:2]
        return self.per_batch * len(files) / float(self.hand.run_plain(steps, files))


def _rows(count: int) -> pa.Table:
    n = np.arange(count)
    return pa.table({"n": n, "x": n * 0.5, "s": pa.array(np.char.add("s", (n % 100).astype(str)))})


def chain(steps: list[tuple[str, Any]]) -> Program:
    """An application of functions, one behind the other."""
    app = App("Chain")
    stream = app.read_parquet("rows.parquet", SCHEMA)
    for role, function in steps:
        stream = stream.map(function, SCHEMA) if role == "map" else stream.filter(function)
    stream.write_nothing()
    return app.program()


def column_chain() -> Program:
    """Map, filter, map as column expressions."""
    app = App("Columns")
    scaled = app.read_parquet("rows.parquet", SCHEMA).with_columns({"n": col.n + 1, "x": col.x * 2.0})
    wanted = scaled.filter((col.n % 3 != 0) & (col.x > 10.0))
    wanted.with_columns({"n": col.n * 2, "x": col.x - 0.5}).write_nothing()
    return app.program()


def keyed(keys: int) -> Program:
    """The keyed class behind a source."""
    app = App("Keyed")
    rows = app.read_parquet("rows.parquet", SCHEMA).with_columns({"n": col.n % keys})
    rows.apply(Totals, "int64 n, int64 count, float64 total", partition_by="n").write_nothing()
    return app.program()
