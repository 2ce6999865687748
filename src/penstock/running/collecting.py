"""The tuples of a stream, brought into Python: `stream.collect()` and `stream.show()`.

Only what the stream is made of runs, with a sink behind it that keeps its tuples: no other sink writes anything. Every
engine runs its sinks in this process, so the tuples need no way back.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.api.operators import definition_of
from penstock.base.diagnostics import Diagnostics, UserError
from penstock.ir.graph import Application, InputPort
from penstock.running.engines import start
from penstock.running.handle import Run
from penstock.running.options import make_options
from penstock.toolkit.core.invoke import invoke
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from penstock.api.streams import Stream

ENGINE = "local"
"""The engine of `collect` and `show` unless another is given: it starts at once."""


class Collection:
    """The tuples that have been collected, up to a limit."""

    def __init__(self, limit: int | None) -> None:
        self.rows: list[Any] = []
        self._limit = limit
        self._run: Run | None = None

    def take(self, row: Any) -> None:
        """Keep a tuple; with the last one that is wanted the run is stopped."""
        if not self._is_full():
            self.rows.append(row)
            self._stop_if_full()

    def wait(self, run: Run) -> list[Any]:
        """The rows, when the run is over."""
        self._run = run
        # It may have given all that is wanted before we had its handle.
        self._stop_if_full()
        run.wait()
        return self.rows

    def _is_full(self) -> bool:
        return self._limit is not None and len(self.rows) >= self._limit

    def _stop_if_full(self) -> None:
        if self._run is not None and self._is_full():
            self._run.stop()


_COLLECTIONS: dict[str, Collection] = {}
"""By a name that goes with the sink's function, which may be copied on its way to the engine."""


def take_row(collection: str, row: Any) -> None:
    """Put a row into a collection; a function of this module, so that a copy of the sink finds the collection here."""
    _COLLECTIONS[collection].take(row)


def collect(stream: Stream, limit: int | None, given: Mapping[str, Any]) -> list[Any]:
    """The tuples of a stream, in order, as rows; the first so many if there is a limit."""
    if limit is not None and (not isinstance(limit, int) or limit < 0):
        raise UserError(f"the number of tuples to collect is 0 or more, found {limit!r}")
    # A run stops at the end of a batch: where few tuples are wanted, batches are small.
    small = {} if limit is None else {"batch": 1000 + limit}
    options = make_options({"engine": ENGINE, **small, **given})
    with collecting(upstream(stream.app.program(), stream.id), stream.id, limit) as (program, collection):
        return [] if limit == 0 else collection.wait(start(program, options))


@contextmanager
def collecting(program: Program, stream: str, limit: int | None = None) -> Iterator[tuple[Program, Collection]]:
    """The program with a sink behind a stream, and what that sink has collected."""
    name = uuid.uuid4().hex
    _COLLECTIONS[name] = Collection(limit)

    def keep(row: Any) -> None:
        take_row(name, row)

    try:
        yield with_sink(program, stream, keep), _COLLECTIONS[name]
    finally:
        del _COLLECTIONS[name]


def with_sink(program: Program, stream: str, function: Callable[[Any], None]) -> Program:
    """The program with a sink behind a stream, that calls a function for each tuple."""
    taken = {*program.application.operator, *program.registry.names()}
    name = next(id_ for n in range(len(taken) + 1) if (id_ := f"Collected{n or ''}") not in taken)
    definition = definition_of(function, role="sink", name=name)
    found = Diagnostics()
    port = InputPort(streams=(stream,), schema=program.application.streams[stream].schema)
    operator = invoke(definition, id=name, inputs=[port], outputs=[], found=found)
    found.raise_if_any()
    assert operator is not None
    application = replace(program.application, operators=(*program.application.operators, operator))
    return replace(program, application=application, registry=program.registry.extended([definition]))


def upstream(program: Program, stream: str) -> Program:
    """The program without the operators that a stream does not depend on."""
    application = program.application
    wanted: set[str] = set()
    waiting = [application.streams[stream].operator]
    while waiting:
        id_ = waiting.pop()
        if id_ not in wanted:
            wanted.add(id_)
            ports = application.operator[id_].inputs
            waiting.extend(application.streams[s].operator for port in ports for s in port.streams)
    kept = Application(
        name=application.name,
        operators=tuple(o for o in application.operators if o.id in wanted),
        functions=application.functions,
        constraints=tuple(c for c in application.constraints if wanted >= set(c.operators)),
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
    console = Console(highlight=False)
    console.print(table)
    if len(rows) > n:
        console.print(f"the first {n}; there are more")


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
