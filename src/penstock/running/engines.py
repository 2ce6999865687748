"""The engines by name, and a run on one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.expr.environment import Environment
from penstock.running.handle import Control, Outcome, Run, Work
from penstock.running.inputs import bring_inputs
from penstock.running.on_local import prepare_on_local
from penstock.running.on_reference import prepare_on_reference
from penstock.running.on_spark import prepare_on_spark
from penstock.running.options import RunOptions, make_options
from penstock.runtime.verify.verify_models import verify_some
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from penstock.api.application import App

Prepare = Callable[[Program, RunOptions, Environment], Work]
"""Checks what can be checked at once, and returns what is left to do in the background."""

ENGINES: Mapping[str, Prepare] = {
    "spark": prepare_on_spark,
    "local": prepare_on_local,
    "reference": prepare_on_reference,
}


def run(app: App, given: Mapping[str, Any]) -> Run:
    """Run an application in the background.

    Raises:
        UserError: The application is not complete, or an option is wrong.
    """
    options = make_options(given)
    return start(app.program(), options)


def start(program: Program, options: RunOptions) -> Run:
    """Start a program on the engine that the options name; Python operators are checked on their first tuples."""
    with ExitStack() as stack:
        folder = options.checkpoint or Path(stack.enter_context(TemporaryDirectory(prefix="penstock-inputs-")))
        brought = bring_inputs(program, options.inputs, options.engine, folder)
        work = prepare(verify_some(brought), options)
        rest = stack.pop_all()

    def work_and_clear(control: Control) -> Outcome:
        with rest:
            return work(control)

    return Run(program.application.name, options.engine, work_and_clear)


def prepare(program: Program, options: RunOptions, environment: Environment | None = None) -> Work:
    """The work of the engine that the options name; in the environment that follows from them if none is given.

    Raises:
        UserError: There is no such engine, or it cannot run the program so.
    """
    by_engine = ENGINES.get(options.engine)
    if by_engine is None:
        hint = did_you_mean(options.engine, ENGINES) or f"the engines are {', '.join(ENGINES)}"
        raise UserError(f"there is no engine `{options.engine}`", hint=hint)
    return by_engine(program, options, environment or options.environment(program))
