"""Runs a program on Spark to its end, and tells what happened in the user's terms."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.codegen.plan import physical_plan
from penstock.diagnostics import Diagnostic, UserError
from penstock.expr.environment import Environment
from penstock.spark.checkpoint import claim
from penstock.spark.pickling import ship_user_modules
from penstock.spark.query import Job, start
from penstock.spark.sinks import Totals
from penstock.toolkit.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRun:
    """The outcome of a run on Spark.

    Attributes:
        stopped: `done` or `interrupted`.
        batches: How many batches were processed.
        seconds: How long it took, the start of the query included.
        pes: The operators of each PE.
        resumed: Whether the run went on from a checkpoint.
        totals: The tuples in and out of each operator, and what was set aside.
    """

    stopped: str
    batches: int
    seconds: float
    pes: tuple[tuple[str, ...], ...]
    resumed: bool
    totals: Totals


def run_on_spark(
    program: Program,
    spark: SparkSession,
    *,
    fusion: Sequence[Sequence[str]],
    environment: Environment,
    checkpoint: Path,
    channels: int | None = 1,
    turns_per_batch: int = 50_000,
    on_progress: Progress | None = None,
) -> SparkRun:
    """Run until every source has ended, or until Ctrl-C, which stops at the end of a batch.

    Raises:
        UserError: An operator failed; the message names it, the tuple and the cause.
    """
    ship_user_modules(program)
    plan = physical_plan(program.application, fusion, channels)
    resumed = claim(checkpoint, plan)
    job = Job(
        program=program,
        plan=plan,
        environment=environment,
        checkpoint=checkpoint,
        turns_per_batch=turns_per_batch,
    )
    started = time.perf_counter()
    query, sinks = start(spark, job)
    try:
        stopped = _wait(query, on_progress)
    finally:
        sinks.close()
    return SparkRun(
        stopped=stopped,
        batches=len(query.recentProgress),
        seconds=time.perf_counter() - started,
        pes=tuple(pe.operators for pe in plan.pes),
        resumed=resumed,
        totals=sinks.totals,
    )


def _wait(query: Any, on_progress: Progress | None) -> str:
    from pyspark.errors import StreamingQueryException

    seen = -1
    try:
        while not query.awaitTermination(0.2):
            latest = query.lastProgress
            if latest is not None and latest["batchId"] != seen and on_progress is not None:
                seen = latest["batchId"]
                on_progress(dict(latest))
    except StreamingQueryException as error:
        raise _in_users_terms(str(error)) from None
    except KeyboardInterrupt:
        query.stop()
        return "interrupted"
    return "done"


_FAILURE = re.compile(r"OperatorFailed: (?:\S+:\d+:\d+: )?error: (?P<message>[^\n]*)")
_USER_ERROR = re.compile(r"UserError: (?:\S+:\d+:\d+: )?error: (?P<message>[^\n]*)")


def _in_users_terms(text: str) -> Exception:
    """The error that a worker raised, out of the text that Spark wraps around it."""
    for pattern in (_FAILURE, _USER_ERROR):
        found = pattern.search(text)
        if found is not None:
            return UserError(Diagnostic(message=found["message"]))
    return RuntimeError(text)
