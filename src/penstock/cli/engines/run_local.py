"""The part of `penstock run` that runs in this process, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.base.diagnostics import UserError
from penstock.cli.output.summary import Summary, in_order_of
from penstock.compiler.fusion_names import AUTO, WITHOUT_COSTS

if TYPE_CHECKING:
    from penstock.compiler import CompiledJob
    from penstock.expr.environment import Environment
    from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """How to run in this process: the options of the command."""

    fusion: str
    plan: Path | None
    channels: int | str | None
    loops: str
    batch: int
    until_done: bool
    continuous: bool
    seconds: float | None


def run_in_process(program: Program, environment: Environment, settings: LocalSettings) -> Summary:
    """Run a program in this process as the options say, with progress on standard error."""
    from penstock.cli.output.live_progress import live_progress
    from penstock.local import run_locally
    from penstock.reference.result import DEAD_LETTERS

    job = _compile(program, environment, settings)
    with live_progress(job.program.application) as on_progress:
        outcome = run_locally(
            job, seconds=settings.seconds, on_progress=on_progress, notice=lambda text: click.echo(text, err=True)
        )
    return Summary(
        application=program.application.name,
        engine="local",
        stopped=outcome.stopped,
        seconds=outcome.seconds,
        received=in_order_of(program.application, outcome.totals.received),
        submitted=in_order_of(program.application, outcome.totals.submitted),
        rejected=outcome.totals.rejected,
        dead_letters_file=environment.output_directory / DEAD_LETTERS if outcome.totals.rejected else None,
        late=outcome.totals.late,
        more={"batches": outcome.batches, "pes": [list(pe) for pe in outcome.pes]},
    )


def _compile(program: Program, environment: Environment, settings: LocalSettings) -> CompiledJob:
    from penstock.compiler import Options, compile
    from penstock.local.local_options import fit_to_process
    from penstock.local.local_sinks import check_operators
    from penstock.runtime.sources.following import goes_on

    check_operators(program.application)
    if settings.plan is None and settings.fusion not in (AUTO, *WITHOUT_COSTS):
        hint = f"the local engine takes auto, {', '.join(WITHOUT_COSTS)}, or a plan with --plan"
        raise UserError(f"`--fusion {settings.fusion}` weighs the costs of a cluster", hint=hint)
    options = Options(
        environment=environment,
        channels=settings.channels,
        fusion=settings.fusion,
        plan=settings.plan,
        loops=settings.loops,
        batch=settings.batch,
        continuous=goes_on(
            program,
            environment,
            until_done=settings.until_done,
            continuous=settings.continuous,
            seconds=settings.seconds,
        ),
    )
    return compile(program, fit_to_process(options))
