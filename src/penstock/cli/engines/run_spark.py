"""The part of `penstock run` that runs on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.engines.settings import RunSettings, summarize
from penstock.cli.output.summary import Summary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.compiler import CompiledJob, Options
    from penstock.expr.environment import Environment
    from penstock.running.rescaling import Rescaling
    from penstock.spark.job.run import SparkRun
    from penstock.toolkit.core.program import Program


def run_with(program: Program, environment: Environment, settings: RunSettings) -> Summary:
    """Run a program on Spark as the options say, with progress on standard error."""
    from penstock.cli.output.live_progress import live_progress
    from penstock.running.on_spark import keep_state
    from penstock.running.rescaling import Rescaling, run_rescaling
    from penstock.spark.job.session import open_session
    from penstock.spark.measure.profiling import keep_profile_of

    _check(program, settings)
    _tell(f"starting Spark at {settings.master}")
    spark = open_session(settings.master)
    options = _options(program, environment, settings, spark)
    with keep_state(settings.checkpoint) as checkpoint, live_progress(program.application) as on_progress:
        rescaling = Rescaling(checkpoint, on_progress)
        job, outcome = run_rescaling(
            program, options, lambda job: _run(job, spark, settings, checkpoint, rescaling), rescaling, _tell
        )
    keep_profile_of(job, outcome, program.application)
    if outcome.stopped != "done":
        _tell(_how_to_resume(settings.checkpoint))
    pes = [list(pe) for pe in outcome.pes]
    return summarize(program, environment, "spark", outcome, resumed=outcome.resumed, pes=pes, fusion=job.facts())


def _run(
    job: CompiledJob, spark: SparkSession, settings: RunSettings, checkpoint: Path, rescaling: Rescaling
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


def _check(program: Program, settings: RunSettings) -> None:
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


def _options(program: Program, environment: Environment, settings: RunSettings, spark: SparkSession) -> Options:
    from penstock.spark.job.session import cores_of
    from penstock.spark.measure.profiling import measure_shortly

    return settings.for_compiler(
        program,
        environment,
        profile=settings.profile,
        checkpoint=settings.checkpoint,
        key_groups=settings.key_groups,
        cores=cores_of(spark),
        tell=_tell,
        measure=lambda job: measure_shortly(job, spark),
    )


def _tell(text: str) -> None:
    click.echo(text, err=True)


def _how_to_resume(checkpoint: Path | None) -> str:
    if checkpoint is None:
        return "it cannot be resumed: its state was not kept; give --checkpoint DIR to keep it"
    return f"to resume, run the same command again, with --checkpoint {checkpoint}"
