"""The tuples of a stream, brought into Python: `stream.collect()` and `stream.show()`.

Only what the stream is made of runs: no other sink writes anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.api.rows import row_maker
from penstock.ir.graph import Application
from penstock.reference import run as run_programs
from penstock.reference.engine import Engine
from penstock.reference.result import StopReason
from penstock.running.options import make_options
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from penstock.api.streams import Stream


def collect(stream: Stream, limit: int | None, given: Mapping[str, Any]) -> list[Any]:
    """The tuples of a stream, in order, as rows; the first so many if there is a limit."""
    program = upstream(stream.app.program(), stream.id)
    options = make_options(given)
    make = row_maker(stream.schema)
    return [make(tuple_) for tuple_ in _on_reference(program, stream.id, limit, options.environment(program))]


def _on_reference(program: Program, stream: str, limit: int | None, environment: Any) -> list[Any]:
    engines: list[Engine] = []
    kept: list[Any] = []

    def keep(id_: str, item: Any) -> None:
        if id_ == stream and isinstance(item, tuple) and (limit is None or len(kept) < limit):
            kept.append(item)
            if len(kept) == limit:
                engines[0].stop(StopReason.TUPLES)

    if limit is None or limit > 0:
        run_programs(program, environment=environment, on_tuple=keep, watch=engines.append)
    return kept


def upstream(program: Program, stream: str) -> Program:
    """The program without the operators that a stream does not depend on."""
    application = program.application
    wanted: dict[str, None] = {}
    waiting = [application.streams[stream].operator]
    while waiting:
        id_ = waiting.pop()
        if id_ not in wanted:
            wanted[id_] = None
            ports = application.operator[id_].inputs
            waiting.extend(application.streams[s].operator for port in ports for s in port.streams)
    kept = Application(
        name=application.name,
        operators=tuple(o for o in application.operators if o.id in wanted),
        functions=application.functions,
        constraints=tuple(c for c in application.constraints if wanted.keys() >= set(c.operators)),
    )
    return replace(program, application=kept)


def show(stream: Stream, n: int, given: Mapping[str, Any]) -> None:
    """Print the first tuples of a stream as a table."""
    from rich.console import Console
    from rich.table import Table

    rows = collect(stream, n + 1, given)
    table = Table(*stream.schema.names)
    for row in rows[:n]:
        table.add_row(*map(_cell, row))
    console = Console()
    console.print(table)
    if len(rows) > n:
        console.print(f"the first {n}; there are more")


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
