"""Runs one operator by itself: feed it tuples, see what each output port sends.

h = start(build("Filter", ["int32 x"], ["int32 x"], {"filter": compare}))
h.feed((1,), (5,))
assert h.sent() == [(5,)]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import Diagnostics, Span, UserError
from penstock.expr.environment import Clock, Environment, Tuple
from penstock.expr.evaluate import Evaluator
from penstock.expr.typing import literal
from penstock.ir.expressions import Attribute, Expression, Symbol
from penstock.ir.graph import Annotation, Assignment, ErrorPolicy, InputPort, Operator, OutputPort, Param
from penstock.ir.statements import Function, Logic
from penstock.ir.types import VOID, parse_schema
from penstock.reference.virtual_time import Timers
from penstock.toolkit.core.invoke import invoke
from penstock.toolkit.core.operator_registry import standard
from penstock.toolkit.core.runtime import Punctuation, Wait

WINDOW = Punctuation.WINDOW
Value = Expression | bool | int | float | str


def attribute(name: str, schema: str, port: int = 0) -> Attribute:
    """An attribute of an input port with a schema."""
    return Attribute(type=parse_schema(schema).attribute(name).type, name=name, port=port)


def word(name: str) -> Symbol:
    """A word that belongs to an operator."""
    return Symbol(type=VOID, name=name)


def expression(value: Value) -> Expression:
    return value if isinstance(value, Expression) else literal(value)


def _param(name: str, given: Value | Sequence[Value]) -> Param:
    values = given if isinstance(given, list | tuple) else [given]
    return Param(name=name, values=tuple(expression(v) for v in values))


def build(
    kind: str,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    params: Mapping[str, Any] | None = None,
    *,
    assign: Mapping[str, Value] | None = None,
    logic: Logic | None = None,
    annotations: Sequence[Annotation] = (),
    functions: Sequence[Function] = (),
    span: Span | None = None,
) -> Operator:
    """An operator, checked; schemas are text and `assign` is the output clause of the first output port."""
    found = Diagnostics()
    assigned = tuple(Assignment(attribute=n, value=expression(v)) for n, v in (assign or {}).items())
    operator = invoke(
        standard().get(kind),
        id="Op",
        inputs=[InputPort(streams=(f"In{i}",), schema=parse_schema(s)) for i, s in enumerate(inputs)],
        outputs=[
            OutputPort(stream=f"Out{i}", schema=parse_schema(s), assignments=() if i else assigned)
            for i, s in enumerate(outputs)
        ],
        params=[_param(name, given) for name, given in (params or {}).items()],
        logic=logic,
        annotations=annotations,
        functions=functions,
        span=span,
        found=found,
    )
    found.raise_if_any()
    assert operator is not None
    return operator


def errors(*arguments: Any, **named: Any) -> list[str]:
    """What `build` reports."""
    try:
        build(*arguments, **named)
    except UserError as error:
        return [d.message if d.hint is None else f"{d.message}; {d.hint}" for d in error.diagnostics]
    return []


class Harness:
    """One operator instance on a clock that only the test moves.

    Attributes:
        runtime: The instance.
        items: What each output port sent, markers included.
        rejected: Bad records with the reason.
        exported: What left for other applications.
    """

    def __init__(self, operator: Operator, environment: Environment, functions: Sequence[Function] = ()) -> None:
        self.environment = environment
        self.evaluator = Evaluator(functions, environment)
        self.policy = operator.on_error
        self.rejected: list[tuple[str, str]] = []
        self.exported: list[Tuple | Punctuation] = []
        self._timers = Timers()
        self.runtime = standard().get(operator.kind).runtime(operator, self)
        self.items: list[list[Tuple | Punctuation]] = [[] for _ in operator.outputs]
        self.runtime.submit.extend(port.append for port in self.items)
        self.runtime.punctuate.extend(port.append for port in self.items)
        self._receivers = [self.runtime.receiver(port) for port in range(len(operator.inputs))]

    def at(self, time_ns: int, action: Callable[[], None], ticket: int | None = None) -> int:
        return self._timers.add(time_ns, action, ticket=ticket)

    def reject(self, record: str, reason: str) -> None:
        if self.policy is ErrorPolicy.FAIL:
            raise UserError(f"{record}: {reason}")
        self.rejected.append((record, reason))

    def export(self, tuple_: Tuple | Punctuation) -> None:
        self.exported.append(tuple_)

    def feed(self, *tuples: Tuple, port: int = 0) -> Harness:
        """Let tuples come in."""
        for tuple_ in tuples:
            self._receivers[port](tuple_)
        return self

    def mark(self, port: int = 0) -> Harness:
        """Let a window marker come in."""
        self.runtime.on_window_punctuation(port)
        return self

    def end(self) -> Harness:
        """End the input ports and let what waits for the clock happen."""
        for port in range(len(self._receivers)):
            self.runtime.on_final_punctuation(port)
        while self.runtime.is_waiting():
            assert self._timers.next_ns is not None
            self.advance_to(self._timers.next_ns)
        self.runtime.finish()
        return self

    def advance(self, seconds: float) -> Harness:
        """Let time pass."""
        self.advance_to(self.environment.clock.now_ns + round(seconds * 1e9))
        return self

    def advance_to(self, time_ns: int) -> None:
        while (due_ns := self._timers.next_ns) is not None and (action := self._timers.pop_due(time_ns)) is not None:
            self.environment.clock.advance_to(due_ns)
            action()
        self.environment.clock.advance_to(time_ns)

    def produce(self, most: int = 1000) -> list[tuple[float, Tuple | Punctuation]]:
        """What a source produces, each with its time in seconds."""
        items = []
        for item in islice(self.runtime.produce(), most):
            if isinstance(item, Wait):
                self.advance_to(self.environment.clock.now_ns + item.nanoseconds)
            elif item is not None:
                items.append((self.environment.clock.now_ns / 1e9, item))
        return items

    def sent(self, port: int = 0) -> list[Tuple]:
        """The tuples that an output port sent."""
        return [item for item in self.items[port] if not isinstance(item, Punctuation)]

    def all(self, port: int = 0) -> list[Tuple | Punctuation]:
        """All that an output port sent."""
        return self.items[port]


def start(
    operator: Operator,
    *,
    data: Path = Path(),
    output: Path = Path(),
    functions: Sequence[Function] = (),
    log: Callable[[str, str], None] | None = None,
) -> Harness:
    """The operator, at work."""
    environment = Environment(data_directory=data, output_directory=output, clock=Clock())
    if log is not None:
        environment.log = log
    return Harness(operator, environment, functions)


def run(operator: Operator, *tuples: Tuple, **settings: Any) -> Harness:
    """The operator after it has received tuples on its first port, and their end."""
    return start(operator, **settings).feed(*tuples).end()
