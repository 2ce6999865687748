"""Profile runs on Spark: a run with submit signals, and what Spark itself has metered."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.compiler import CompiledJob, Options
from penstock.ir.graph import Application
from penstock.model.profile import Profile
from penstock.optimizer.kept_profiles import keep_if_seen_more
from penstock.optimizer.machine import machine_transfer
from penstock.profiler.refine import refine
from penstock.spark.job.rescaling import run_program
from penstock.spark.job.run import SparkRun
from penstock.spark.placement.placement_settings import PlacementSettings
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[dict[str, Any]], None]

_MILLISECONDS = 1e-3
_SHORT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRun:
    """The outcome of a profile run.

    Attributes:
        profile: What operators cost.
        run: What happened.
        python_metrics: What Spark has metered of its Python workers in this run, by its own names: seconds and bytes.
    """

    profile: Profile
    run: SparkRun
    python_metrics: dict[str, float]


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def profile_on_spark(
    program: Program,
    options: Options,
    spark: SparkSession,
    *,
    mips: float,
    checkpoint: Path,
    seconds: float | None = None,
    on_progress: Progress | None = None,
) -> ProfileRun:
    """Run a program with submit signals, if the options say so, and refine what they collect.

    Rates are those of the time in which batches were processed: the start of the query and waiting for input are not
    counted.

    Raises:
        UserError: An operator failed.
    """
    busy_ms = 0

    def tell(progress: dict[str, Any]) -> None:
        nonlocal busy_ms
        busy_ms += progress["batchDuration"]
        if on_progress is not None:
            on_progress(progress)

    before = set(_executions(spark))
    job, run = run_program(
        program,
        options,
        spark,
        checkpoint=checkpoint,
        seconds=seconds,
        on_progress=tell,
        notice=_tell,
        placement=PlacementSettings(keeps_demands=False),
    )
    profile = refine(
        job.program.application,
        run.statistics,
        received=run.totals.received,
        submitted=run.totals.submitted,
        seconds=max(busy_ms * _MILLISECONDS, _MILLISECONDS),
        mips=mips,
    )
    return ProfileRun(profile=profile, run=run, python_metrics=python_metrics(spark, before))


def measure_shortly(program: Program, options: Options, spark: SparkSession) -> Profile:
    """A profile of a few seconds, for algorithms that need one (`Options.measure`).

    Raises:
        KeyboardInterrupt: The user does not want to wait; what was measured until then is not the whole.
    """
    assert options.checkpoint is not None
    mips, folder = machine_transfer().mips, options.checkpoint
    found = profile_on_spark(program, options, spark, mips=mips, checkpoint=folder, seconds=_SHORT_SECONDS)
    if found.run.stopped == "interrupted":
        raise KeyboardInterrupt
    return found.profile


def keep_profile_of(job: CompiledJob, run: SparkRun, application: Application) -> None:
    """Keep what a run with signals has shown for the next one; the graph is that of the program as it was written."""
    if job.choice.sampling is None:
        return
    profile = refine(
        application,
        run.statistics,
        received=run.totals.received,
        submitted=run.totals.submitted,
        seconds=max(run.seconds, _MILLISECONDS),
        mips=machine_transfer().mips,
    )
    keep_if_seen_more(profile, application)


PYTHON_METRICS = {
    "time to run Python workers": "run",
    "time to start Python workers": "start",
    "time to initialize Python workers": "initialize",
    "data sent to Python workers": "sent",
    "data returned from Python workers": "returned",
}
"""The metrics that Spark keeps of every Python node, with our names for them."""


def python_metrics(spark: SparkSession, but: set[int] | frozenset[int] = frozenset()) -> dict[str, float]:
    """The metrics of Spark's Python workers, summed over all executions but some: seconds, or bytes."""
    store = spark._jsparkSession.sharedState().statusStore()
    total = dict.fromkeys(PYTHON_METRICS.values(), 0.0)
    for id_, execution in _executions(spark).items():
        if id_ in but:
            continue
        values = store.executionMetrics(id_)
        for metric in _items(execution.metrics()):
            name = next((short for text, short in PYTHON_METRICS.items() if text in metric.name()), None)
            found = values.get(metric.accumulatorId())
            if name is not None and found.isDefined():
                total[name] += amount_of(found.get())
    return total


def _executions(spark: SparkSession) -> dict[int, Any]:
    """The executions that Spark remembers, by id."""
    store = spark._jsparkSession.sharedState().statusStore()
    return {execution.executionId(): execution for execution in _items(store.executionsList())}


def _items(sequence: Any) -> Iterator[Any]:
    """The items of a Scala sequence."""
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()


_UNITS = {
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "B": 1.0,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
}


def amount_of(text: str) -> float:
    """The number in a metric as Spark writes it for people: in seconds, or in bytes.

    Example:
        >>> amount_of("1.5 s"), amount_of("20 ms"), amount_of("2.0 KiB")
        (1.5, 0.02, 2048.0)
        >>> amount_of("total (min, med, max (stageId: taskId))\\n1.2 s (5 ms, 6 ms, 7 ms (stage 1.0: task 2))")
        1.2
    """
    found = re.search(r"([\d.,]+)\s*([A-Za-z]*)", text.rpartition("\n")[2])
    if found is None:
        return 0.0
    return float(found[1].replace(",", "")) * _UNITS.get(found[2], 1.0)
