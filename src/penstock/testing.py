"""Run operators and applications in a test: no server, no threads, no waiting.

Example:
    >>> from penstock import App, agg, col, count, tumbling
    >>> app = App("Test")
    >>> trades = app.source(feed([("IBM", 1), ("IBM", 3), ("HPQ", 5)]), "rstring sym, int32 price")
    >>> means = trades.aggregate(tumbling(count(2)), by="sym", price=agg.avg(col.price), name="Means")
    >>> outputs(app, means)
    [('IBM', 2)]

An operator on its own, fed tuple by tuple:
    >>> from penstock import flat_map
    >>> @flat_map
    ... def twice(t):
    ...     yield t
    ...     yield t
    >>> apply(twice, [(1,), (2,)], schema="int32 x")
    [(1,), (1,), (2,), (2,)]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.api.application import App
from penstock.api.rows import row_maker
from penstock.api.schemas import SchemaLike, schema_of
from penstock.api.sources.given_rows import feed
from penstock.api.streams import Stream
from penstock.expr.environment import Environment
from penstock.reference import RunResult
from penstock.reference import run as run_programs
from penstock.toolkit.core.program import Program

__all__ = ["RunResult", "apply", "feed", "outputs", "run"]


def run(
    app: App | Program, *, collect: Iterable[Stream | str] = (), environment: Environment | None = None
) -> RunResult:
    """Run an application to its end on the reference interpreter; keep the tuples of the streams asked for."""
    program = app.program() if isinstance(app, App) else app
    ids = [s.id if isinstance(s, Stream) else s for s in collect]
    return run_programs(program, environment=environment, collect=ids)


def outputs(
    app: App | Program, stream: Stream | str, *, environment: Environment | None = None
) -> list[tuple[Any, ...]]:
    """Run an application and return the tuples of one stream, in order."""
    result = run(app, collect=[stream], environment=environment)
    return list(result.tuples_of(stream.id if isinstance(stream, Stream) else stream))


def apply(
    operator: Any, tuples: Iterable[Any], *, schema: SchemaLike, output: SchemaLike | None = None, **params: Any
) -> list[Any]:
    """Feed one operator with tuples and return the rows that it gives."""
    app = App("Test")
    given = app.source(feed(tuples), schema)
    made = given.apply(operator, output, **params)
    rows = outputs(app, made)
    make = row_maker(schema_of(output if output is not None else schema))
    return [tuple(make(row)) for row in rows]
