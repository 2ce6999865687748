"""Other channels for a job while it runs: `penstock rescale` or `run.rescale` asks, and the run goes on with them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.compiler import CompiledJob, Options, compile
from penstock.compiler.resuming import read_record
from penstock.runtime.progress import Progress
from penstock.spark.job.run import SparkRun
from penstock.spark.savepoints.rescale_requests import answer_request, drop_request, has_request, take_request
from penstock.spark.savepoints.switch_plan import SECONDS
from penstock.toolkit.core.program import Program


def run_rescaling(
    program: Program,
    options: Options,
    run: Callable[[CompiledJob], SparkRun],
    rescaling: Rescaling,
    notice: Callable[[str], None],
) -> tuple[CompiledJob, SparkRun]:
    """Run a program, on other channels whenever somebody asks for them, until it ends or is stopped.

    Args:
        program: What to run.
        options: How to compile it.
        run: Runs a job until it ends, is stopped, or is to have other channels.
        rescaling: Looks for requests.
        notice: Is told of the channels.

    Returns:
        The job as it ran last, and the outcome of all of it.
    """
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
