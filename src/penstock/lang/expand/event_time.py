"""Makes operators of SPL's event time: `@eventTime`, `timeInterval` windows, and the functions that ask for both.

Introduction:
    In SPL an annotated operator sends watermarks between its tuples, which flow through every operator behind it, and a
    window of intervals lets its panes go when a watermark comes. Here watermarks take a way of their own: an EventClock
    makes them of the annotated operator's tuples, and an EventPanes in front of the windowed operator takes both.

Formulation:
    For each source s of watermarks (`event_time_graph`) that a window depends on: one EventClock over what s makes, the
    last to receive it. A tuple has gone through everything between s and the window when the clock gets it, because
    submitting is a call: so tuples and watermarks meet at the window as if they had come the same way, whatever the
    operators between them drop, split or make. EventPanes sends the tuples of a pane and a window marker; behind it the
    operator has a window that is made by markers.

Example:
    `stream<T> A = Aggregate(S) { window S: timeInterval, intervalDuration(9.0); }` becomes
    `S.watermarks = EventClock(S)`, `A.panes = EventPanes(S; S.watermarks)` and
    `A = Aggregate(A.panes) { window A.panes: tumbling, punct(); }`.

When it does not apply:
    A window over a stream without event time, and calls that ask for it where there is none, are errors.

Algorithm:
    The new operators stand behind all others: first the panes, each behind those before it in the graph, then clocks.
    So one watermark reaches windows in the order in which tuples do.

Reference:
    SPL's language reference, "TimeInterval windows" and "EventTime annotation".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from penstock.base.diagnostics import Diagnostics
from penstock.expr import typing
from penstock.expr.analysis import calls_of
from penstock.ir.expressions import Attribute, Call, Expression, InputTuple, Symbol, TupleLiteral
from penstock.ir.graph import Annotation, Application, InputPort, Operator, OutputPort, Param
from penstock.ir.statements import Function
from penstock.ir.system_enumerations import SYSTEM_ENUMERATIONS
from penstock.ir.types import TIMESTAMP, VOID, Schema, TupleType, TypedName
from penstock.lang.check.interval_clauses import INTERVAL
from penstock.lang.expand.change_calls import change_calls, change_tuples
from penstock.lang.expand.event_time_graph import EventTime, EventTimeGraph, annotation_of, greatest
from penstock.lang.expand.feedback import mark_feedback
from penstock.toolkit.analysis.effects import operator_parts
from penstock.toolkit.analysis.logic_analysis import operator_model
from penstock.toolkit.core.invoke import invoke
from penstock.toolkit.core.operator_registry import Registry
from penstock.toolkit.event_time.event_panes import ADDED

_OF_TUPLE = "getEventTime"
_OF_PANE = ("intervalStart", "intervalEnd", "paneIndex", "paneTiming")
_WATERMARK = TupleType((TypedName("watermark", TIMESTAMP),))


def follow_event_time(
    operators: Sequence[Operator], functions: Sequence[Function], registry: Registry, found: Diagnostics
) -> list[Operator]:
    """The operators, with those that event time needs.

    Args:
        operators: In order of declaration.
        functions: Those that they call.
        registry: Where EventClock and EventPanes are found.
        found: Receives every mistake.
    """
    asking = [o for o in operators if _interval_of(o) or annotation_of(o) or any(_asks(o))]
    _check_functions(functions, found)
    if not asking:
        return list(operators)
    graph = EventTimeGraph(operators, found)
    rewriting = _Rewriting(graph, functions, registry, found)
    changed = [rewriting.changed(o) for o in operators]
    rank = Application(name="", operators=mark_feedback(operators)).rank
    panes = sorted(rewriting.panes.items(), key=lambda entry: rank[entry[0]])
    return [*changed, *(operator for _, operator in panes), *rewriting.clocks.values()]


def _interval_of(operator: Operator) -> Annotation | None:
    return next((a for a in operator.annotations if a.name == INTERVAL), None)


def _asks(operator: Operator) -> Iterator[Call]:
    return (c for c in calls_of(*operator_parts(operator)) if c.function == _OF_TUPLE or c.function in _OF_PANE)


def _check_functions(functions: Sequence[Function], found: Diagnostics) -> None:
    for function in functions:
        for call in calls_of(function.body):
            if call.function == _OF_TUPLE or call.function in _OF_PANE:
                message = f"`{call.function}` is called in the function `{function.name}`"
                found.error(message, call.span, hint="call it in an operator, and pass its value to the function")


class _Rewriting:
    """The change of a graph.

    Attributes:
        panes: The EventPanes made so far, by the operator that they stand in front of.
        clocks: The EventClocks made so far, by the operator whose output they read.
    """

    def __init__(
        self, graph: EventTimeGraph, functions: Sequence[Function], registry: Registry, found: Diagnostics
    ) -> None:
        self._graph = graph
        self._functions = functions
        self._registry = registry
        self._found = found
        self.panes: dict[str, Operator] = {}
        self.clocks: dict[str, Operator] = {}

    def changed(self, operator: Operator) -> Operator:
        """An operator without a window by event time, and without calls that ask for it."""
        interval = _interval_of(operator)
        result = operator
        if interval is not None:
            result = self._with_panes(operator, interval)
        result = change_calls(result, lambda call: self._event_time(call, operator))
        for call in _asks(result):
            if call.function in _OF_PANE:
                message = f"`{call.function}` has no interval here"
                hint = "call it in the output clause of an Aggregate with a timeInterval window"
                self._found.error(message, call.span or operator.span, hint=hint)
        if result == operator:
            return operator
        return replace(result, model=operator_model(self._registry.get(operator.kind), result, self._functions))

    # ---- functions of tuples

    def _event_time(self, call: Call, operator: Operator) -> Expression | None:
        """What stands for `getEventTime(tuple)`."""
        if call.function != _OF_TUPLE:
            return None
        (tuple_,) = call.arguments
        streams = (*self._graph.received_by(operator), *self._graph.made_by(operator))
        times = (self._graph.carried[s] for s in streams)
        time = next((t for t in times if isinstance(tuple_.type, TupleType) and t.is_in(tuple_.type)), None)
        if time is None:
            hint = "an operator before it needs `@eventTime(eventTimeAttribute=t)`"
            self._found.error("the tuple has no event time here", call.span or operator.span, hint=hint)
            return None
        value = tuple_
        for name in time.path:
            value = typing.field(value, name, call.span)
        if time.type == TIMESTAMP:
            return value
        resolution = typing.literal(time.resolution, SYSTEM_ENUMERATIONS["Sys.Resolution"])
        return typing.call("toTimestamp", [value, resolution], call.span)

    # ---- windows

    def _with_panes(self, operator: Operator, interval: Annotation) -> Operator:
        """The operator behind panes, with a window that is made by their markers."""
        bare = replace(operator, annotations=tuple(a for a in operator.annotations if a != interval))
        (port,) = bare.inputs
        streams = [s for s in port.streams if s in self._graph.carried]
        times = [self._graph.carried[s] for s in streams]
        if not times or any(not times[0].is_same_as(t) for t in times):
            which = "carries two event times" if times else "has no event time"
            message = f"the input of `{operator.id}` {which}, so it cannot have a timeInterval window"
            hint = None if times else "write `@eventTime(eventTimeAttribute=t)` at the operator that makes it"
            self._found.error(message, operator.span, hint=hint)
            return bare
        if operator.logic is not None:
            message = f"`{operator.id}` has a logic clause beside its timeInterval window"
            self._found.error(message, operator.span, hint="put the code into a Custom before it")
            return bare
        uses = any(call.function in _OF_PANE for call in _asks(operator))
        names = _unused_names(port.schema) if uses else ()
        added = (TypedName(name, type_) for name, type_ in zip(names, ADDED, strict=False))
        schema = TupleType((*port.schema.attributes, *added))
        panes = self._make_panes(operator, port, times[0], schema, interval, self.clocks_of(streams))
        if panes is None:
            return bare
        self.panes[operator.id] = panes
        return _behind_panes(bare, port, panes, dict(zip(_OF_PANE, names, strict=False)))

    def _make_panes(
        self,
        operator: Operator,
        port: InputPort,
        time: EventTime,
        schema: Schema,
        interval: Annotation,
        clocks: Sequence[Operator],
    ) -> Operator | None:
        further = [InputPort(streams=(clock.outputs[0].stream,), schema=_WATERMARK) for clock in clocks]
        keys = [p for p in operator.params if p.name == "partitionBy"]
        times = Param(name="time", values=(time.read_from(port.schema),))
        id_ = f"{operator.id}.panes"
        return invoke(
            self._registry.get("EventPanes"),
            id=id_,
            inputs=(replace(port, window=None), *further),
            outputs=(OutputPort(stream=id_, schema=schema),),
            params=(times, *_resolution(time), *keys, *interval.arguments),
            functions=self._functions,
            span=operator.span,
            found=self._found,
        )

    def clocks_of(self, streams: Sequence[str]) -> list[Operator]:
        """The clocks that some streams go by."""
        made = (self._clock(self._graph.operators[id_]) for id_ in self._graph.sources(streams))
        return [clock for clock in made if clock is not None]

    def _clock(self, source: Operator) -> Operator | None:
        if source.id in self.clocks:
            return self.clocks[source.id]
        ports = [port for port in source.outputs if port.stream in self._graph.carried]
        time = self._graph.carried[ports[0].stream]
        times = tuple(time.read_from(port.schema, i) for i, port in enumerate(ports))
        id_ = f"{source.id}.watermarks"
        clock = invoke(
            self._registry.get("EventClock"),
            id=id_,
            inputs=[InputPort(streams=(port.stream,), schema=port.schema) for port in ports],
            outputs=(OutputPort(stream=id_, schema=_WATERMARK),),
            params=(
                Param(name="time", values=times),
                *_resolution(time),
                Param(name="lag", values=(greatest(time.lags),)),
                Param(name="minimumGap", values=(greatest(time.gaps),)),
            ),
            functions=self._functions,
            span=source.span,
            found=self._found,
        )
        if clock is not None:
            self.clocks[source.id] = clock
        return clock


def _resolution(time: EventTime) -> tuple[Param, ...]:
    if time.type == TIMESTAMP:
        return ()
    return (Param(name="resolution", values=(Symbol(type=VOID, name=time.resolution),)),)


def _unused_names(schema: Schema) -> tuple[str, ...]:
    """Names for what tells the pane that no attribute has."""
    suffix = ""
    while any(name + suffix in schema.position for name in _OF_PANE):
        suffix += "_"
    return tuple(name + suffix for name in _OF_PANE)


def _behind_panes(operator: Operator, port: InputPort, panes: Operator, names: dict[str, str]) -> Operator:
    """An operator that receives panes instead of its stream."""
    window, made = port.window, panes.outputs[0]
    assert window is not None
    behind = InputPort(
        streams=(made.stream,), schema=made.schema, window=replace(window, partitioned=False), alias=port.alias
    )
    params = tuple(p for p in operator.params if p.name != "partitionBy")
    changed = replace(operator, inputs=(behind,), params=params)
    if not names:
        return changed
    old = port.schema
    changed = change_tuples(changed, lambda whole: _attributes(whole, old))
    return change_calls(changed, _attribute_for(names, made.schema))


def _attributes(whole: InputTuple, schema: Schema) -> Expression:
    """A whole tuple without what tells the pane."""
    values = tuple(Attribute(name=a.name, type=a.type, port=whole.port) for a in schema.attributes)
    return TupleLiteral(type=schema, values=values, span=whole.span)


def _attribute_for(names: dict[str, str], schema: Schema) -> Callable[[Call], Expression | None]:
    def change(call: Call) -> Expression | None:
        name = names.get(call.function)
        return None if name is None else Attribute(name=name, type=schema.attribute(name).type, span=call.span)

    return change
