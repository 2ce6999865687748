"""Which streams of a graph carry event time, by `@eventTime`.

Introduction:
    The annotation stands at an operator whose output tuples have a time. Everything downstream that still has the
    attribute is part of the event-time graph, and a watermark flows through it beside the tuples.

Formulation:
    A stream *carries* the event time of an annotated operator if that operator makes it, or if an operator without the
    annotation makes it that receives such a stream, and the attribute is there with its name and type. The *sources* of
    a stream are the operators that make its watermarks: of an annotated operator, and of one that holds tuples back,
    itself; of any other the sources of the streams with event time that it receives. Its watermark is the least of
    theirs.

When it does not apply:
    Event time does not pass an Export. Streams without event time beside others on a port are not waited for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.base.diagnostics import Diagnostic, Diagnostics, UserError, did_you_mean
from penstock.expr import typing
from penstock.ir.expressions import Attribute, Expression, Literal, Symbol
from penstock.ir.graph import Annotation, Operator
from penstock.ir.types import FLOAT64, INT64, TIMESTAMP, UINT64, Schema, TupleType, Type

EVENT_TIME = "eventTime"
"""The annotation."""

_HOLDS_BACK = frozenset({"Delay", "Gate", "Switch", "ThreadedSplit", "Throttle"})
"""Operators behind which the tuples tell the time and not the watermarks before them."""

_RESOLUTIONS = ("Milliseconds", "Microseconds", "Nanoseconds")
_DEFAULT_GAP = Literal(type=FLOAT64, value=0.1)
_DEFAULT_LAG = Literal(type=FLOAT64, value=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTime:
    """The event time that a stream carries.

    Attributes:
        path: The attribute, and those inside of it.
        type: A timestamp, or an integer that counts in `resolution`.
        resolution: Milliseconds, Microseconds or Nanoseconds.
        lags: By how many seconds the watermarks of its sources are behind the latest time.
        gaps: How many seconds lie at least between these.
    """

    path: tuple[str, ...]
    type: Type
    resolution: str
    lags: tuple[Expression, ...]
    gaps: tuple[Expression, ...]

    @property
    def name(self) -> str:
        """The attribute as it is written."""
        return ".".join(self.path)

    def is_in(self, schema: Schema) -> bool:
        """Whether a schema has the attribute, of that type."""
        return type_at(schema, self.path) == self.type

    def read_from(self, schema: Schema, port: int = 0) -> Expression:
        """The attribute of the tuple of a port."""
        first, *others = self.path
        value: Expression = Attribute(name=first, type=schema.attribute(first).type, port=port)
        for name in others:
            value = typing.field(value, name)
        return value

    def is_same_as(self, other: EventTime) -> bool:
        """Whether both are one time, whatever their watermarks."""
        return (self.path, self.type, self.resolution) == (other.path, other.type, other.resolution)


def type_at(type_: Type, path: Sequence[str]) -> Type | None:
    """The type of an attribute inside of tuples; none if it is not there."""
    for name in path:
        if not isinstance(type_, TupleType) or name not in type_.position:
            return None
        type_ = type_.attribute(name).type
    return type_


def annotation_of(operator: Operator) -> Annotation | None:
    """The annotation of an operator, if it has one."""
    return next((a for a in operator.annotations if a.name == EVENT_TIME), None)


class EventTimeGraph:
    """The streams of a graph with event time.

    Attributes:
        carried: From stream to the event time that it carries.
    """

    def __init__(self, operators: Sequence[Operator], found: Diagnostics) -> None:
        self.operators = {o.id: o for o in operators}
        self.carried: dict[str, EventTime] = {}
        self._found = found
        self._producer = {port.stream: o for o in operators for port in o.outputs}
        self._consumers: dict[str, list[Operator]] = {}
        for o in operators:
            for stream in dict.fromkeys(s for port in o.inputs for s in port.streams):
                self._consumers.setdefault(stream, []).append(o)
        self._spread()

    def received_by(self, operator: Operator) -> list[str]:
        """The streams with event time that an operator receives."""
        return [s for port in operator.inputs for s in port.streams if s in self.carried]

    def made_by(self, operator: Operator) -> list[str]:
        """The streams with event time that an operator makes."""
        return [port.stream for port in operator.outputs if port.stream in self.carried]

    def sources(self, streams: Iterable[str]) -> list[str]:
        """The operators that make the watermarks of some streams, in order of the graph."""
        found: set[str] = set()
        seen: set[str] = set()
        waiting = list(streams)
        while waiting:
            producer = self._producer[waiting.pop()]
            if producer.id in seen:
                continue
            seen.add(producer.id)
            if annotation_of(producer) is not None or producer.kind in _HOLDS_BACK:
                found.add(producer.id)
            else:
                waiting += self.received_by(producer)
        return [id_ for id_ in self.operators if id_ in found]

    def _spread(self) -> None:
        waiting: deque[str] = deque()
        for operator in self.operators.values():
            annotation = annotation_of(operator)
            if annotation is not None:
                try:
                    waiting.extend(self._carry(operator, _read(operator, annotation)))
                except UserError as problem:
                    self._found.extend(problem)
        while waiting:
            stream = waiting.popleft()
            for operator in self._consumers.get(stream, ()):
                if annotation_of(operator) is None:
                    waiting.extend(self._carry(operator, self.carried[stream]))

    def _carry(self, operator: Operator, time: EventTime) -> Iterator[str]:
        """Note the event time of what an operator makes; gives the streams of which more is known now."""
        for port in operator.outputs:
            before = self.carried.get(port.stream)
            if not time.is_in(port.schema):
                continue
            if before is not None and not before.is_same_as(time):
                message = f"`{port.stream}` carries two event times, `{before.name}` and `{time.name}`"
                self._found.error(message, operator.span, hint="give the operator an @eventTime of its own")
                continue
            after = time if before is None else _merge(before, time)
            if after != before:
                self.carried[port.stream] = after
                yield port.stream


def _read(operator: Operator, annotation: Annotation) -> EventTime:
    """The event time that an annotation says.

    Raises:
        UserError: It says none.
    """
    given = {a.name: a.values[0] for a in annotation.arguments}
    known = ("eventTimeAttribute", "resolution", "lag", "minimumGap")
    for name in given.keys() - set(known):
        raise _wrong(operator, f"@eventTime has no `{name}`", did_you_mean(name, known))
    written = _word(given.get("eventTimeAttribute"))
    if written is None:
        hint = "write `@eventTime(eventTimeAttribute=t)`"
        raise _wrong(operator, "@eventTime does not say which attribute is the event time", hint)
    path = tuple(written.split("."))
    types = {type_at(port.schema, path) for port in operator.outputs}
    if not types or None in types:
        without = ", ".join(f"`{port.stream}`" for port in operator.outputs if not type_at(port.schema, path))
        where = f"{without} has no attribute" if without else "there is no output port with an attribute"
        raise _wrong(operator, f"{where} `{written}`, which @eventTime names")
    type_ = types.pop()
    if types or type_ not in (TIMESTAMP, INT64, UINT64):
        message = f"the event time `{written}` must be a timestamp, an int64 or a uint64 of every output port"
        raise _wrong(operator, f"{message}, found {type_}")
    assert type_ is not None
    lag, gap = given.get("lag", _DEFAULT_LAG), given.get("minimumGap", _DEFAULT_GAP)
    resolution = _read_resolution(operator, type_, given.get("resolution"))
    return EventTime(path=path, type=type_, resolution=resolution, lags=(lag,), gaps=(gap,))


def _read_resolution(operator: Operator, type_: Type, given: Expression | None) -> str:
    default = "Nanoseconds" if type_ == TIMESTAMP else "Milliseconds"
    if given is None:
        return default
    word = (_word(given) or "").removeprefix("Sys.")
    if word not in _RESOLUTIONS:
        raise _wrong(operator, f"`resolution` of @eventTime is one of {', '.join(_RESOLUTIONS)}")
    if type_ == TIMESTAMP and word != default:
        raise _wrong(operator, f"a timestamp counts in Nanoseconds, but @eventTime says {word}")
    return word


def _wrong(operator: Operator, message: str, hint: str | None = None) -> UserError:
    return UserError(Diagnostic(message=message, span=operator.span, hint=hint))


def _word(value: Expression | None) -> str | None:
    """A name, or a text that is one."""
    match value:
        case Symbol(name=name):
            return name
        case Literal(value=str() as text):
            return text
    return None


def _merge(one: EventTime, other: EventTime) -> EventTime:
    lags, gaps = dict.fromkeys((*one.lags, *other.lags)), dict.fromkeys((*one.gaps, *other.gaps))
    return replace(one, lags=tuple(lags), gaps=tuple(gaps))


def greatest(values: Sequence[Expression]) -> Expression:
    """The greatest of some numbers of seconds; `max` of them, where they are not known yet."""
    first, *others = (typing.cast(value, FLOAT64) for value in values)
    for other in others:
        first = typing.call("max", [first, other])
    return first
