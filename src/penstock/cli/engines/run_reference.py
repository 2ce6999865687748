"""The part of `penstock run` that runs on the reference interpreter."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from penstock.base.diagnostics import Diagnostic, UserError
from penstock.cli.engines.exchanged_streams import Exchange
from penstock.cli.output.summary import Summary
from penstock.reference import StopReason, run
from penstock.runtime.pes.reports import count_late
from penstock.runtime.sources.endless import endless_sources
from penstock.toolkit.files.output_locks import hold_outputs

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.reference.engine import Engine
    from penstock.toolkit.core.program import Program


PROGRESS_SECONDS = 3.0
STILL_SECONDS = 10.0


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
        result = run(programs, environment=environment, max_time_ns=limit_ns, watch=_watch(programs, seconds))
    return Summary(
        application=", ".join(program.application.name for program in programs),
        engine="reference",
        stopped=result.stopped.value,
        seconds=time.perf_counter() - started,
        received=result.received,
        submitted=result.submitted,
        rejected=result.rejected,
        late=_count_late(programs, result.submitted),
        expired=result.expired,
        dead_letters_file=result.write_dead_letters(environment.output_directory),
        more={"metrics": dict(result.metrics)},
    )


def _count_late(programs: Sequence[Program], submitted: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The tuples that came too late, by operator; several programs have names before the ids."""
    return {
        id_: count
        for program in programs
        for prefix in ("", f"{program.application.name}.")
        for id_, count in count_late(program.application, submitted, prefix).items()
    }


def _watch(programs: Sequence[Program], seconds: float | None) -> Callable[[Engine], None]:
    """Show how far a run is, and end one that would never come to its limit, because no time passes in it."""
    has_no_end = any(True for program in programs for _ in endless_sources(program.application))

    def watch(engine: Engine) -> None:
        _show_progress(engine)
        if seconds is not None and has_no_end:
            _stop_where_time_stands_still(engine, seconds)

    return watch


def _stop_where_time_stands_still(engine: Engine, seconds: float) -> None:
    """Stop a run whose time has not moved since it began, or not for a while."""

    def watch() -> None:
        before_ns, pause = engine.clock.now_ns, seconds
        while engine.stopped is None:
            time.sleep(pause)
            if engine.clock.now_ns == before_ns:
                engine.stop(StopReason.TIME)
            before_ns, pause = engine.clock.now_ns, max(seconds, STILL_SECONDS)

    threading.Thread(target=watch, daemon=True).start()


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
    exchange = Exchange(programs, environment)
    folder = os.environ.get("PENSTOCK_STREAMS")
    for _, operator, _ in (*exchange.exports, *exchange.imports):
        if folder:
            message = f"`{operator.id}`: the reference interpreter does not use the streams in `{folder}`"
            raise UserError(Diagnostic(message=message, span=operator.span, hint=f"leave out --streams; {_TOGETHER}"))
    for operator in exchange.unfed:
        message = f"Import `{operator.id}` takes none of the streams that this run exports"
        raise UserError(Diagnostic(message=message, span=operator.span, hint=_TOGETHER))
