"""The graph of an application: operators, ports and streams.

An operator's output port makes one stream, which has the port's id. An input port may subscribe to several streams
(fan-in) and a stream may have several subscribers (fan-out). References are ids, never objects. A subscription that
closes a loop is marked as feedback; without the feedback edges the graph is acyclic.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> schema = parse_schema("int32 x")
    >>> app = Application(name="Main", operators=(
    ...     Operator(id="A", kind="Beacon", outputs=(OutputPort(stream="A", schema=schema),)),
    ...     Operator(id="Sink", kind="FileSink", inputs=(InputPort(streams=("A",), schema=schema),)),
    ... ))
    >>> app.subscribers["A"]
    (('Sink', 0),)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from heapq import heappop, heappush

from penstock.base.diagnostics import Span
from penstock.base.topological_order import sort_topologically
from penstock.ir.constraints import Constraint
from penstock.ir.expressions import Expression
from penstock.ir.facts import Facts
from penstock.ir.models import UNKNOWN_MODEL, OperatorModel
from penstock.ir.statements import Function, Logic
from penstock.ir.types import Schema


class WindowKind(Enum):
    """Tumbling windows empty as a whole, sliding ones tuple by tuple."""

    TUMBLING = "tumbling"
    SLIDING = "sliding"


class PolicyKind(Enum):
    """The measure of a window policy: a number of tuples, time, a difference of values, or punctuation."""

    COUNT = "count"
    TIME = "time"
    DELTA = "delta"
    PUNCTUATION = "punct"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When a window evicts, or when it triggers.

    Attributes:
        kind: What is counted.
        size: Tuples, seconds, or the difference of a delta; nothing for punctuation.
        attribute: The expression, over the port's tuple, that a delta policy measures.
    """

    kind: PolicyKind
    size: Expression | None = None
    attribute: Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The window of an input port; the trigger of a tumbling window is its eviction.

    Attributes:
        kind: Whether it empties as a whole.
        eviction: What it keeps.
        trigger: When it fires, if it slides.
        partitioned: Whether there is one for each key.
        partition_age: For how many seconds one is kept into which no tuple is inserted; without it, for ever.
    """

    kind: WindowKind
    eviction: Policy
    trigger: Policy | None = None
    partitioned: bool = False
    partition_age: Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPort:
    """A place where tuples come in.

    Attributes:
        streams: The ids of the streams it subscribes to, in order.
        schema: Of the tuples.
        feedback: Those of `streams` that close a loop.
        window: What it remembers, if the operator has windows.
        alias: The name by which the invocation refers to the port.
    """

    streams: tuple[str, ...]
    schema: Schema
    feedback: frozenset[str] = frozenset()
    window: Window | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """`attribute = value` of an output clause, given by the user or completed from the operator's default."""

    attribute: str
    value: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPort:
    """A place where tuples go out.

    Attributes:
        stream: The id of the stream it makes.
        schema: Of the tuples.
        assignments: How each attribute is computed, for operators that take an output clause: complete, in the
            schema's order. Empty for operators that make their tuples in another way.
    """

    stream: str
    schema: Schema
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """`name: value, value;` of an invocation."""

    name: str
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """`@name(key=value)`: an instruction about an operator, such as `@parallel(width=4)`."""

    name: str
    arguments: tuple[Param, ...] = ()


