"""The part of `penstock run` that runs on the reference interpreter."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from penstock.base.diagnostics import Diagnostic, UserError
from penstock.cli.output.summary import Summary
from penstock.reference import run
from penstock.toolkit.files.output_locks import hold_outputs

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.reference.engine import Engine
    from penstock.toolkit.core.program import Program


PROGRESS_SECONDS = 3.0


def run_on_reference(
    programs: Sequence[Program], given: Environment, seconds: float | None, relaunches: int = 0
) -> Summary:
    """Run programs together on the reference interpreter, after so many relaunches."""

    # Without checkpoints a relaunch begins at the beginning, as a region of SPL does that was not yet consistent.
    environment = replace(given.renewed(), relaunch_count=relaunches)
    started = time.perf_counter()
    limit_ns = None if seconds is None else round(seconds * 1e9)
    check_exchange(programs, environment)
    with ExitStack() as held:
        for program in programs:
            held.enter_context(hold_outputs(program.application, environment))
        result = run(programs, environment=environment, max_time_ns=limit_ns, watch=_show_progress)
    return Summary(
        application=", ".join(program.application.name for program in programs),
        engine="reference",
        stopped=result.stopped.value,
        seconds=time.perf_counter() - started,
        received=result.received,
        submitted=result.submitted,
        rejected=result.rejected,
        dead_letters_file=result.write_dead_letters(environment.output_directory),
        more={"metrics": dict(result.metrics)},
    )


def _show_progress(engine: Engine) -> None:
    """On a terminal, say every few seconds how far the sources are."""
    if not sys.stderr.isatty():
        return

    start_ns = engine.clock.now_ns

    def report() -> None:
        while True:
            time.sleep(PROGRESS_SECONDS)
            time_s = (engine.clock.now_ns - start_ns) / 1e9
            click.echo(f"{engine.source_tuples:,} tuples from the sources, at {time_s:,.1f} s", err=True)

    threading.Thread(target=report, daemon=True).start()


_TOGETHER = "give the exporting application too with `--with`, or run both on Spark with the same --streams"


def check_exchange(programs: Sequence[Program], environment: Environment) -> None:
    """Refuse streams that nobody would bring: an Import gets what the applications of the run export, and no more.

    Raises:
        UserError: Streams are to come from a folder, or an Import takes none of the streams of this run.
    """
    from penstock.expr.evaluate import Evaluator
    from penstock.toolkit.adapters.import_ import offer_of, wanted_by

    evaluators = [Evaluator(functions=p.application.functions, environment=environment) for p in programs]
    operators = [
        (p.application, o, e) for p, e in zip(programs, evaluators, strict=True) for o in p.application.operators
    ]
    exports = [(a, o, e) for a, o, e in operators if o.model.facts.exports]
    imports = [(o, e) for _, o, e in operators if o.model.facts.imports]
    folder = os.environ.get("PENSTOCK_STREAMS")
    for operator in [o for _, o, _ in exports] + [o for o, _ in imports]:
        if folder:
            message = f"`{operator.id}`: the reference interpreter does not use the streams in `{folder}`"
            raise UserError(Diagnostic(message=message, span=operator.span, hint=f"leave out --streams; {_TOGETHER}"))
    offers = [offer_of(operator, application.name, evaluator) for application, operator, evaluator in exports]
    for operator, evaluator in imports:
        wanted = wanted_by(operator, evaluator)
        if not any(wanted.may_take(offer) for offer in offers):
            message = f"Import `{operator.id}` takes none of the streams that this run exports"
            raise UserError(Diagnostic(message=message, span=operator.span, hint=_TOGETHER))
