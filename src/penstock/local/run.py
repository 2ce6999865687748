"""Runs a job in this process to its end: the engine for tests, notebooks and jobs that need no cluster.

It runs the physical plan that Spark would run, with the same generated code, the same batches and the same sinks, and
gives what the reference interpreter gives. Channels take their turns one after the other.

When it does not apply:
    Sources and sinks that belong to other systems, or to other jobs, are Spark's: Kafka, exported and imported
    streams. A run that is stopped cannot be resumed: its state is in memory. It can begin with that of a savepoint.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from penstock.base.deadline import Deadline
from penstock.compiler import CompiledJob
from penstock.ir.graph import Application
from penstock.local.line import Line, LineBatch
from penstock.local.local_sinks import check_operators, make_sinks
from penstock.local.local_state import restore_state
from penstock.profiler.raw_statistics import Statistics
from penstock.reference.interrupt import on_interrupt
from penstock.runtime.progress import LateTuples, Notice, Progress
from penstock.runtime.savepoints.job_state import JobState
from penstock.runtime.sinks.writer import SinkWriter, Totals, gather
from penstock.runtime.sources.batch_size import choose_size
from penstock.runtime.sources.rounds import RoundsInMemory
from penstock.toolkit.files.output_locks import hold_outputs

REST_SECONDS = 0.05
"""How long a continuous run rests where there is nothing new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRun:
    """The outcome of a run in this process.

    Attributes:
        stopped: `done`, `interrupted`, or `time` if the time that was asked for has passed.
        batches: How many batches were processed.
        seconds: How long it took.
        pes: The operators of each PE.
        totals: The tuples in and out of each operator, and what was set aside.
        statistics: What submit signals have collected, if there were any.
    """

    stopped: str
    batches: int
    seconds: float
    pes: tuple[tuple[str, ...], ...]
    totals: Totals
    statistics: Statistics


def run_locally(
    job: CompiledJob,
    *,
    seconds: float | None = None,
    on_progress: Progress | None = None,
    notice: Notice = print,
    is_stopped: Callable[[], bool] = lambda: False,
    start: JobState | None = None,
) -> LocalRun:
    """Run until every source has ended, or until Ctrl-C, which stops at the end of a batch.

    Args:
        job: What to run; in which environment, in batches of which size, and whether it waits for more where sources
            can have more, say the options that it was compiled with.
        seconds: Stop after so many seconds, at the end of a batch.
        on_progress: Is told of every batch.
        notice: Is told what the user should know at once.
        is_stopped: Is asked after every batch whether to stop there.
        start: The state to go on from, of a savepoint.

    Raises:
        OperatorFailed: An operator failed; the message names it, the tuple and the cause.
        UserError: The program needs Spark, or another job writes the same files.
    """
    check_operators(job.program.application)
    started = time.perf_counter()
    environment, rounds = job.options.environment, RoundsInMemory()
    line = Line(job.program, job.plan, job.build.pieces, environment, continuous=job.options.continuous, rounds=rounds)
    with hold_outputs(job.plan.application, environment):
        sinks = SinkWriter(job.program, job.plan, environment, make_sinks(job, rounds))
        run = _Run(line, sinks, on_progress, notice, job.program.application)
        try:
            if start is None or not start.batch:
                sinks.restore(None)
            else:
                restore_state(start, job.plan, job.build.pieces, line, sinks)
                run.first_batch = start.batch
            has_ended = start is not None and start.has_ended
            size = choose_size(job.plan.application, job.options.batch, is_timed=seconds is not None)
            stopped = "done" if has_ended else run.to_end(size, seconds, is_stopped)
        finally:
            line.close()
            sinks.close()
    return LocalRun(
        stopped=stopped,
        batches=run.batches,
        seconds=time.perf_counter() - started,
        pes=tuple(pe.operators for pe in job.plan.pes),
        totals=sinks.totals,
        statistics=sinks.statistics,
    )


class _Run:
    """A job while it runs: batch after batch."""

    def __init__(
        self, line: Line, sinks: SinkWriter, on_progress: Progress | None, notice: Notice, application: Application
    ) -> None:
        self._line, self._sinks = line, sinks
        self._on_progress, self._notice = on_progress, notice
        self._late = LateTuples(notice, application)
        self._is_interrupted = False
        self.first_batch = self.batches = 0

    def to_end(self, next_size: Callable[[], int], seconds: float | None, is_stopped: Callable[[], bool]) -> str:
        """Run until nothing follows, or somebody asks to stop; returns which."""
        deadline = Deadline.after(seconds)
        with on_interrupt(self._interrupt):
            while True:
                began = time.perf_counter()
                batch = self._line.run_batch(next_size())
                if batch is not None:
                    self._write(batch, began)
                    if batch.has_ended:
                        return "done"
                if self._is_interrupted or is_stopped():
                    return "interrupted"
                if deadline.has_passed():
                    return "time"
                if batch is None:
                    time.sleep(REST_SECONDS)

    def _write(self, batch: LineBatch, began: float) -> None:
        number = self.first_batch + self.batches
        with gather(batch.rows) as arrived:
            self._sinks.write(arrived, number)
        self._late.look(self._sinks.totals)
        if self._on_progress is not None:
            duration_ms = round(1000 * (time.perf_counter() - began))
            self._on_progress({"batchId": number, "batchDuration": duration_ms, "totals": self._sinks.totals})
        self.batches += 1

    def _interrupt(self) -> None:
        self._is_interrupted = True
        self._notice("stopping after this batch; press Ctrl-C again to stop at once")
