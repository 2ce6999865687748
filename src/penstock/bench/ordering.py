"""`penstock bench ordering`: figure 8 of the auto-parallelization paper: what keeping the order costs.

One region with a single stateless operator on two channels, under three strategies:

- round-robin: channels take tuples in turns, and no number travels (`codegen.transport.headers`);
- seqno: the same, but every tuple carries its place;
- seqno & pulses: the operator may drop tuples, so that only the pulse at the end of a batch tells what will not come.

The operator does the same work and makes the same tuples under all three: it tests a value that is always positive, and
the compiler knows, or does not know, that it makes a tuple either way.

Two figures are compared. One is the processor time of a tuple in source, region and merge, run by one thread of this
process as Spark's tasks run them: batches of the strategies take turns, each is compared with the round-robin batch of
the same round, and the median tells. The other is the time of a batch on Spark, for the lightest work; there each
strategy has workers of its own, because its setting is in their environment.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.bench import Bench
from penstock.bench.measure.in_process import as_in_a_worker
from penstock.bench.measure.on_spark import in_turns, open_bench_session, run_timed
from penstock.bench.scaling import WORK_BODY
from penstock.codegen.transport.headers import NUMBERS, numbers_on_every_tuple
from penstock.compiler import Options, compile
from penstock.lang import compile_text
from penstock.local.line import Line
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRATEGIES = ("round-robin", "seqno", "seqno & pulses")
_CHANNELS = 2
_BARS = {"seqno": 0.10, "seqno & pulses": 0.15}
_NEAR_ZERO = 0.05
_PAPER = {"seqno": 12, "seqno & pulses": 21}
"""Figure 8, in per cent."""


def run(bench: Bench) -> None:
    """Compare the strategies by processor time, then on Spark."""
    works = [1, 512] if bench.quick else [1, 8, 32, 128, 512]
    overheads = {work: _in_turns(bench, work) for work in works}
    for name, bar in _BARS.items():
        bench.check(
            f"{name} over round-robin, {works[0]} multiplication a tuple",
            overheads[works[0]][name],
            at_most=bar,
            timed=True,
        )
        what = f"{name} over round-robin, {works[-1]} multiplications a tuple"
        bench.check(what, overheads[works[-1]][name], at_most=_NEAR_ZERO, timed=True)
    _draw(bench, overheads)
    _on_spark(bench, works[0])


def _draw(bench: Bench, overheads: Mapping[int, Mapping[str, float]]) -> None:
    title, works = "overhead of keeping the order, over round-robin", list(overheads)
    with bench.figure("ordering", title=title, xlabel="multiplications a tuple", ylabel="overhead, %") as axes:
        for name, most in _PAPER.items():
            (line,) = axes.plot(works, [100 * overheads[work][name] for work in works], marker="o", label=name)
            axes.axhline(most, color=line.get_color(), linestyle=":", label=f"{name}, the most in the paper")
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_ylim(-5, 25)
        axes.set_xscale("log", base=2)
        axes.legend()


def _in_turns(bench: Bench, work: int) -> dict[str, float]:
    """The overhead of each strategy in processor time."""
    rounds = 3 if bench.quick else 15
    size = _batch_size(work, seconds=0.1 if bench.quick else 0.4)
    lines = {name: _line(name, work, size * (rounds + 1)) for name in STRATEGIES}
    measured: dict[str, list[float]] = {name: [] for name in STRATEGIES}
    bench.progress(f"{work} multiplications a tuple, {rounds} rounds of three strategies, {size:,} tuples each")
    for _ in range(rounds + 1):
        for name, line in lines.items():
            with nullcontext() if name == STRATEGIES[0] else numbers_on_every_tuple():
                measured[name].append(_cpu_seconds(line, size))
    # The first batch of each warms up.
    kept = {name: seconds[1:] for name, seconds in measured.items()}
    overheads = {name: _overhead(seconds, kept[STRATEGIES[0]]) for name, seconds in kept.items()}
    for name, seconds in kept.items():
        cpu_us = statistics.median(seconds) / size * 1e6
        bench.row(
            part="processor time",
            strategy=name,
            work=work,
            us_per_tuple=cpu_us,
            overhead=overheads[name],
            rounds=rounds,
        )
    return overheads


def _overhead(seconds: list[float], base: list[float]) -> float:
    """How much more each round costs than the base in the same round, the median.

    Example:
        >>> _overhead([1.5, 2.0, 3.0], [1.0, 2.0, 2.5])
        0.19999999999999996
    """
    return statistics.median(own / other for own, other in zip(seconds, base, strict=True)) - 1


def _line(strategy: str, work: int, tuples: int) -> Line:
    program = application(work, tuples, may_drop=strategy == STRATEGIES[2])
    job = compile(program, Options(fusion="all", channels=_CHANNELS))
    return Line(job.program, job.plan, job.build.pieces, job.options.environment)


def _cpu_seconds(line: Line, tuples: int) -> float:
    """The processor time of the next batch; what tasks of Spark do at the same time is done by one thread."""
    with as_in_a_worker():
        began = time.process_time()
        line.run_batch(tuples)
        return time.process_time() - began


def _batch_size(work: int, *, seconds: float) -> int:
    """Tuples for so much work on a core.

    Example:
        >>> [_batch_size(work, seconds=0.4) for work in (1, 512)]
        [354924, 26802]
    """
    return int(seconds / (1.1e-6 + 27e-9 * work))


def _on_spark(bench: Bench, work: int) -> None:
    """The time of a batch."""
    size, batches, rounds = (20_000, 3, 1) if bench.quick else (1_000_000, 6, 3)
    spark = open_bench_session()
    bench.progress(f"on Spark: {work} multiplication a tuple, {rounds} rounds, {batches} batches of {size:,} tuples")
    for name in STRATEGIES:
        # Start its workers.
        _batch_seconds(spark, name, work, 10_000, 2)
    seconds = {name: partial(_batch_seconds, spark, name, work, size, batches) for name in STRATEGIES}
    found = in_turns(rounds, seconds)
    for name in STRATEGIES:
        overhead = found[name] / found[STRATEGIES[0]] - 1
        bench.row(
            part="on Spark", strategy=name, work=work, batch_seconds=found[name], overhead=overhead, rounds=rounds
        )
        if name in _BARS:
            bench.check(f"{name} over round-robin, time of a batch on Spark", overhead, at_most=_BARS[name], timed=True)


def _batch_seconds(spark: SparkSession, strategy: str, work: int, size: int, batches: int) -> float:
    program = application(work, size * batches, may_drop=strategy == STRATEGIES[2])
    with _numbers(spark, always=strategy != STRATEGIES[0]), tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        timed = run_timed(spark, program, data=out, out=out, turns_per_batch=size, channels=_CHANNELS)
    return statistics.median(timed.batch_seconds)


@contextmanager
def _numbers(spark: SparkSession, *, always: bool) -> Iterator[None]:
    """Let numbers travel in all workers of the queries that are started meanwhile."""
    environment = spark.sparkContext.environment
    if always:
        environment[NUMBERS] = "always"
    try:
        yield
    finally:
        environment.pop(NUMBERS, None)


def application(work: int, tuples: int, *, may_drop: bool) -> Program:
    """A source, the operator, and a sequential end that keeps one tuple in 1000.

    Example:
        >>> from penstock.parallel.regions import parallel_regions
        >>> regions = [parallel_regions(application(8, 9, may_drop=d).application).regions for d in (False, True)]
        >>> [region.ordering.value for (region,) in regions]
        ['round-robin', 'seqno & pulses']
    """
    body = WORK_BODY.replace("WORK", str(work))
    otherwise = "" if may_drop else " else submit({k = k, l = l, x = 0.0}, Work);"
    return compile_text(f"""composite Ordering {{ graph
    stream<int64 k, int64 l, float64 x> In = Beacon() {{ param iterations: {tuples}u;
      output In: k = (int64) IterationCount(), l = 7l, x = 1.0; }}
    stream<In> Work = Custom(In as I) {{ logic onTuple I: {{
      {body} if (p > 0.0) submit({{k = k, l = l, x = p}}, Work);{otherwise} }} }}
    stream<float64 x> Few = Aggregate(Work) {{ window Work: tumbling, count(1000); output Few: x = Last(x); }}
    () as Sink = FileSink(Few) {{ param file: "few.csv"; }} }}""")
