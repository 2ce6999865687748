"""The part of `penstock run` that runs on Spark."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.output.summary import Summary, in_order_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.cli.engines.rescaling import Rescaling
    from penstock.compiler import CompiledJob, Options
    from penstock.expr.environment import Environment
    from penstock.spark.job.run import SparkRun
    from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """How to run on Spark: the options of the command."""

    master: str
    fusion: str
    plan: Path | None
    channels: int | str | None
    checkpoint: Path | None
    batch: int
    until_done: bool
    continuous: bool
    seconds: float | None
    profile: Path | None = None
    loops: str = "auto"
    take_over: bool = False
    accept_changed_code: bool = False
    relaunches: int = 0
    start_from: Path | None = None
    allow_dropped_state: bool = False
    key_groups: int | None = None


def run_with(program: Program, environment: Environment, settings: SparkSettings) -> Summary:
    """Run a program on Spark as the options say, with progress on standard error."""
    from penstock.cli.engines.rescaling import Rescaling
    from penstock.cli.output.live_progress import live_progress
    from penstock.compiler import compile
    from penstock.spark.job.session import open_session
    from penstock.spark.measure.profiling import keep_profile_of

    _check(program, settings)
    _tell(f"starting Spark at {settings.master}")
    spark = open_session(settings.master)
    checkpoint = settings.checkpoint
    options = _options(program, environment, settings, spark)
    job = compile(program, options)
    folder: Any = tempfile.TemporaryDirectory() if checkpoint is None else nullcontext(checkpoint)
    with folder as place, live_progress(program.application) as on_progress:
        where = Path(place) / "job" if checkpoint is None else checkpoint
        rescaling = Rescaling(where, on_progress)
        outcome = _run(job, spark, settings, where, rescaling)
        while (channels := rescaling.next_channels(outcome)) is not None:
            _tell(f"going on with {channels} channels")
            job = compile(program, replace(options, channels=channels, pes=job.choice.fusion, plan=None))
            outcome = rescaling.add(_run(job, spark, settings, where, rescaling))
    if job.choice.sampling is not None:
        keep_profile_of(outcome, program.application)
    if outcome.stopped != "done":
        _tell(_how_to_resume(checkpoint))
    return _summary(program, job, outcome)


def _run(
    job: CompiledJob, spark: SparkSession, settings: SparkSettings, checkpoint: Path, rescaling: Rescaling
) -> SparkRun:
    """Run a job until it ends, is stopped, or is to have other channels."""
    from penstock.cli.engines.relaunch import run_again
    from penstock.spark.job.run import run_on_spark

    return run_again(
        lambda count: run_on_spark(
            job,
            spark,
            checkpoint=checkpoint,
            seconds=settings.seconds,
            on_progress=rescaling.look,
            notice=_tell,
            stops=rescaling.stops,
            take_over=settings.take_over,
            accept_changed_code=settings.accept_changed_code,
            start_from=settings.start_from,
            allow_dropped_state=settings.allow_dropped_state,
        ),
        settings.relaunches,
        _tell,
    )


def _check(program: Program, settings: SparkSettings) -> None:
    """Tell what is wrong, or will not be done, before the seconds that Spark takes to start.

    Raises:
        UserError: The plan or the profile is of another program, or another process holds the checkpoint.
    """
    from penstock.optimizer import plan_for
    from penstock.optimizer.kept_profiles import profile_for
    from penstock.parallel.pe_demands import unapplied_demands
    from penstock.spark.checkpoint.lock import check_unlocked

    if settings.plan is not None:
        plan_for(program.application, settings.plan)
    if settings.profile is not None:
        profile_for(program.application, settings.profile)
    for warning in unapplied_demands(program.application):
        _tell(f"warning: {warning}")
    if settings.checkpoint is not None and not settings.take_over:
        check_unlocked(settings.checkpoint)


def _options(program: Program, environment: Environment, settings: SparkSettings, spark: SparkSession) -> Options:
    from penstock.compiler import Options
    from penstock.runtime.sources.following import goes_on
    from penstock.spark.job.session import cores_of
    from penstock.spark.measure.profiling import measure_shortly

    return Options(
        environment=environment,
        channels=settings.channels,
        fusion=settings.fusion,
        plan=settings.plan,
        loops=settings.loops,
        profile=settings.profile,
        batch=settings.batch,
        checkpoint=settings.checkpoint,
        key_groups=settings.key_groups,
        cores=cores_of(spark),
        continuous=goes_on(
            program,
            environment,
            until_done=settings.until_done,
            continuous=settings.continuous,
            seconds=settings.seconds,
        ),
        tell=_tell,
        measure=lambda job: measure_shortly(job, spark),
    )


def _tell(text: str) -> None:
    click.echo(text, err=True)


def _summary(program: Program, job: CompiledJob, outcome: SparkRun) -> Summary:
    from penstock.reference.result import DEAD_LETTERS

    totals = outcome.totals
    return Summary(
        application=program.application.name,
        engine="spark",
        stopped=outcome.stopped,
        seconds=outcome.seconds,
        received=in_order_of(program.application, totals.received),
        submitted=in_order_of(program.application, totals.submitted),
        rejected=totals.rejected,
        dead_letters_file=job.options.environment.output_directory / DEAD_LETTERS if totals.rejected else None,
        late=totals.late,
        more={
            "batches": outcome.batches,
            "resumed": outcome.resumed,
            "pes": [list(pe) for pe in outcome.pes],
            "fusion": job.facts(),
        },
    )


def _how_to_resume(checkpoint: Path | None) -> str:
    if checkpoint is None:
        return "it cannot be resumed: its state was not kept; give --checkpoint DIR to keep it"
    return f"to resume, run the same command again, with --checkpoint {checkpoint}"
