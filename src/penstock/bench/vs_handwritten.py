"""`penstock bench vs-handwritten`: two applications against the same by hand in PySpark.

Bargain detection needs windows of tuples and state in Python; network monitoring is what native Spark does well. The
programs are those of `examples/`, those by hand are `benchmarks/handwritten_*.py`. Both sides read the same rows, in as
many batches, in one session and in turns, and what they write is compared: Penstock keeps the sequential order, so
bargains must be equal line by line; native windows come in any order.

Penstock has one channel for bargain detection, whose batches are too light for more, and two for network monitoring;
the programs by hand have two shuffle partitions. Checkpoint files are written the same way. Seconds are those of the
whole run, the start of the query included, after a short run of each to warm up. The largest memory of each part of a
job is reported, too.

With PENSTOCK_BENCH_ONLY in the environment, only the application of that name is run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from penstock.base.diagnostics import UserError
from penstock.bench import Bench
from penstock.bench.measure.on_spark import ROOT, by_hand, in_turns, open_bench_session, run_timed, seconds_of
from penstock.bench.measure.processes import peak_memory
from penstock.bench.workloads.spark_data import log_lines, ticks, write_csv, write_slices
from penstock.lang import compile_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCHES = 8
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """An application on both sides.

    Attributes:
        name: Of the module by hand, and of the example.
        rows: Makes so many rows of input.
        size: How many rows.
        channels: How many channels Penstock gets.
        file: What the example reads.
        output: What it writes.
        compare: Raises an error unless two files of output say the same.
        bar: How many times as fast as by hand it must be.
    """

    name: str
    rows: Callable[[int], pa.Table]
    size: int
    channels: int
    file: str
    output: str
    compare: Callable[[Path, Path], None]
    bar: float


def run(bench: Bench) -> None:
    """Run both applications."""
    spark = open_bench_session()
    with tempfile.TemporaryDirectory() as folder:
        for application in chosen():
            rows = 8_000 if bench.quick else application.size
            if not bench.quick:
                bench.progress(f"{application.name}: warming up")
                _Sides(spark, Path(folder) / f"{application.name}-warm", application, 8_000).run_each()
            _side_by_side(bench, _Sides(spark, Path(folder) / application.name, application, rows))


def _side_by_side(bench: Bench, sides: _Sides) -> None:
    name = sides.application.name
    bench.progress(f"{name}: penstock and by hand in turns, {sides.rows:,} rows")
    with peak_memory() as peak:
        sides.penstock()
    actions = {"by hand": lambda: seconds_of(sides.by_hand), "penstock": lambda: seconds_of(sides.penstock)}
    seconds = in_turns(1 if bench.quick else 3, actions)
    sides.compare()
    for side, value in seconds.items():
        bench.row(part=name, side=side, rows=sides.rows, rows_per_second=sides.rows / value, seconds=value)
    with bench.figure(f"vs_handwritten_{name}", title=name, xlabel="", ylabel="rows/s") as axes:
        axes.bar(list(seconds), [sides.rows / value for value in seconds.values()])
    bench.row(part=f"{name}: most memory in MiB", **{part: round(used) for part, used in peak.items()})
    bench.check(
        f"{name}: penstock to by hand",
        seconds["by hand"] / seconds["penstock"],
        at_least=sides.application.bar,
        timed=True,
    )


class _Sides:
    """The same application on Penstock and by hand, on the same rows."""

    def __init__(self, spark: SparkSession, folder: Path, application: Application, rows: int) -> None:
        self.spark, self.folder, self.application, self.rows = spark, folder, application, rows
        self._hand: Any = by_hand(application.name)
        example = ROOT / "examples" / application.name / f"{application.name}.spl"
        self._program = compile_file(example)
        table = application.rows(rows)
        write_csv(table, folder / application.file)
        write_slices(table, folder / "slices", _BATCHES)
        self._ours, self._theirs = folder / "ours", folder / "theirs"

    def run_each(self) -> None:
        """Run both and compare."""
        self.penstock()
        self.by_hand()
        self.compare()

    def penstock(self) -> None:
        """Run the example."""
        shutil.rmtree(self._ours, ignore_errors=True)
        run_timed(
            self.spark,
            self._program,
            data=self.folder,
            out=self._ours,
            turns_per_batch=self.rows // _BATCHES,
            channels=self.application.channels,
        )

    def by_hand(self) -> None:
        """Run the program by hand."""
        self._theirs.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory() as checkpoint:
            self._hand.run(self.spark, self.folder / "slices", Path(checkpoint), self._theirs)

    def compare(self) -> None:
        """See that both have written the same."""
        self.application.compare(self._ours / self.application.output, self._theirs)


def same_bargains(ours: Path, theirs: Path) -> None:
    """See that two files hold the same bargains in the same order; sums may be rounded differently.

    Raises:
        UserError: They do not.
    """
    left, right = (pd.read_csv(path, header=None) for path in (ours, theirs))
    if len(left) != len(right) or (left[0] != right[0]).any():
        raise UserError(f"penstock has found {len(left)} bargains, by hand there are {len(right)} or others")
    numbers = range(1, left.shape[1])
    if not np.allclose(left[numbers], right[numbers], rtol=_TOLERANCE, atol=_TOLERANCE):
        raise UserError("the bargains by hand have other values")


def same_suspects(ours: Path, theirs: Path) -> None:
    """See that two files hold the same suspects equally often.

    Raises:
        UserError: They do not.
    """
    left, right = (Counter(path.read_text().splitlines()) for path in (ours, theirs))
    if left != right:
        raise UserError(f"{len(left - right)} suspects only by penstock, {len(right - left)} only by hand")


APPLICATIONS = (
    Application(
        name="bargains",
        rows=lambda rows: ticks(rows, symbols=500),
        size=2_000_000,
        channels=1,
        file="ticks.csv",
        output="bargains.csv",
        compare=same_bargains,
        bar=3.0,
    ),
    Application(
        name="network_monitoring",
        rows=lambda rows: log_lines(rows, users=500),
        size=8_000_000,
        channels=2,
        file="logs0.com",
        output="suspects.csv",
        compare=same_suspects,
        bar=0.9,
    ),
)


def chosen() -> list[Application]:
    """The applications to run."""
    only = os.environ.get("PENSTOCK_BENCH_ONLY")
    return [application for application in APPLICATIONS if only in (None, application.name)]
