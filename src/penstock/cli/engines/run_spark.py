"""The part of `penstock run` that runs on Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from penstock.cli.engines.settings import RunSettings, summarize
from penstock.cli.output.summary import Summary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.compiler import Options
    from penstock.expr.environment import Environment
    from penstock.spark.placement.placement_settings import PlacementSettings
    from penstock.toolkit.core.program import Program


@dataclass(frozen=True, kw_only=True)
class Among:
    """How a job runs among others that run at once.

    Attributes:
        spark: The session that it runs in.
        asked: How often the user has asked all of them to stop.
        has_begun: Is set when its query runs.
    """

    spark: SparkSession
    asked: Callable[[], int]
    has_begun: Event = field(default_factory=Event)

    def stops(self) -> int:
        """How often the user has asked to stop; whoever watches a query asks as soon as it runs."""
        self.has_begun.set()
        return self.asked()


def run_with(program: Program, environment: Environment, settings: RunSettings, among: Among | None = None) -> Summary:
    """Run a program on Spark as the options say, with progress on standard error."""
    from penstock.cli.engines.relaunch import run_again
    from penstock.cli.output.live_progress import live_progress, progress_lines
    from penstock.running.on_spark import keep_state
    from penstock.spark.job.rescaling import run_program
    from penstock.spark.job.session import ON_PLACES, open_session
    from penstock.spark.measure.profiling import keep_profile_of

    _check(program, settings)
    if among is None:
        _tell(f"starting Spark at {settings.master}")
    places = {} if settings.placement == "spark" else ON_PLACES
    spark = open_session(settings.master, **places) if among is None else among.spark
    progress = live_progress if among is None else progress_lines
    with keep_state(settings.checkpoint) as checkpoint, progress(program.application) as on_progress:
        job, outcome = run_program(
            program,
            _options(program, environment, settings, spark),
            spark,
            checkpoint=checkpoint,
            on_progress=settings.tell_all(program.application.name, on_progress),
            notice=_tell,
            stops=(lambda: 0) if among is None else among.stops,
            again=lambda run: run_again(lambda count: run(), settings.relaunches, _tell),
            seconds=settings.seconds,
            take_over=settings.take_over,
            accept_changed_code=settings.accept_changed_code,
            start_from=settings.start_from,
            allow_dropped_state=settings.allow_dropped_state,
            state_limit=settings.state_limit,
            placement=_placement(settings),
        )
    keep_profile_of(job, outcome, program.application)
    if outcome.stopped != "done":
        _tell(_how_to_resume(settings.checkpoint))
    pes = [list(pe) for pe in outcome.pes]
    return summarize(program, environment, "spark", outcome, resumed=outcome.resumed, pes=pes, fusion=job.facts())


def _placement(settings: RunSettings) -> PlacementSettings:
    """How to place, with what is known of the hosts: by the file of hosts, or as `penstock cluster` has made them."""
    from penstock.model import read_hosts
    from penstock.spark.placement.placement_settings import settings_on

    wanted = replace(
        settings_on(settings.master),
        algorithm=settings.placement,
        reschedule_seconds=settings.reschedule,
        moves_groups=settings.tables == "measured",
    )
    if settings.hosts is None:
        return wanted
    hosts = read_hosts(settings.hosts).hosts
    return replace(
        wanted,
        racks={host.id: host.rack for host in hosts},
        tags={host.id: host.tags for host in hosts},
        link_bytes=min([host.link_bytes for host in hosts if isfinite(host.link_bytes)], default=wanted.link_bytes),
    )


def _check(program: Program, settings: RunSettings) -> None:
    """Tell what is wrong, or will not be done, before the seconds that Spark takes to start.

    Raises:
        UserError: The plan or the profile is of another program, or another process holds the checkpoint.
    """
    from penstock.model import read_hosts
    from penstock.optimizer import plan_for
    from penstock.optimizer.kept_profiles import profile_for
    from penstock.parallel.pe_demands import unapplied_demands
    from penstock.spark.checkpoint.lock import check_unlocked

    if settings.hosts is not None:
        read_hosts(settings.hosts)
    if settings.plan is not None:
        plan_for(program.application, settings.plan)
    if settings.profile is not None:
        profile_for(program.application, settings.profile)
    for warning in unapplied_demands(program.application, has_hosts=not settings.master.startswith("local")):
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
        measure=partial(measure_shortly, spark=spark),
    )


def _tell(text: str) -> None:
    click.echo(text, err=True)


def _how_to_resume(checkpoint: Path | None) -> str:
    if checkpoint is None:
        return "it cannot be resumed: its state was not kept; give --checkpoint DIR to keep it"
    return f"to resume, run the same command again, with --checkpoint {checkpoint}"
