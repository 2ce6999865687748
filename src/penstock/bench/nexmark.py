"""`penstock bench nexmark`: the queries of Nexmark on Penstock and by hand in PySpark, every answer checked by DuckDB.

The programs are those of `examples/nexmark`, those by hand are `benchmarks/handwritten_nexmark.py`. Both read the same
events, in the order in which they arrive and in as many batches, in one session and in turns; event time is out of
order within groups of 500. Penstock has two channels, the programs by hand two shuffle partitions. Rates count the
whole run, the start of the query included, after a run of q0 to warm up.

What the sides promise differs: Penstock gives every answer in the sequential order, and windows once, when they are
over; by hand aggregates are given anew with every batch, for Spark would not give the last ones at all, and where two
steps follow each other the second one is taken after the clock has stopped.

With PENSTOCK_BENCH_ONLY in the environment, only the queries that it names, such as `q4,q5`, are run.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.base.diagnostics import UserError
from penstock.bench import Bench
from penstock.bench.measure.on_spark import (
    ROOT,
    by_hand,
    in_turns,
    load_file,
    open_bench_session,
    run_timed,
    seconds_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVENTS, _QUICK_EVENTS = 1_000_000, 5_000
_BATCHES, _QUICK_BATCHES = 8, 2
_QUICK = ("q2", "q4", "q12")
_DISORDER = 500
_RATE, _QUICK_RATE = 10_000, 400
_STATELESS = frozenset({"q0", "q1", "q2", "q10", "q13", "q14", "q21", "q22"})
_PYTHON_STATE = frozenset({"q4", "q6", "q9", "q19"})
_CHANNELS = 2


def run(bench: Bench) -> None:
    """Run every query on both sides, and compare the answers."""
    spark = open_bench_session()
    events = _QUICK_EVENTS if bench.quick else _EVENTS
    batches = _QUICK_BATCHES if bench.quick else _BATCHES
    with tempfile.TemporaryDirectory() as folder:
        sides = _Sides(spark, Path(folder), events, batches, rate=_QUICK_RATE if bench.quick else _RATE)
        chosen = _chosen(list(sides.queries), quick=bench.quick)
        bench.progress(f"the answers of DuckDB to {len(chosen)} queries over {events:,} events")
        wanted = sides.answers.answers_by_sql(sides.folder / "events.parquet", chosen)
        if not bench.quick:
            sides.penstock("q0")
            sides.by_hand("q0")
        ratios: dict[str, float] = {}
        right = 0
        for name in chosen:
            bench.progress(f"{name}: penstock and by hand")
            seconds = in_turns(
                1 if bench.quick else 3,
                {
                    "penstock": lambda name=name: seconds_of(lambda: sides.penstock(name)),  # type: ignore[misc]
                    "by hand": lambda name=name: seconds_of(lambda: sides.by_hand(name)),  # type: ignore[misc]
                },
            )
            is_right = {"penstock": sides.ours(name) == wanted[name], "by hand": sides.theirs(name, wanted[name])}
            right += is_right["penstock"]
            ratios[name] = seconds["by hand"] / seconds["penstock"]
            for side, value in seconds.items():
                bench.row(
                    query=name,
                    side=side,
                    events_per_second=events / value,
                    seconds=value,
                    is_right="yes" if is_right[side] else "NO",
                )
    _report(bench, ratios, right)


def _report(bench: Bench, ratios: dict[str, float], right: int) -> None:
    bench.check("answers that are right, of all queries that were run", right, at_least=len(ratios))
    kinds = {
        "without state": [r for name, r in ratios.items() if name in _STATELESS],
        "with state in Python by hand": [r for name, r in ratios.items() if name in _PYTHON_STATE],
    }
    # A few thousand events say nothing of speed: what is measured then is how long a query takes to start.
    for (kind, found), bar in zip(kinds.items(), (1.0, 5.0), strict=True):
        if found and not bench.quick:
            bench.check(
                f"queries {kind}: penstock to by hand, median", statistics.median(found), at_least=bar, timed=True
            )
    if not bench.quick:
        bench.check("all queries: penstock to by hand, the least", min(ratios.values()), at_least=1.0, timed=True)
    with bench.figure("nexmark", title="penstock to by hand", xlabel="", ylabel="times as fast") as axes:
        axes.bar(list(ratios), list(ratios.values()))


def _chosen(names: list[str], *, quick: bool) -> list[str]:
    only = os.environ.get("PENSTOCK_BENCH_ONLY")
    if only is None:
        return list(_QUICK) if quick else names
    wanted = only.split(",")
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise UserError(f"there is no query `{unknown[0]}`", hint="write names such as q4,q5")
    return wanted


class _Sides:
    """The queries on both sides, over the same events."""

    def __init__(self, spark: SparkSession, folder: Path, events: int, batches: int, *, rate: int) -> None:
        self.spark, self.folder, self._events, self._batches = spark, folder, events, batches
        example = ROOT / "examples" / "nexmark"
        self._nexmark, self.answers = _load_example(example)
        self.queries: dict[str, Any] = self._nexmark.QUERIES
        self._hand: Any = by_hand("nexmark")
        table = load_file(example / "generate.py").draw_events(events, rate=rate, disorder=_DISORDER)
        pq.write_table(table, folder / "events.parquet")
        (folder / "slices").mkdir()
        cuts = np.linspace(0, events, batches + 1, dtype=int)
        for i, (start, end) in enumerate(pairwise(cuts.tolist())):
            path = folder / "slices" / f"{i:04d}.parquet"
            pq.write_table(table.slice(start, end - start), path)
            # Spark reads files in the order of their times.
            os.utime(path, (1_000_000 + i, 1_000_000 + i))

    def penstock(self, name: str) -> None:
        """Run a query on Penstock."""
        out = self.folder / "ours"
        shutil.rmtree(out, ignore_errors=True)
        program = self._nexmark.application(name).program()
        per_batch = -(-self._events // self._batches)
        run_timed(self.spark, program, data=self.folder, out=out, turns_per_batch=per_batch, channels=_CHANNELS)

    def by_hand(self, name: str) -> None:
        """Run a query by hand."""
        out = self.folder / "theirs"
        shutil.rmtree(out, ignore_errors=True)
        with tempfile.TemporaryDirectory() as checkpoint:
            self._hand.run(self.spark, name, self.folder / "slices", Path(checkpoint), out)

    def ours(self, name: str) -> Counter[tuple[str, ...]]:
        """The answer of Penstock."""
        answer: Counter[tuple[str, ...]] = self.answers.read_answer(name, self.folder / "ours" / f"{name}.csv")
        return answer

    def theirs(self, name: str, wanted: Counter[tuple[str, ...]]) -> bool:
        """Whether the answer by hand is right; sessions that are open at the end it cannot give."""
        found = self.answers.final_answer(name, self._hand.finish(name, list(_rows(self.folder / "theirs"))))
        return bool(found <= wanted if name in self._hand.OPEN_AT_THE_END else found == wanted)


def _rows(folder: Path) -> Iterator[tuple[Any, ...]]:
    """The rows of all batches, in order."""
    for batch in sorted(folder.iterdir()):
        for path in sorted(batch.glob("*.parquet")):
            table: pa.Table = pq.read_table(path)
            yield from zip(*(column.to_pylist() for column in table.columns), strict=True)


def _load_example(folder: Path) -> tuple[ModuleType, ModuleType]:
    """The queries and the answers; the example's modules find each other in their folder."""
    sys.path.insert(0, str(folder))
    try:
        return load_file(folder / "nexmark.py"), load_file(folder / "answers.py")
    finally:
        sys.path.remove(str(folder))
