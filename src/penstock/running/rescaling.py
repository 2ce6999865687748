"""Other channels for a job while it runs: `penstock rescale` or `run.rescale` asks, and the run goes on with them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.compiler import CompiledJob, Options, compile
from penstock.compiler.resuming import read_record
from penstock.runtime.progress import Progress
from penstock.spark.job.run import SparkRun
from penstock.spark.savepoints.rescale_requests import answer_request, has_request, take_request
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
    while (channels := rescaling.next_channels(outcome)) is not None:
        notice(f"going on with {channels} channels")
        job = compile(program, replace(options, channels=channels, pes=job.choice.fusion, plan=None))
        outcome = rescaling.add(run(job))
    return job, outcome


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

    def next_channels(self, outcome: SparkRun) -> int | None:
        """The channels that a run which has stopped is to go on with; None if it is over."""
        if self._asked is not None:
            # It has ended before it came to a batch.
            self._answer()
        if outcome.stopped != "interrupted":
            return None
        self._asked, self._stopped_ns = take_request(self._checkpoint), time.time_ns()
        if self._asked is None:
            return None
        self._batches = outcome.batches
        return int(self._asked["channels"])

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
