"""The part of `penstock run` that runs on the reference interpreter."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from penstock.cli.engines.together import check_exchange
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
