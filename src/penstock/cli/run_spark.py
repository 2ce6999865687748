"""The part of `penstock run` that runs on Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.summary import Summary

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
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


def run_with(program: Program, environment: Environment, settings: SparkSettings) -> Summary:
    """Run a program on Spark as the options say, with progress on standard error."""
    from penstock.cli.channel_choice import chosen_channels
    from penstock.cli.fusion_choice import chosen_fusion, cores_of
    from penstock.cli.fusion_names import AUTO
    from penstock.cli.live import live_progress
    from penstock.cli.loop_choice import chosen_way
    from penstock.cli.short_profile import keep_profile_of
    from penstock.optimizer import plan_for
    from penstock.optimizer.kept_profiles import profile_for
    from penstock.parallel.pe_demands import unapplied_demands
    from penstock.reference.result import DEAD_LETTERS
    from penstock.spark.checkpoint.lock import check_unlocked
    from penstock.spark.job.run import run_on_spark
    from penstock.spark.job.session import open_session

    if settings.plan is not None:
        # What is wrong with it is told before the seconds that Spark takes to start.
        plan_for(program.application, settings.plan)
    if settings.profile is not None:
        profile_for(program.application, settings.profile)
    for warning in unapplied_demands(program.application):
        click.echo(f"warning: {warning}", err=True)
    if settings.checkpoint is not None and not settings.take_over:
        check_unlocked(settings.checkpoint)
    click.echo(f"starting Spark at {settings.master}", err=True)
    spark = open_session(settings.master)
    checkpoint = settings.checkpoint

    def tell(text: str) -> None:
        click.echo(text, err=True)

    continuous = _is_continuous(program, environment, settings)
    # Then the fusion is chosen with the channels; otherwise for them.
    is_free = settings.fusion == AUTO and settings.plan is None and not isinstance(settings.channels, int)
    way = chosen_way(
        program.application,
        # `optimize` measures with the loop inside, so a plan says nothing of it.
        "inside" if settings.plan is not None and settings.loops == "auto" else settings.loops,
        channels=None
        if is_free
        else chosen_channels(program, environment, spark, settings.channels, checkpoint, tell, batch=settings.batch),
        chooses_channels=is_free or settings.channels == AUTO,
        cores=cores_of(spark),
        continuous=continuous,
        batch=settings.batch,
        profile=settings.profile,
        checkpoint=checkpoint,
        tell=tell,
    )
    choice = chosen_fusion(
        program,
        environment,
        spark,
        option=settings.fusion,
        plan=settings.plan,
        channels=settings.channels if is_free and way.channels is None else way.channels,
        batch=settings.batch,
        profile=settings.profile,
        checkpoint=checkpoint,
        loop_is_open=way.is_open,
        tell=tell,
    )
    folder: Any = tempfile.TemporaryDirectory() if checkpoint is None else nullcontext(checkpoint)
    with folder as place, live_progress(program.application) as on_progress:
        outcome = run_on_spark(
            program,
            spark,
            fusion=choice.fusion,
            environment=environment,
            checkpoint=Path(place) / "job" if checkpoint is None else checkpoint,
            channels=choice.channels,
            signals=choice.sampling,
            turns_per_batch=settings.batch,
            continuous=continuous,
            seconds=settings.seconds,
            on_progress=on_progress,
            notice=tell,
            open_loop=way.is_open,
            take_over=settings.take_over,
            accept_changed_code=settings.accept_changed_code,
        )
    if choice.sampling is not None:
        keep_profile_of(outcome, program.application)
    if outcome.stopped != "done":
        click.echo(_how_to_resume(checkpoint), err=True)
    letters = environment.output_directory / DEAD_LETTERS if outcome.totals.rejected else None
    return Summary(
        application=program.application.name,
        engine="spark",
        stopped=outcome.stopped,
        seconds=outcome.seconds,
        received=_in_order(outcome.totals.received, program),
        submitted=_in_order(outcome.totals.submitted, program),
        rejected=outcome.totals.rejected,
        dead_letters_file=letters,
        late=outcome.totals.late,
        more={
            "batches": outcome.batches,
            "resumed": outcome.resumed,
            "pes": [list(pe) for pe in outcome.pes],
            "fusion": {
                "option": "plan" if settings.plan is not None else settings.fusion,
                "channels": choice.channels,
                "decided_by": choice.decided_by,
                "reason": choice.reason,
                "predicted_gain": choice.predicted_gain,
            },
        },
    )


def _is_continuous(program: Program, environment: Environment, settings: SparkSettings) -> bool:
    """Whether the run goes on when its sources have no more for now."""
    from penstock.spark.job.following import can_follow, can_have_more

    if settings.until_done or settings.continuous:
        return settings.continuous
    if settings.seconds is not None:
        return can_follow(program, environment)
    return can_have_more(program.application, environment)


def _in_order(counts: Mapping[str, Sequence[int]], program: Program) -> dict[str, Sequence[int]]:
    """Counts in the order of declaration; PEs report as they end."""
    return {o.id: counts[o.id] for o in program.application.operators if o.id in counts}


def _how_to_resume(checkpoint: Path | None) -> str:
    if checkpoint is None:
        return "it cannot be resumed: its state was not kept; give --checkpoint DIR to keep it"
    return f"to resume, run the same command again, with --checkpoint {checkpoint}"
