"""Runs a program on Spark to its end, and tells what happened in the user's terms."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import Diagnostic, UserError
from penstock.base.durable_files import LOST
from penstock.compiler import CompiledJob
from penstock.compiler.resuming import read_record
from penstock.ir.graph import Application
from penstock.profiler.raw_statistics import Statistics
from penstock.runtime.progress import LateTuples, Notice, Progress
from penstock.runtime.sinks.writer import Totals
from penstock.runtime.sources.outside_rows import own_sources
from penstock.runtime.sources.waiting import has_gate
from penstock.spark.checkpoint.code_fingerprint import fingerprint_code
from penstock.spark.checkpoint.inspection import inspect_checkpoint
from penstock.spark.checkpoint.launches import count_launches
from penstock.spark.checkpoint.lock import CheckpointLock, lock_checkpoint
from penstock.spark.checkpoint.plan_record import BEGAN, claim
from penstock.spark.checkpoint.spark_files import FOLDER as SPARK_FOLDER
from penstock.spark.gate.gating import start_clock
from penstock.spark.job.lost_cluster import LostCluster
from penstock.spark.job.pickling import ship_user_modules
from penstock.spark.job.query import Job, Started, start
from penstock.spark.job.watch import watch
from penstock.spark.placement.executors import Executors
from penstock.spark.placement.placement_settings import PlacementSettings, is_placed, settings_on
from penstock.spark.savepoints.apply_savepoint import Target
from penstock.spark.savepoints.switch_plan import switch_plan
from penstock.spark.sinks.sink_pe import SinkPE
from penstock.spark.workers.interpreter import active_context, explain_silence
from penstock.toolkit.files.output_locks import hold_outputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRun:
    """The outcome of a run on Spark.

    Attributes:
        stopped: `done`, `interrupted`, or `time` if the time that was asked for has passed.
        batches: How many batches were processed.
        seconds: How long it took, the start of the query included.
        pes: The operators of each PE.
        resumed: Whether the run went on from a checkpoint.
        totals: The tuples in and out of each operator, and what was set aside.
        statistics: What submit signals have collected, if there were any.
        switched: The seconds of each phase of a change of plans before it, if there was one.
    """

    stopped: str
    batches: int
    seconds: float
    pes: tuple[tuple[str, ...], ...]
    resumed: bool
    totals: Totals
    statistics: Statistics
    switched: dict[str, float]


def run_on_spark(
    compiled: CompiledJob,
    spark: SparkSession,
    *,
    checkpoint: Path,
    seconds: float | None = None,
    on_progress: Progress | None = None,
    notice: Notice = print,
    stops: Callable[[], int] = lambda: 0,
    take_over: bool = False,
    accept_changed_code: bool = False,
    start_from: Path | None = None,
    allow_dropped_state: bool = False,
    state_limit: int | None = None,
    inputs: Mapping[str, DataFrame] | None = None,
    placement: PlacementSettings | None = None,
) -> SparkRun:
    """Run until every source has ended, or until Ctrl-C, which stops at the end of a batch.

    Args:
        compiled: What to run.
        spark: Where.
        checkpoint: Where Spark keeps what it needs to go on after a stop or a crash.
        seconds: Stop after so many seconds, at the end of a batch.
        on_progress: Is told of every batch: Spark's progress, with `totals` so far.
        notice: Is told what the user should know at once.
        stops: How often somebody else than the user at the terminal has asked to stop; the second time at once.
        take_over: Whether to go on although another process holds the checkpoint.
        accept_changed_code: Whether to go on although the Python code of an operator with state has changed.
        start_from: A savepoint to go on from, where the checkpoint is a new one.
        allow_dropped_state: Whether a changed program may drop the state of operators that are gone or are others.
        state_limit: How many bytes of state a channel may hold.
        inputs: The streams of Spark that the program takes, by name.
        placement: Where its tasks are to run; as Spark does it unless given.

    Raises:
        UserError: An operator failed; the message names it, the tuple and the cause. Or another process holds the
            checkpoint, or the checkpoint is of another program or damaged.
    """
    plan = compiled.plan
    ship_user_modules(compiled.program)
    # Workers of a cluster have folders of their own to start in.
    checkpoint = checkpoint.absolute()
    started = time.perf_counter()
    with lock_checkpoint(checkpoint, take_over=take_over, helper=_java_of(spark), notice=notice) as lock:
        code = fingerprint_code(compiled.program)
        phases = switch_plan(
            spark,
            Target(program=compiled.program, plan=plan, build=compiled.build, environment=compiled.options.environment),
            code,
            checkpoint,
            lock,
            finish=partial(finish_job, spark),
            start=start_from,
            accept_changed_code=accept_changed_code,
            allow_dropped_state=allow_dropped_state,
            notice=notice,
        )
        resumed = claim(
            checkpoint,
            plan,
            code,
            accept_changed_code=accept_changed_code,
            follows=compiled.options.continuous,
            notice=notice,
        )
        job = _job_on(checkpoint, compiled, lock, resumed=resumed)
        job = replace(job, state_limit=state_limit, inputs=dict(inputs or {}), is_timed=seconds is not None)
        job = _placed(job, placement or settings_on(str(spark.sparkContext.master)))
        before = None if lock.predecessor is None else lock.predecessor.process
        with hold_outputs(plan.application, job.environment, before):
            batches, sinks, stopped = run_job(spark, job, on_progress, notice, seconds, stops)
    return SparkRun(
        stopped=stopped,
        batches=batches,
        seconds=time.perf_counter() - started,
        pes=tuple(pe.operators for pe in plan.pes),
        resumed=resumed,
        totals=sinks.totals,
        statistics=sinks.statistics,
        switched=phases,
    )


def _job_on(checkpoint: Path, compiled: CompiledJob, lock: CheckpointLock, *, resumed: bool) -> Job:
    """A job that holds its checkpoint: where it begins, with which clock, and as which launch."""
    plan, options = compiled.plan, compiled.options
    record = read_record(checkpoint) or {}
    first_batch: int = record.get("first_batch", 0)
    by_wall = options.continuous and has_gate(plan.application)
    environment = start_clock(options.environment, checkpoint, resumed=resumed, by_wall=by_wall)
    environment = replace(environment, relaunch_count=count_launches(checkpoint))
    if resumed:
        inspect_checkpoint(checkpoint, has_log=bool(own_sources(plan)), first_batch=first_batch)
    return Job(
        program=compiled.program,
        plan=plan,
        build=compiled.build,
        environment=environment,
        checkpoint=checkpoint,
        lock=lock,
        turns_per_batch=options.batch,
        continuous=options.continuous,
        first_batch=first_batch,
        has_ended=record.get("has_ended", False),
        began=record.get(BEGAN, {}),
        is_metered=plan.signals is None,
    )


def _placed(job: Job, placement: PlacementSettings) -> Job:
    """A job with its placement, whose tasks tell what that has to know."""
    plan = replace(job.plan, meters_groups=placement.moves_groups)
    is_metered = job.is_metered or is_placed(placement, plan)
    return replace(job, placement=placement, plan=plan, is_metered=is_metered)


def finish_job(spark: SparkSession, job: Job) -> None:
    """Let a job that plans nothing any more process what it has begun."""
    with hold_outputs(job.plan.application, job.environment, None):
        run_job(spark, job, None, lambda text: None)


def run_job(
    spark: SparkSession,
    job: Job,
    on_progress: Progress | None,
    notice: Notice,
    seconds: float | None = None,
    stops: Callable[[], int] = lambda: 0,
) -> tuple[int, SinkPE, str]:
    """Run a job that has its checkpoint; how many batches it processed, its sinks, and why it stopped."""
    # Where the files of state lie is found at the start: there may be no Spark any more when the job ends.
    started = start(spark, job, notice)
    sinks, executors = started.sinks, Executors(spark, {})
    batches = 0

    late = LateTuples(notice, job.program.application)

    def tell(progress: dict[str, Any]) -> None:
        nonlocal batches
        batches += 1
        late.look(sinks.totals)
        if on_progress is not None:
            number = job.first_batch + progress["batchId"]
            waited, traffic = started.throttle.waited_seconds, started.status.traffic
            more = {"totals": sinks.totals, "waitedSeconds": waited, "traffic": traffic}
            more["taskSeconds"] = executors.task_seconds()
            more["peSeconds"] = [[job.plan.pes[pe].operators, spent] for pe, spent in started.pe_seconds.items()]
            on_progress({**progress, "batchId": number, **more})

    stopped = "failed"
    try:
        wait = partial(watch, started.query, tell, notice, seconds=seconds, stops=stops, on_stop=started.throttle.stop)
        wait = partial(wait, check=partial(_check, LostCluster.of(spark), started))
        stopped = _watched(started.query, job, wait)
        sinks.check_unwritten()
    finally:
        sinks.close()
        started.status.end(stopped)
        shutil.rmtree(started.files, ignore_errors=True)
    return batches, sinks, stopped


def _check(cluster: LostCluster, started: Started) -> None:
    """See to what the query does not: whether it still has a cluster, and the cores that it shall have."""
    cluster.check()
    started.resizer.when_idle(lambda: bool(started.query.status["isTriggerActive"]))


def _java_of(spark: SparkSession) -> int | None:
    """The process that runs Spark for us, if we have started one."""
    process = getattr(spark.sparkContext._gateway, "proc", None)
    return None if process is None else int(process.pid)


def _watched(query: Any, job: Job, wait: Callable[[], str]) -> str:
    from pyspark.errors import StreamingQueryException

    try:
        return wait()
    except StreamingQueryException as error:
        # One that was taken over may fail in many ways before it comes to write.
        job.lock.check()
        raise in_users_terms(str(error), job.program.application, job.checkpoint) from None
    finally:
        if query.isActive:
            query.stop()


_FAILURE = re.compile(r"OperatorFailed: (?:\S+:\d+:\d+: )?error: (?P<message>[^\n]*)")
_USER_ERROR = re.compile(r"UserError: (?:\S+:\d+:\d+: )?error: (?P<message>[^\n]*)")


def in_users_terms(text: str, application: Application, checkpoint: Path | None = None) -> Exception:
    """The error that a worker raised, out of the text that Spark wraps around it, with the operator's place.

    Args:
        text: What Spark says.
        application: What was running.
        checkpoint: Of the job; what Spark says of a file there is told with the file's name.

    Example:
        >>> wrapped = "Job aborted ... UserError: error: no such file\\n at java.lang"
        >>> in_users_terms(wrapped, Application(name="Main")).args
        ('error: no such file',)
    """
    for pattern in (_FAILURE, _USER_ERROR):
        found = pattern.search(text)
        if found is not None:
            message = found["message"]
            named = [o for o in application.operators if message.startswith(f"operator `{o.id}` (")]
            return UserError(Diagnostic(message=message, span=named[0].span if named else None))
    if "failed to connect back" in text:
        return explain_silence(active_context())
    return _about_checkpoint(text, checkpoint) or RuntimeError(text)


def _about_checkpoint(text: str, checkpoint: Path | None) -> UserError | None:
    """The error for a file of the checkpoint that Spark cannot use; None if the text names none."""
    if checkpoint is None:
        return None
    if "CONCURRENT_STREAM_LOG_UPDATE" in text:
        message = f"another job has written to the checkpoint `{checkpoint}` at the same time"
        return UserError(message, hint="see that there is only one, and start it again")
    # Spark names the folder itself in whatever it says.
    kinds = "metadata|offsets|commits|state|sources"
    found = re.search(rf"{re.escape(str(checkpoint / SPARK_FOLDER))}/({kinds})[^\s,;:'\"`)\]]*", text)
    if found is None:
        return None
    causes = re.findall(r"Caused by: ([^\n]+)", text) or text.splitlines()[:1]
    reason = causes[-1].replace(found[0], "it")[:300]
    message = f"Spark cannot use the file `{found[0].rstrip('.')}` of the checkpoint: {reason}"
    return UserError(message, hint=f"if the disk is full, make space; otherwise {LOST}")
