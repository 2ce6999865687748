"""Runs an application in this process, without Spark."""

from __future__ import annotations

from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.compiler import CompiledJob, Options, compile
from penstock.compiler.fusion_names import AUTO, WITHOUT_COSTS
from penstock.expr.environment import Environment
from penstock.local.local_options import fit_to_process
from penstock.local.local_sinks import check_operators
from penstock.local.run import run_locally
from penstock.running.handle import Control, Outcome, Work
from penstock.running.options import RunOptions, goes_on, tell_warnings
from penstock.runtime.savepoints.job_state import JobState
from penstock.toolkit.core.program import Program


def prepare_on_local(program: Program, options: RunOptions, environment: Environment) -> Work:
    """Compile, at once; the job runs in the background.

    Raises:
        UserError: The program or an option needs Spark.
    """
    if options.checkpoint is not None or options.spark is not None:
        name = "checkpoint" if options.spark is None else "spark"
        raise UserError(f"`{name}` is for Spark: the local engine keeps nothing and needs no session")
    options.refuse("local", "keeps nothing", ["key_groups", "state_limit"])
    if options.fusion not in (AUTO, *WITHOUT_COSTS):
        hint = f"the local engine takes {AUTO}, {', '.join(WITHOUT_COSTS)}"
        raise UserError(f"`fusion={options.fusion!r}` weighs the costs of a cluster", hint=hint)
    check_operators(program.application)
    given = Options(
        environment=environment,
        channels=options.channels,
        fusion=options.fusion,
        batch=options.batch,
        continuous=goes_on(program, environment, options),
    )
    job = compile(program, fit_to_process(given))
    start = None if options.start_from is None else _read_start(job, options.start_from, options)
    return lambda control: _run(job, options, start, control)


def _read_start(job: CompiledJob, folder: Path, options: RunOptions) -> JobState:
    from penstock.running.savepoint_start import read_start

    return read_start(
        job,
        folder,
        accept_changed_code=options.accept_changed_code,
        allow_dropped_state=options.allow_dropped_state,
        notice=tell_warnings,
    )


def _run(job: CompiledJob, options: RunOptions, start: JobState | None, control: Control) -> Outcome:
    run = run_locally(
        job,
        seconds=options.seconds,
        on_progress=control.look,
        notice=tell_warnings,
        is_stopped=lambda: control.stops > 0,
        start=start,
    )
    return Outcome.of(run)
