"""Runs SPL graphs on tuples that a test gives: `run_graph("stream<A> B = Filter(A) {}", A=feed("int32 x", [(1,)]))`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock import testing
from penstock.expr.environment import Environment
from penstock.ir.graph import Operator
from penstock.ir.models import UNKNOWN_MODEL
from penstock.lang import compile_text
from penstock.reference import RunResult, run
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.operator_registry import standard
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.runtime import Context, Punctuation, Runtime, Wait

Fed = tuple[Any, ...] | Wait | Punctuation | None

WINDOW, FINAL = Punctuation.WINDOW, Punctuation.FINAL
SECOND = 1_000_000_000


@dataclass(frozen=True)
class Feed:
    """What a source of a test sends."""

    schema: str
    items: list[Fed]


def feed(schema: str, items: Iterable[Fed]) -> Feed:
    return Feed(schema, list(items))


def after(seconds: float) -> Wait:
    return Wait(round(seconds * SECOND))


class _FeedRuntime(Runtime):
    remembers = ("given",)
    given = 0

    def __init__(self, operator: Operator, context: Context, items: list[Fed]) -> None:
        super().__init__(operator, context)
        self.items = items

    def produce(self) -> Iterator[Fed]:
        for item in self.items[self.given :]:
            self.given += 1
            yield item


def _definition(name: str, given: Feed) -> OperatorDefinition:
    return OperatorDefinition(
        name=f"Feed{name}",
        namespace="",
        doc="What a test sends.",
        inputs=(0, 0),
        outputs=(1, 1),
        model=lambda operator: UNKNOWN_MODEL,
        runtime=lambda operator, context: _FeedRuntime(operator, context, given.items),
    )


def program(
    graph: str,
    *,
    types: str = "",
    functions: str = "",
    main: str = "Main",
    operators: Iterable[OperatorDefinition] = (),
    **feeds: Feed,
) -> Program:
    """The program of a graph clause, after a source for each feed, in order; `operators` are its own."""
    sources = "\n".join(f"stream<{f.schema}> {name} = Feed{name}() {{}}" for name, f in feeds.items())
    type_clause = f"type {types}" if types else ""
    registry = standard().extended([*operators, *(_definition(name, given) for name, given in feeds.items())])
    text = f"{functions}\ncomposite {main} {{\n{type_clause}\ngraph\n{sources}\n{graph}\n}}"
    return compile_text(text, registry=registry)


def run_graph(
    graph: str,
    *,
    collect: Iterable[str] = (),
    environment: Environment | None = None,
    max_time_ns: int | None = None,
    max_tuples: int | None = None,
    **feeds: Any,
) -> RunResult:
    """Run a graph clause; `types` and `functions` go before it."""
    return run(
        program(graph, **feeds),
        collect=collect,
        environment=environment,
        max_time_ns=max_time_ns,
        max_tuples=max_tuples,
    )


def items_of(graph: str, stream: str, **given: Any) -> list[Any]:
    """The tuples and window markers of a stream, without its end."""
    items = list(run_graph(graph, collect=[stream], **given).collected[stream])
    assert items.pop() is FINAL
    return items


def tuples_of(graph: str, stream: str, **given: Any) -> list[tuple[Any, ...]]:
    """The tuples of a stream: what the reference gives, and the local engine as well."""
    tuples = [item for item in items_of(graph, stream, **given) if item is not WINDOW]
    if not given.keys() & {"environment", "max_time_ns", "max_tuples"}:
        locally = testing.outputs(program(graph, **given), stream)
        # Not a number equals nothing, but it is printed alike.
        assert locally == tuples or repr(locally) == repr(tuples)
    return tuples


def numbers(count: int, start: int = 0) -> Feed:
    """A feed of `int32 x`: start, start + 1, ..."""
    return feed("int32 x", [(start + i,) for i in range(count)])
