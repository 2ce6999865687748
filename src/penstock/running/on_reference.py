"""Runs an application on the reference interpreter."""

from __future__ import annotations

from penstock.expr.environment import Environment
from penstock.reference import run as run_programs
from penstock.reference.engine import Engine
from penstock.reference.result import StopReason
from penstock.running.handle import Control, Outcome, Work
from penstock.running.options import RunOptions
from penstock.runtime.pes.reports import count_late
from penstock.toolkit.core.program import Program
from penstock.toolkit.files.output_locks import hold_outputs


def prepare_on_reference(program: Program, options: RunOptions, environment: Environment) -> Work:
    """A run to the end, or until it is stopped; `seconds` are those of the application's own time.

    Raises:
        UserError: An option is about state that outlives a run.
    """
    names = ("start_from", "allow_dropped_state", "accept_changed_code", "key_groups", "state_limit")
    options.refuse("reference", "begins at the beginning", names)
    return lambda control: _run(program, options, environment, control)


def _run(program: Program, options: RunOptions, environment: Environment, control: Control) -> Outcome:
    def watch(engine: Engine) -> None:
        control.ask = lambda: engine.stop(StopReason.INTERRUPTED)
        if control.stops:
            control.ask()

    limit_ns = None if options.seconds is None else round(options.seconds * 1e9)
    with hold_outputs(program.application, environment):
        result = run_programs(program, environment=environment, max_time_ns=limit_ns, watch=watch)
    result.write_dead_letters(environment.output_directory)
    return Outcome(
        stopped=result.stopped.value,
        received=result.received,
        submitted=result.submitted,
        rejected=result.rejected,
        late=count_late(program.application, result.submitted),
        expired=result.expired,
    )