class ErrorPolicy(Enum):
    """The reaction to a malformed record, or to an exception in user code."""

    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One vertex of the graph.

    Attributes:
        id: Unique within the graph, a dotted path such as `Bids.Parse`.
        kind: The operator definition's name: `Filter`, or `my.ns::Mine` for a user's.
        inputs: In order of their index.
        outputs: In order of their index.
        params: Those given, and only those.
        logic: Code of the invocation.
        config: Settings that are not constraints, such as `threadedPort`.
        annotations: Such as `@parallel`.
        model: What the compiler may assume.
        on_error: What happens to a tuple that cannot be processed.
        span: Where the invocation was written.
    """

    id: str
    kind: str
    inputs: tuple[InputPort, ...] = ()
    outputs: tuple[OutputPort, ...] = ()
    params: tuple[Param, ...] = ()
    logic: Logic | None = None
    config: tuple[Param, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    model: OperatorModel = UNKNOWN_MODEL
    on_error: ErrorPolicy = ErrorPolicy.FAIL
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def facts(self) -> Facts:
        """The facts that its definition states for every operator of its kind."""
        return self.model.facts

    def param(self, name: str) -> tuple[Expression, ...]:
        """The values of a parameter, none if it is not given."""
        return next((p.values for p in self.params if p.name == name), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """An output port seen from the graph: where a stream comes from."""

    id: str
    operator: str
    port: int
    schema: Schema


@dataclass(frozen=True, kw_only=True)
class Application:
    """A whole program: the logical graph.

    Attributes:
        name: Of the main composite or of the Python application.
        operators: In order of declaration, which breaks every tie.
        functions: The application's functions that its operators call.
        constraints: On the placement of its operators.
    """

    name: str
    operators: tuple[Operator, ...] = ()
    functions: tuple[Function, ...] = ()
    constraints: tuple[Constraint, ...] = ()

    @cached_property
    def operator(self) -> dict[str, Operator]:
        """From id to operator."""
        return {o.id: o for o in self.operators}

    @cached_property
    def streams(self) -> dict[str, Stream]:
        """From id to stream, in order of declaration."""
        return {
            port.stream: Stream(id=port.stream, operator=o.id, port=i, schema=port.schema)
            for o in self.operators
            for i, port in enumerate(o.outputs)
        }

    @cached_property
    def subscribers(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """From stream id to the (operator id, input port) pairs that receive it, in order of declaration."""
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for o in self.operators:
            for i, port in enumerate(o.inputs):
                for stream in port.streams:
                    found[stream].append((o.id, i))
        return {stream: tuple(found[stream]) for stream in self.streams}

    def edges(self) -> Iterator[tuple[str, str, str, bool]]:
        """Every connection: producer's id, consumer's id, stream id, whether it is feedback."""
        for o in self.operators:
            for port in o.inputs:
                for stream in port.streams:
                    yield self.streams[stream].operator, o.id, stream, stream in port.feedback

    @cached_property
    def looped(self) -> frozenset[str]:
        """The operators that get all their tuples round a loop, by a feedback edge or by way of another such operator.

        They end when what they get has ended; whoever is on the loop with them does not wait for their end.

        Example:
            >>> from penstock.ir.types import parse_schema
            >>> def port(*streams, feedback=()):
            ...     return InputPort(streams=streams, schema=parse_schema("int32 x"), feedback=frozenset(feedback))
            >>> def made(id_, *inputs):
            ...     outputs = (OutputPort(stream=id_, schema=parse_schema("int32 x")),)
            ...     return Operator(id=id_, kind="Functor", inputs=inputs, outputs=outputs)
            >>> operators = made("S"), made("Ack", port("A", feedback="A")), made("A", port("S"), port("Ack"))
            >>> sorted(Application(name="Main", operators=operators).looped)
            ['Ack']
        """
        found: set[str] = set()
        if any(port.feedback for o in self.operators for port in o.inputs):
            for id_ in self.rank:
                operator = self.operator[id_]
                ports = [(port, stream) for port in operator.inputs for stream in port.streams]
                if ports and all(s in port.feedback or self._goes_round(s, id_, found) for port, s in ports):
                    found.add(id_)
        return frozenset(found)

    def _goes_round(self, stream: str, consumer: str, looped: AbstractSet[str]) -> bool:
        """Whether a stream of an operator that gets all its tuples round a loop stays on that loop."""
        producer = self.streams[stream].operator
        return producer in looped and producer in self._behind(consumer)

    def _behind(self, id_: str) -> set[str]:
        """All operators that an operator leads to, loops included."""
        found: set[str] = set()
        waiting = [id_]
        while waiting:
            streams = [port.stream for port in self.operator[waiting.pop()].outputs]
            fresh = {consumer for stream in streams for consumer, _ in self.subscribers[stream]} - found
            found |= fresh
            waiting += fresh
        return found

    def waits_for(self, operator: Operator) -> list[list[str]]:
        """By input port, the streams for whose end an operator waits."""
        if operator.id in self.looped:
            return [list(port.streams) for port in operator.inputs]
        return [
            [s for s in port.streams if s not in port.feedback and not self._goes_round(s, operator.id, self.looped)]
            for port in operator.inputs
        ]

    @cached_property
    def rank(self) -> dict[str, int]:
        """From id to place among the operators: every producer before its consumers, otherwise as declared.

        Feedback edges do not count. Of timers that are due at one time, those of lower rank fire first.

        Example:
            >>> from penstock.ir.types import parse_schema
            >>> schema = parse_schema("int32 x")
            >>> Application(name="Main", operators=(
            ...     Operator(id="Sink", kind="FileSink", inputs=(InputPort(streams=("A",), schema=schema),)),
            ...     Operator(id="A", kind="Beacon", outputs=(OutputPort(stream="A", schema=schema),)),
            ... )).rank
            {'A': 0, 'Sink': 1}
        """
        declared = {o.id: i for i, o in enumerate(self.operators)}
        after: dict[int, list[int]] = {i: [] for i in range(len(self.operators))}
        for producer, consumer, _, is_feedback in self.edges():
            if not is_feedback:
                after[declared[producer]].append(declared[consumer])
        order = sort_topologically(after, put=heappush, take=heappop)
        return {self.operators[i].id: rank for rank, i in enumerate(order)}
