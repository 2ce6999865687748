"""The part of `penstock run` that runs in this process, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.base.diagnostics import UserError
from penstock.cli.engines.settings import RunSettings, summarize
from penstock.cli.output.summary import Summary
from penstock.compiler.fusion_names import AUTO, WITHOUT_COSTS

if TYPE_CHECKING:
    from penstock.compiler import CompiledJob
    from penstock.expr.environment import Environment
    from penstock.runtime.savepoints.job_state import JobState
    from penstock.toolkit.core.program import Program


def run_in_process(program: Program, given: Environment, settings: RunSettings, relaunches: int = 0) -> Summary:
    """Run a program in this process as the options say, after so many relaunches, with progress on standard error."""
    from penstock.cli.output.live_progress import live_progress
    from penstock.local import run_locally

    # No state is kept, so a relaunch begins where the first launch did.
    environment = replace(given.renewed(), relaunch_count=relaunches)
    job = _compile(program, environment, settings)
    start = None if settings.start_from is None else _read_start(job, settings.start_from, settings)
    with live_progress(job.program.application) as on_progress:
        told = settings.tell_all(job.program.application.name, on_progress)
        run = run_locally(job, seconds=settings.seconds, on_progress=told, notice=_tell, start=start)
    return summarize(program, environment, "local", run, pes=[list(pe) for pe in run.pes])


def _read_start(job: CompiledJob, folder: Path, settings: RunSettings) -> JobState:
    from penstock.running.savepoint_start import read_start

    return read_start(
        job,
        folder,
        accept_changed_code=settings.accept_changed_code,
        allow_dropped_state=settings.allow_dropped_state,
        notice=_tell,
    )


def _tell(text: str) -> None:
    click.echo(text, err=True)


def _compile(program: Program, environment: Environment, settings: RunSettings) -> CompiledJob:
    from penstock.compiler import compile
    from penstock.local.local_options import fit_to_process
    from penstock.local.local_sinks import check_operators

    check_operators(program.application)
    if settings.plan is None and settings.fusion not in (AUTO, *WITHOUT_COSTS):
        hint = f"the local engine takes auto, {', '.join(WITHOUT_COSTS)}, or a plan with --plan"
        raise UserError(f"`--fusion {settings.fusion}` weighs the costs of a cluster", hint=hint)
    return compile(program, fit_to_process(settings.for_compiler(program, environment)))
