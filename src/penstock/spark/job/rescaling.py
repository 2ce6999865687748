"""Runs a program on Spark, and gives it other channels while it runs, when `penstock rescale` or `run.rescale` asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from penstock.base.diagnostics import UserError
from penstock.compiler import CompiledJob, Options, compile
from penstock.compiler.resuming import read_record
from penstock.runtime.progress import Notice, Progress
from penstock.spark.job.run import SparkRun, run_on_spark
from penstock.spark.placement.placement_settings import PlacementSettings
from penstock.spark.savepoints.rescale_requests import answer_request, drop_request, has_request, take_request
from penstock.spark.savepoints.switch_plan import SECONDS
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class HowToRun(TypedDict, total=False):
    """What a job is told when it starts, by the names of `run_on_spark`."""

    seconds: float | None
    take_over: bool
    accept_changed_code: bool
    start_from: Path | None
    allow_dropped_state: bool
    state_limit: int | None
    inputs: Mapping[str, DataFrame] | None
    placement: PlacementSettings | None


def run_program(
    program: Program,
    options: Options,
    spark: SparkSession,
    *,
    checkpoint: Path,
    on_progress: Progress | None = None,
    notice: Notice = print,
    stops: Callable[[], int] = lambda: 0,
    again: Callable[[Callable[[], SparkRun]], SparkRun] = lambda run: run(),
    **how: Unpack[HowToRun],
) -> tuple[CompiledJob, SparkRun]:
    """Compile and run a program, on other channels whenever somebody asks for them, until it ends or is stopped.

    Whoever runs a program on Spark does it by this.

    Args:
        program: What to run.
        options: How to compile it.
        spark: Where to run it.
        checkpoint: Where Spark keeps what it needs to go on after a stop or a crash.
        on_progress: Is told of every batch.
        notice: Is told what the user should know at once.
        stops: How often somebody else than the user at the terminal has asked to stop.
        again: Calls what runs the job, once more after a failure if it likes.
        how: The other options of `run_on_spark`.

    Returns:
        The job as it ran last, and the outcome of all of it.

    Raises:
        UserError: The program does not compile with these options, or an operator failed.
    """
    rescaling = Rescaling(checkpoint, on_progress)

    def run(job: CompiledJob) -> SparkRun:
        outcome = again(
            lambda: run_on_spark(
                job,
                spark,
                checkpoint=checkpoint,
                on_progress=rescaling.look,
                notice=notice,
                stops=lambda: max(stops(), rescaling.stops()),
                **how,
            )
        )
        if stops():
            # Who stops a run does not want it to go on with other channels.
            drop_request(checkpoint)
        return outcome

    job = compile(program, options)
    outcome = run(job)
    while (asked := rescaling.next_request(outcome)) is not None:
        try:
            job = compile(program, _as_asked(options, job, asked))
        except UserError as error:
            rescaling.refuse(error)
        else:
            notice(
                "going on with "
                + ("other tables of key groups" if "tables" in asked else f"{asked['channels']} channels")
            )
        outcome = rescaling.add(run(job))
    return job, outcome


def _as_asked(options: Options, job: CompiledJob, asked: Mapping[str, Any]) -> Options:
    """The options for a job that goes on as somebody asks, in the same PEs."""
    channels = job.choice.channels if asked["channels"] is None else asked["channels"]
    return replace(options, channels=channels, tables=asked.get("tables"), pes=job.choice.fusion, plan=None)


class Rescaling:
    """Looks for requests, and answers them when the first batch on the new channels is done.

    Args:
        checkpoint: Of the job.
        on_progress: Is told of every batch.
    """

    def __init__(self, checkpoint: Path, on_progress: Progress | None) -> None:
        self._checkpoint = checkpoint
        self._on_progress = on_progress
        self._asked: dict[str, Any] | None = None
        self._stopped_ns = 0
        self._batches = 0

    def stops(self) -> int:
        """Once, if somebody asks for other channels."""
        return int(has_request(self._checkpoint))

    def look(self, progress: dict[str, Any]) -> None:
        """Take note of a batch."""
        if self._asked is not None:
            self._answer()
        if self._on_progress is not None:
            self._on_progress(progress)

    def next_request(self, outcome: SparkRun) -> Mapping[str, Any] | None:
        """The `channels` and `tables` that a run which has stopped is to go on with; None if it is over."""
        if self._asked is not None:
            # It has ended before it came to a batch.
            self._answer()
        if outcome.stopped != "interrupted":
            # It may have been the job itself that asked.
            drop_request(self._checkpoint)
            return None
        self._asked, self._stopped_ns = take_request(self._checkpoint), time.time_ns()
        if self._asked is None:
            return None
        self._batches = outcome.batches
        return self._asked

    def refuse(self, error: UserError) -> None:
        """Tell who asked that it cannot be done."""
        assert self._asked is not None
        answer_request(self._checkpoint, self._asked, refused=str(error).removeprefix("error: "))
        self._asked = None

    def add(self, outcome: SparkRun) -> SparkRun:
        """The outcome of a run together with that of those before it."""
        return replace(outcome, batches=outcome.batches + self._batches)

    def _answer(self) -> None:
        asked, now_ns = self._asked, time.time_ns()
        assert asked is not None
        self._asked = None
        record = read_record(self._checkpoint) or {}
        moved: dict[str, float] = record.get(SECONDS, {})
        stop, all_of_it = ((ns - asked["asked_ns"]) / 1e9 for ns in (self._stopped_ns, now_ns))
        seconds = {"stop": stop, **moved, "start": all_of_it - stop - sum(moved.values()), "pause": all_of_it - stop}
        answer_request(self._checkpoint, asked, seconds=seconds, channels=record.get("channels", []))
