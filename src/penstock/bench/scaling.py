"""`penstock bench scaling`: figure 6 of the auto-parallelization paper, on Spark.

Three applications over work per tuple and number of channels, each against itself on one channel:

- stateless: one operator without state; channels take tuples in turns, and no number travels;
- stateful: one operator whose state is partitioned by a key; tuples are routed by its hash and carry numbers;
- shuffle: two such operators with different keys, so that a shuffle stands between them.

Work is the number of floating-point multiplications for each tuple, in a loop of Python as operators with code have.
All variants of an experiment take turns in one session, and speedup is the median of the rounds' ratios. On two cores,
speedup can be two at most, and only where the work outweighs what routing, merging and the source cost.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.bench import Bench
from penstock.bench.measure.on_spark import open_bench_session, run_timed
from penstock.lang import compile_text
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORK_BODY = "mutable float64 p = x; for (int32 i in range(WORK)) p = p * 1.0000001; "
_STATELESS = "stream<In> S1 = Custom(In as I) { logic onTuple I: { BODY submit({k = k, l = l, x = p}, S1); } }"
_STATEFUL = """stream<In> OUT = Custom(IN as I) { logic state: mutable map<int64, float64> last;
      onTuple I: { BODY if (KEY in last) p = p + last[KEY] * 0.5; last[KEY] = p;
        submit({k = k, l = l, x = p}, OUT); } }"""

_GRAPHS = {
    "stateless": (_STATELESS, "S1"),
    "stateful": (_STATEFUL.replace("IN", "In").replace("OUT", "S1").replace("KEY", "k"), "S1"),
    "shuffle": (
        _STATEFUL.replace("IN", "In").replace("OUT", "S1").replace("KEY", "k")
        + "\n    "
        + _STATEFUL.replace("IN", "S1").replace("OUT", "S2").replace("KEY", "l"),
        "S2",
    ),
}

_HEAVY_BAR = 1.8
_LARGEST_BATCH = 600_000


def run(bench: Bench) -> None:
    """Run all three experiments."""
    spark = open_bench_session()
    with tempfile.TemporaryDirectory() as folder:
        for name in ["stateless", "stateful"] if bench.quick else _GRAPHS:
            _experiment(bench, spark, Path(folder), name)


def _experiment(bench: Bench, spark: SparkSession, folder: Path, name: str) -> None:
    works = [500] if bench.quick else [1, 32, 1024]
    channels = [1, 2] if bench.quick else [1, 2, 4]
    speedup: dict[int, list[float]] = {count: [] for count in channels}
    for work in works:
        bench.progress(f"{name}: {work} multiplications a tuple, {channels} channels in turns")
        rounds = _measure(bench, spark, folder, name, work, channels)
        for count in channels:
            # Both sides of a ratio are of one round, so that a slow minute of the machine falls on both.
            speedup[count].append(statistics.median(tps[count] / tps[1] for tps in rounds))
            bench.row(
                experiment=name,
                work=work,
                channels=count,
                tuples_per_second=statistics.median(tps[count] for tps in rounds),
                speedup=speedup[count][-1],
                rounds=len(rounds),
            )
    best = max(values[-1] for values in speedup.values())
    bench.check(
        f"{name}: channels to sequential, {works[-1]} multiplications a tuple", best, at_least=_HEAVY_BAR, timed=True
    )
    title = f"{name}: speedup on channels"
    with bench.figure(f"scaling_{name}", title=title, xlabel="multiplications a tuple", ylabel="speedup") as axes:
        for count, values in speedup.items():
            axes.plot(works, values, marker="o", label=f"{count} channels" if count > 1 else "sequential")
        axes.set_xscale("log", base=2)
        axes.legend()


def _measure(
    bench: Bench, spark: SparkSession, folder: Path, name: str, work: int, channels: list[int]
) -> list[dict[int, float]]:
    """The steady rate for each number of channels, in each round."""
    per_batch = _batch_size(work, quick=bench.quick)
    batches, rounds = (2, 1) if bench.quick else (3, 3)
    program = application(name, work, per_batch * batches)

    def rate(count: int) -> float:
        timed = run_timed(spark, program, data=folder, out=folder, turns_per_batch=per_batch, channels=count)
        return timed.steady_tps(per_batch)

    return [{count: rate(count) for count in channels} for _ in range(rounds)]


def _batch_size(work: int, *, quick: bool) -> int:
    """Tuples for some seconds of work on a core, at about 27 ns a multiplication, so that a batch's own cost is small.

    Where there are two operators they are as many, and work for twice as long.

    Example:
        >>> _batch_size(1024, quick=False), _batch_size(1, quick=False)
        (361689, 600000)
    """
    seconds = 0.3 if quick else 10.0
    return min(_LARGEST_BATCH, int(seconds / (27e-9 * work)))


def application(name: str, work: int, tuples: int) -> Program:
    """A source, the experiment's operators, and a sequential end that keeps one tuple in 1000.

    Example:
        >>> [o.id for o in application("shuffle", 8, 100).application.operators]
        ['In', 'S1', 'S2', 'Few', 'Sink']
    """
    graph, last = _GRAPHS[name]
    body = WORK_BODY.replace("WORK", str(work))
    return compile_text(f"""composite Scaling {{ graph
    stream<int64 k, int64 l, float64 x> In = Beacon() {{ param iterations: {tuples}u;
      output In: k = (int64) (IterationCount() % 1009ul), l = (int64) (IterationCount() % 757ul), x = 1.0; }}
    {graph.replace("BODY", body)}
    stream<float64 x> Few = Aggregate({last}) {{ window {last}: tumbling, count(1000);
      output Few: x = Last(x); }}
    () as Sink = FileSink(Few) {{ param file: "few.csv"; }} }}""")
