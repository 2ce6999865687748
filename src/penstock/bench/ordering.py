"""`penstock bench ordering`: figure 8 of the auto-parallelization paper: what keeping the order costs.

One region with a single stateless operator on two channels, under three strategies:

- round-robin: channels take tuples in turns, and no number travels (`codegen.headers`);
- seqno: the same, but every tuple carries its place;
- seqno & pulses: the operator may drop tuples, so that only the pulse at the end of a batch tells what will not come.

What is compared is the processor time of a tuple, over the driver, the JVM and all workers: the difference between
a run with large batches and one with as many small ones, so that neither the start of a query, nor the cost of a batch,
nor what else the machine does counts. All strategies take turns in one session; each has workers of its own, because
its setting is in their surroundings.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.bench import Bench
from penstock.bench.on_spark import open_bench_session
from penstock.bench.processes import cpu_seconds
from penstock.bench.scaling import WORK_BODY
from penstock.codegen.headers import NUMBERS
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.toolkit.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRATEGIES = ("round-robin", "seqno", "seqno & pulses")
_CHANNELS = 2
_BARS = {"seqno": 0.10, "seqno & pulses": 0.15}
_NEAR_ZERO = 0.05
_FEW_TUPLES = 1000
"""In a small batch."""


def run(bench: Bench) -> None:
    """Let the strategies take turns, then compare them."""
    works = [1] if bench.quick else [1, 32, 512]
    batches, rounds = (2, 1) if bench.quick else (4, 3)
    spark = open_bench_session()
    measured: dict[str, list[list[float]]] = {name: [] for name in STRATEGIES}
    for name in STRATEGIES:
        # Start its workers, and warm up what the rounds use.
        _costs_us(spark, name, [1], batches=2, quick=True)
    for i in range(rounds):
        for name in STRATEGIES:
            measured[name].append(_costs_us(spark, name, works, batches=batches, quick=bench.quick))
            found = ", ".join(f"{cost:.2f}" for cost in measured[name][-1])
            bench.progress(f"{name}, round {i + 1} of {rounds}: {found} us a tuple")
    cost = {name: [statistics.median(each) for each in zip(*rows, strict=True)] for name, rows in measured.items()}
    overheads = {name: _overheads(cost[name], cost["round-robin"]) for name in STRATEGIES}
    for name in STRATEGIES:
        for work, cpu_us, overhead in zip(works, cost[name], overheads[name], strict=True):
            bench.row(strategy=name, work=work, cpu_us_per_tuple=cpu_us, overhead=overhead, rounds=rounds)
    _judge(bench, works, overheads)


def _overheads(cost: list[float], base: list[float]) -> list[float]:
    """How much more each costs than the base.

    Example:
        >>> _overheads([1.5, 2.0], [1.0, 2.0])
        [0.5, 0.0]
    """
    return [own / other - 1 for own, other in zip(cost, base, strict=True)]


def _judge(bench: Bench, works: list[int], overheads: dict[str, list[float]]) -> None:
    for name, bar in _BARS.items():
        bench.check(f"{name} over round-robin, {works[0]} multiplication a tuple", overheads[name][0], at_most=bar)
        if len(works) > 1:
            what = f"{name} over round-robin, {works[-1]} multiplications a tuple"
            bench.check(what, overheads[name][-1], at_most=_NEAR_ZERO)
    title = "overhead of keeping the order, over round-robin"
    with bench.figure("ordering", title=title, xlabel="multiplications a tuple", ylabel="overhead, %") as axes:
        for name in _BARS:
            axes.plot(works, [100 * value for value in overheads[name]], marker="o", label=name)
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.legend()


def _costs_us(spark: SparkSession, strategy: str, works: list[int], *, batches: int, quick: bool) -> list[float]:
    """Microseconds of processor time that one more tuple in a batch costs, for each amount of work."""

    def used(work: int, size: int) -> float:
        program = application(work, size * batches, may_drop=strategy == STRATEGIES[2])
        return _cpu_seconds_of_a_run(spark, program, size)

    def cost_us(work: int) -> float:
        size = _batch_size(work, quick=quick)
        return (used(work, size) - small) / (batches * (size - _FEW_TUPLES)) * 1e6

    with _numbers(spark, always=strategy != STRATEGIES[0]):
        small = used(works[0], _FEW_TUPLES)
        return [cost_us(work) for work in works]


def _batch_size(work: int, *, quick: bool) -> int:
    """Tuples for up to four seconds of work, so that what the JVM does beside it counts for little.

    Example:
        >>> [_batch_size(work, quick=False) for work in (1, 32, 512)]
        [500000, 500000, 254226]
    """
    most, seconds = (100_000, 0.2) if quick else (500_000, 4.0)
    return min(most, int(seconds / (1.91e-6 + 27e-9 * work)))


@contextmanager
def _numbers(spark: SparkSession, *, always: bool) -> Iterator[None]:
    """Let numbers travel in all workers of the queries that are started meanwhile."""
    surroundings = spark.sparkContext.environment
    if always:
        surroundings[NUMBERS] = "always"
    try:
        yield
    finally:
        surroundings.pop(NUMBERS, None)


def _cpu_seconds_of_a_run(spark: SparkSession, program: Program, size: int) -> float:
    from penstock.spark.run import run_on_spark

    before = cpu_seconds()
    with tempfile.TemporaryDirectory() as folder:
        run_on_spark(
            program,
            spark,
            fusion=[[o.id for o in program.application.operators]],
            channels=_CHANNELS,
            environment=Environment(data_directory=Path(folder), output_directory=Path(folder)),
            checkpoint=Path(folder) / "job",
            turns_per_batch=size,
        )
    return cpu_seconds() - before


def application(work: int, tuples: int, *, may_drop: bool) -> Program:
    """A source, the operator, and a sequential end that keeps one tuple in 1000.

    Example:
        >>> from penstock.parallel.regions import parallel_regions
        >>> regions = [parallel_regions(application(8, 9, may_drop=d).application).regions for d in (False, True)]
        >>> [region.ordering.value for (region,) in regions]
        ['round-robin', 'seqno & pulses']
    """
    body = WORK_BODY.replace("WORK", str(work))
    condition = "if (p > 0.0) " if may_drop else ""
    return compile_text(f"""composite Ordering {{ graph
    stream<int64 k, int64 l, float64 x> In = Beacon() {{ param iterations: {tuples}u;
      output In: k = (int64) IterationCount(), l = 7l, x = 1.0; }}
    stream<In> Work = Custom(In as I) {{ logic onTuple I: {{
      {body}{condition}submit({{k = k, l = l, x = p}}, Work); }} }}
    stream<float64 x> Few = Aggregate(Work) {{ window Work: tumbling, count(1000); output Few: x = Last(x); }}
    () as Sink = FileSink(Few) {{ param file: "few.csv"; }} }}""")
