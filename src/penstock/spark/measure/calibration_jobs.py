"""The jobs of a calibration: chains of PEs that pass everything on, and what a batch of them takes.

A query's first batches start processes and are worked by code that Java has not compiled yet. They do not count.
"""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.profiler.raw_statistics import Statistics
from penstock.profiler.sampling import Sampling
from penstock.spark.job.rescaling import run_program
from penstock.spark.measure.cpu_time import jvm_seconds, worker_seconds
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SMALL, _LARGE = 8, 200
_BATCHES, _COLD = 8, 3
"""How many batches a job has, and how many of them come before it runs as it will run on."""

_WARMING = 16

TUPLES = 3_200_000
"""Of the larger jobs: in short batches a tuple costs twice as much, because memory is touched for the first time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A job to measure.

    Attributes:
        pes: How many PEs pass tuples on.
        stateful: How many of them keep state.
        channels: On how many channels they run.
        tuples: How many tuples go through.
        text_bytes: The size of the text in each.
        batches: In how many batches they come.
    """

    pes: int
    stateful: int = 0
    channels: int = 1
    tuples: int = _BATCHES
    text_bytes: int = _SMALL
    batches: int = _BATCHES

    @property
    def is_tiny(self) -> bool:
        """Whether a batch has one tuple."""
        return self.tuples == self.batches

    @property
    def per_batch(self) -> int:
        """The tuples of a batch."""
        return self.tuples // self.batches

    @property
    def tuple_bytes(self) -> float:
        """The size of a tuple: a number, a text and its offset."""
        return 8.0 + 4.0 + self.text_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The measurements of one calibration job.

    Attributes:
        case: The job.
        jvm_seconds: CPU time of the JVM for a batch.
        worker_seconds: CPU time of all workers for a batch.
        batch_seconds: The median time of its batches, by the clock.
        statistics: The statistics of its submit signals.
    """

    case: Case
    jvm_seconds: float
    worker_seconds: float
    batch_seconds: float
    statistics: Statistics


def cases(tuples: int = TUPLES) -> tuple[Case, ...]:
    """The jobs of a calibration."""
    return (
        Case(pes=1, tuples=tuples),
        Case(pes=5, tuples=tuples),
        Case(pes=1, tuples=tuples, text_bytes=_LARGE),
        Case(pes=5, tuples=tuples, text_bytes=_LARGE),
        Case(pes=1),
        Case(pes=5),
        Case(pes=3, channels=2),
        Case(pes=3, stateful=2),
        Case(pes=3, stateful=2, channels=2),
    )


def warm_up(spark: SparkSession, tuples: int = TUPLES) -> None:
    """Let Java compile what the jobs run: large batches, and many small ones with state on several channels."""
    measure(spark, Case(pes=5, tuples=tuples))
    measure(spark, Case(pes=4, stateful=3, channels=2, tuples=_WARMING, batches=_WARMING))


def measure(spark: SparkSession, case: Case) -> Measured:
    """Run a job and take its accounts."""
    program = chain(case)
    seen: list[tuple[float, float, float]] = []

    def note(progress: dict[str, Any]) -> None:
        seen.append((progress["batchDuration"] / 1000.0, jvm_seconds(spark), worker_seconds(spark)))

    with tempfile.TemporaryDirectory() as folder:
        options = Options(
            environment=Environment(data_directory=Path(folder), output_directory=Path(folder)),
            fusion="none",
            channels=case.channels,
            batch=case.per_batch,
            sampling=Sampling(),
        )
        _, run = run_program(program, options, spark, checkpoint=Path(folder) / "job", on_progress=note)
    # Some workers have ended by the time of the last batch.
    durations, jvm, workers = zip(*seen[_COLD - 1 : case.batches - 1], strict=True)
    return Measured(
        case=case,
        jvm_seconds=(jvm[-1] - jvm[0]) / (len(jvm) - 1),
        worker_seconds=(workers[-1] - workers[0]) / (len(workers) - 1),
        batch_seconds=statistics.median(durations[1:]),
        statistics=run.statistics,
    )


def chain(case: Case) -> Program:
    """The program of a job: every PE passes everything on, the last lets nothing through."""
    lines = [
        f"stream<int64 n, rstring s> S0 = Beacon() {{ param iterations: {case.tuples}u; "
        f'output S0: n = (int64)IterationCount(), s = "{"x" * case.text_bytes}"; }}'
    ]
    for i in range(1, case.pes):
        if i <= case.stateful:
            window = f"window S{i - 1}: sliding, count(1), count(1), partitioned; param partitionBy: n;"
            output = f"output S{i}: n = Any(n), s = Any(s);"
            lines.append(f"stream<int64 n, rstring s> S{i} = Aggregate(S{i - 1}) {{ {window} {output} }}")
        else:
            lines.append(f"stream<int64 n, rstring s> S{i} = Functor(S{i - 1}) {{ }}")
    lines.append(f"stream<int64 n, rstring s> Last = Filter(S{case.pes - 1}) {{ param filter: n < 0l; }}")
    lines.append('() as Sink = FileSink(Last) { param file: "nothing"; }')
    return compile_text(f"composite Calibration {{ graph {' '.join(lines)} }}")
