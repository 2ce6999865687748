"""Run operators and applications in a test: no server, no threads, no waiting.

They run on the local engine: the code that Spark would run, in this process. `engine="reference"` runs them on the
interpreter that says what a program means, one tuple at a time, and `engine="spark"` on Spark.

Example:
    >>> from penstock import App, agg, col
    >>> from penstock import windows as w
    >>> app = App("Test")
    >>> trades = app.source(feed([("IBM", 1), ("IBM", 3), ("HPQ", 5)]), "rstring sym, int32 price")
    >>> means = trades.aggregate(w.tumbling(w.count(2)), by="sym", price=agg.avg(col.price), name="Means")
    >>> outputs(app, means)
    [('IBM', 2)]
    >>> outputs(app, means, channels=2) == outputs(app, means, engine="reference")
    True

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

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from penstock.api.application import App
from penstock.api.rows import row_maker
from penstock.api.schemas import SchemaLike, schema_of
from penstock.api.sources.given_rows import feed
from penstock.api.streams import Stream
from penstock.base.diagnostics import Diagnostics, did_you_mean
from penstock.expr.environment import Environment
from penstock.ir.graph import Application
from penstock.reference import DeadLetter, RunResult, StopReason
from penstock.reference import run as run_on_reference
from penstock.reference.result import DEAD_LETTERS
from penstock.reference.run import default_environment
from penstock.running.collecting import collecting
from penstock.running.engines import prepare
from penstock.running.handle import Control
from penstock.running.options import make_options
from penstock.runtime.verify.verify_models import verify_some
from penstock.toolkit.core.program import Program

__all__ = ["RunResult", "apply", "feed", "outputs", "run"]


def run(
    app: App | Program,
    *,
    collect: Iterable[Stream | str] = (),
    environment: Environment | None = None,
    engine: str = "local",
    **options: Any,
) -> RunResult:
    """Run an application to its end; keep the tuples of the streams asked for.

    Args:
        app: What to run.
        collect: The streams whose tuples the result holds.
        environment: Files, settings and the clock; by default relative file names mean the program's `data` folder.
        engine: `local`, `reference` or `spark`. The result of `reference` has punctuations, metrics and times, too.
        options: Those of `app.run`, such as `channels`, `fusion` and `batch`, on the engines that take them.

    Raises:
        OperatorFailed: An operator could not process a tuple, and its policy is to fail.
        UserError: The application cannot start, or there is no such stream.

    Example:
        >>> from penstock import App, col
        >>> app = App()
        >>> numbers = app.source(feed([(1,), (2,), (3,)]), "int32 x")
        >>> result = run(app, collect=[numbers.filter(col.x > 1, name="Large")])
        >>> result.tuples_of("Large"), result.submitted["Large"]
        ([(2,), (3,)], (2,))
    """
    program = app.program() if isinstance(app, App) else app
    ids = [s.id if isinstance(s, Stream) else s for s in collect]
    if engine == "reference" and not options:
        return run_on_reference(program, environment=environment, collect=ids)
    _check_streams(ids, program.application)
    return _run(program, ids, environment, {"engine": engine, "continuous": False, **options})


def _check_streams(ids: Iterable[str], application: Application) -> None:
    found = Diagnostics()
    for id_ in ids:
        if id_ not in application.streams:
            found.error(f"there is no stream `{id_}`", hint=did_you_mean(id_, application.streams))
    found.raise_if_any()


def _run(program: Program, ids: Iterable[str], environment: Environment | None, given: Mapping[str, Any]) -> RunResult:
    own = program.application.operator
    options = make_options({"data": default_environment([program]).data_directory, **given})
    chosen = environment or options.environment(program)
    with ExitStack() as collections:
        rows = {}
        for id_ in ids:
            program, collection = collections.enter_context(collecting(program, id_))
            rows[id_] = collection.rows
        outcome = prepare(verify_some(program), options, chosen)(Control())
    letters = _take_letters(chosen.output_directory / DEAD_LETTERS, keep=environment is not None)
    return RunResult(
        stopped=StopReason(outcome.stopped),
        received={id_: tuple(counts) for id_, counts in outcome.received.items() if id_ in own},
        submitted={id_: tuple(counts) for id_, counts in outcome.submitted.items()},
        dead_letters=letters if outcome.rejected else (),
        collected={id_: [tuple(row) for row in kept] for id_, kept in rows.items()},
    )


def _take_letters(path: Path, *, keep: bool) -> tuple[DeadLetter, ...]:
    """The dead letters that an engine has written; a test that names no folder finds none of them there later."""
    if not path.exists():
        return ()
    letters = tuple(DeadLetter(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())
    if not keep:
        path.unlink()
    return letters


def outputs(
    app: App | Program,
    stream: Stream | str,
    *,
    environment: Environment | None = None,
    engine: str = "local",
    **options: Any,
) -> list[tuple[Any, ...]]:
    """Run an application and return the tuples of one stream, in order; the options are those of `run`.

    Example:
        >>> from penstock import App, col
        >>> app = App()
        >>> numbers = app.source(feed([(1,), (2,)]), "int32 x")
        >>> outputs(app, numbers.with_columns(x=col.x * 10))
        [(10,), (20,)]
    """
    result = run(app, collect=[stream], environment=environment, engine=engine, **options)
    return list(result.tuples_of(stream.id if isinstance(stream, Stream) else stream))


def apply(
    operator: Any,
    tuples: Iterable[Any],
    *,
    schema: SchemaLike,
    output: SchemaLike | None = None,
    engine: str = "local",
    **params: Any,
) -> list[Any]:
    """Feed one operator with tuples and return the rows that it gives; `params` are those of the operator.

    Example:
        >>> apply("DeDuplicate", [(1,), (1,), (2,)], schema="int32 x", timeOut=60.0)
        [(1,), (2,)]
    """
    app = App("Test")
    given = app.source(feed(tuples), schema)
    made = given.apply(operator, output, **params)
    rows = outputs(app, made, engine=engine)
    make = row_maker(schema_of(output if output is not None else schema))
    return [tuple(make(row)) for row in rows]
