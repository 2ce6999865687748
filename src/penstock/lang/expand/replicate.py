"""Copies of what `@parallel` stands before, where one copy would mean something else.

Introduction:
    In SPL a parallel region has a copy of its operators for each channel, and every copy has its own sources, its own
    state and its own answer to `getChannel()`. For operators without any of these the copies cannot be told from one
    (but by the order of their tuples, which the compiler keeps): there the annotation stays an instruction about the
    width (`parallel.instructions`). For all others this pass makes the copies, before anything else looks at the graph.

Example:
    `@parallel(width=2) stream<int32 i> T = Numbers() {}`, with a Beacon `O` inside, becomes the operators `T[0].O` and
    `T[1].O`; whoever receives `T` receives the streams of both.

When it does not apply:
    Regions whose operators are all stateless, or have state partitioned by what the region is partitioned by. An
    annotation on one operator with inputs is followed only if the operator asks for its channel: whether its state
    may be cut up is for the compiler to prove. A width that is not known when the program is compiled is not followed.

Algorithm:
    Innermost regions first. The copies of a region stand where it stood, one channel after the other. A stream that
    enters it goes through an operator that deals tuples out in turn (ThreadedSplit), or by the hash of the attributes
    of `partitionBy` (Split); one that `broadcast` names reaches every copy. A stream that leaves it becomes the
    streams of all copies. At last `getChannel()` and its kin become numbers.

Preserves:
    Operators outside of regions, but for the streams that they receive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from penstock.expr import typing
from penstock.expr.analysis import calls_of
from penstock.expr.evaluate import Evaluator
from penstock.ir.expressions import Attribute, Expression, Literal, Symbol
from penstock.ir.graph import Annotation, InputPort, Operator, OutputPort, Param
from penstock.ir.models import State
from penstock.ir.statements import Function
from penstock.ir.types import INT32, UINT32, Schema
from penstock.lang.expand.change_calls import change_calls
from penstock.toolkit.analysis.effects import changed_variables, operator_parts
from penstock.toolkit.core.operator_registry import standard

PARALLEL = "parallel"
_CODE_ONLY = ("Custom", "Functor", "Filter", "Punctor", "Split")
_BUFFER = Literal(type=UINT32, value=1000)

Channels = tuple[tuple[int, int], ...]
"""The channel of each region that an operator is in, and its width, the innermost first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionPort:
    """An input port of a region: the names that arguments may call it by, and the streams that it receives."""

    names: tuple[str, ...]
    streams: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelRegion:
    """A parallel region: an invocation annotated with `@parallel`.

    Attributes:
        id: Of the invocation.
        annotation: With its arguments.
        is_composite: Whether the invocation is one of a composite.
        ports: Those of the invocation's inputs.
    """

    id: str
    annotation: Annotation
    is_composite: bool
    ports: tuple[RegionPort, ...] = ()

    def values(self, name: str) -> tuple[Expression, ...]:
        """The values of an argument."""
        return next((a.values for a in self.annotation.arguments if a.name == name), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """An operator and the regions that it is in, the innermost first; its channels as far as copies were made."""

    operator: Operator
    regions: tuple[ParallelRegion, ...]
    channels: Channels = ()
    origin: int = -1

    @property
    def region(self) -> dict[str, ParallelRegion]:
        """The regions by their id."""
        return {region.id: region for region in self.regions}


def replicate(found: Sequence[Placed], functions: Sequence[Function], evaluator: Evaluator) -> list[Placed]:
    """The operators with copies of those whose copies are not alike; `origin` is kept for every one of them."""
    placed = list(found)
    depth = {r.id: len(item.regions) - i for item in placed for i, r in enumerate(item.regions)}
    for id_ in sorted(depth, key=lambda id_: -depth[id_]):
        members = [item for item in placed if id_ in item.region]
        region = members[0].region[id_]
        width = _width(region, evaluator)
        needs_copies = width > 1 and any(_needs_copy(item.operator, region, functions) for item in members)
        if needs_copies and _are_ports_distinct(region):
            placed = _Copies(region, width, members).put_into(placed)
    return [replace(item, operator=_with_channels(item.operator, item.channels)) for item in placed]


def _width(region: ParallelRegion, evaluator: Evaluator) -> int:
    for value in region.values("width"):
        try:
            found = evaluator.constant(value)
        except Exception:
            return 1
        return found if isinstance(found, int) and not isinstance(found, bool) else 1
    return 1


def _needs_copy(operator: Operator, region: ParallelRegion, functions: Sequence[Function]) -> bool:
    """Whether one operator is not the same as one for each channel."""
    if not operator.inputs or any(c.function in _CHANNEL for c in calls_of(*operator_parts(operator))):
        return True
    if not region.is_composite or not operator.outputs:
        return False
    if operator.model.state is State.PARTITIONED:
        keys = [key for _, key in _partitions(region)]
        return not keys or any(not set(key) <= operator.model.partition_by[0] for key in keys)
    has_state = operator.kind not in _CODE_ONLY or bool(changed_variables(operator, functions))
    return operator.model.state is State.UNKNOWN and has_state


def _are_ports_distinct(region: ParallelRegion) -> bool:
    """Whether a stream inside tells by which port it came: no two ports share one, or they are alike in everything.

    Who receives a stream in the expanded graph names the stream and not the port.
    """
    keys, named = dict(_partitions(region)), _broadcast(region)
    kinds: dict[str, object] = {}
    for port in region.ports:
        key = next((keys[name] for name in port.names if name in keys), ())
        kind = (frozenset(port.streams), key, bool(named & {*port.names}))
        if any(kinds.setdefault(stream, kind) != kind for stream in port.streams):
            return False
    return True


def _broadcast(region: ParallelRegion) -> set[str]:
    """The input ports that `broadcast` names."""
    named = (e for value in region.values("broadcast") for e in getattr(value, "elements", (value,)))
    return {e.name for e in named if isinstance(e, Symbol)}


def _partitions(region: ParallelRegion) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The input ports that `partitionBy` names, each with its attributes."""
    for value in region.values("partitionBy"):
        for entry in getattr(value, "elements", ()):
            parts = dict(zip(entry.type.names, entry.values, strict=True))
            names = tuple(e.name.rpartition(".")[2] for e in parts["attributes"].elements if isinstance(e, Symbol))
            yield parts["port"].name, names


class _Copies:
    """The copies of one region."""

    def __init__(self, region: ParallelRegion, width: int, members: Sequence[Placed]) -> None:
        self._region = region
        self._width = width
        self._members = members
        self._made = {port.stream for item in members for port in item.operator.outputs}
        self._broadcast = _broadcast(region)
        self._taken = self._made | {item.operator.id for item in members}

    def put_into(self, placed: Sequence[Placed]) -> list[Placed]:
        """All operators, with the copies instead of the members."""
        result: list[Placed] = []
        is_done = False
        for item in placed:
            if self._region.id not in item.region:
                result.append(self._rewire(item))
            elif not is_done:
                is_done = True
                result.extend([*self._splits(), *(self._copy(m, c) for c in range(self._width) for m in self._members)])
        return result

    def _name(self, id_: str, channel: int) -> str:
        """`T.O` of the region `T` on a channel: `T[0].O`."""
        if id_ == self._region.id or id_.startswith(f"{self._region.id}."):
            return f"{self._region.id}[{channel}]{id_[len(self._region.id) :]}"
        return f"{id_}[{channel}]"

    def _leaving(self, stream: str) -> tuple[str, ...]:
        """The names of a stream outside of the region: those of all copies, if it is one of the region's."""
        return tuple(self._name(stream, c) for c in range(self._width)) if stream in self._made else (stream,)

    def _rewire(self, item: Placed) -> Placed:
        """An operator outside receives what leaves from all copies."""
        inputs = tuple(_with_streams(port, self._leaving) for port in item.operator.inputs)
        regions = tuple(_with_ports(region, self._leaving) for region in item.regions)
        return replace(item, operator=replace(item.operator, inputs=inputs), regions=regions)

    def _copy(self, item: Placed, channel: int) -> Placed:
        operator = item.operator

        def names(stream: str) -> tuple[str, ...]:
            return (self._name(stream, channel),) if stream in self._made else (self._entering(stream, channel),)

        annotations = list(operator.annotations)
        if self._region.annotation in annotations:
            annotations.remove(self._region.annotation)
        copied = replace(
            operator,
            id=self._name(operator.id, channel),
            inputs=tuple(_with_streams(port, names) for port in operator.inputs),
            outputs=tuple(replace(port, stream=self._name(port.stream, channel)) for port in operator.outputs),
            annotations=tuple(annotations),
        )
        regions = tuple(r for r in item.regions if r.id != self._region.id)
        return replace(item, operator=copied, regions=regions, channels=(*item.channels, (channel, self._width)))

    def _entering(self, stream: str, channel: int) -> str:
        """The name that a stream from outside has on a channel."""
        for number, port in enumerate(self._region.ports):
            if stream in port.streams:
                return stream if self._broadcast & {*port.names} else self._part(number, channel)
        return stream

    def _part(self, port: int, channel: int) -> str:
        return f"{self._split_id(port)}[{channel}]"

    def _split_id(self, port: int) -> str:
        """The name of the operator that deals out what enters by a port: the port's, if nothing inside has it."""
        found = f"{self._region.id}.{self._region.ports[port].names[0]}"
        earlier = (f"{self._region.id}.{p.names[0]}" for p in self._region.ports[:port])
        return f"{found}_{port}" if found in self._taken or found in earlier else found

    def _splits(self) -> Iterator[Placed]:
        """The operators that deal out what enters, one for each input port."""
        keys = dict(_partitions(self._region))
        schemas = {s: port.schema for m in self._members for port in m.operator.inputs for s in port.streams}
        first = self._members[0]
        outside = first.regions[[r.id for r in first.regions].index(self._region.id) + 1 :]
        dealt: set[str] = set()
        for number, port in enumerate(self._region.ports):
            used = [s for s in port.streams if s in schemas and s not in dealt]
            dealt.update(used)
            if used and not self._broadcast & {*port.names}:
                key = next((keys[name] for name in port.names if name in keys), ())
                operator = self._split(number, schemas[used[0]], key)
                yield Placed(operator=replace(operator, span=first.operator.span), regions=outside, origin=first.origin)

    def _split(self, number: int, schema: Schema, key: tuple[str, ...]) -> Operator:
        kind, port = "Split" if key else "ThreadedSplit", self._region.ports[number]
        name, value = ("index", _hash(schema, key)) if key else ("bufferSize", _BUFFER)
        operator = Operator(
            id=self._split_id(number),
            kind=kind,
            inputs=(InputPort(streams=port.streams, schema=schema),),
            outputs=tuple(OutputPort(stream=self._part(number, c), schema=schema) for c in range(self._width)),
            params=(Param(name=name, values=(value,)),),
        )
        return replace(operator, model=standard().get(kind).model(operator))


def _hash(schema: Schema, key: tuple[str, ...]) -> Expression:
    values = [Attribute(name=name, type=schema.attribute(name).type) for name in key]
    return typing.call("hashCode", [typing.tuple_literal(key, values)])


def _with_streams(port: InputPort, names: Callable[[str], tuple[str, ...]]) -> InputPort:
    return replace(port, streams=tuple(dict.fromkeys(name for stream in port.streams for name in names(stream))))


def _with_ports(region: ParallelRegion, names: Callable[[str], tuple[str, ...]]) -> ParallelRegion:
    ports = (replace(p, streams=tuple(name for stream in p.streams for name in names(stream))) for p in region.ports)
    return replace(region, ports=tuple(ports))


def _with_channels(operator: Operator, channels: Channels) -> Operator:
    """An operator in which `getChannel()` and its kin are numbers."""
    if not channels:
        return operator
    values = {name: answer(channels) for name, answer in _CHANNEL.items()}
    return change_calls(operator, lambda call: None if call.arguments else values.get(call.function))


def _number(value: int) -> Expression:
    return Literal(type=INT32, value=value)


def _numbers(values: Iterable[int]) -> Expression:
    return typing.list_literal([_number(v) for v in values])


def _global_channel(channels: Channels) -> int:
    return sum(channel * prod(width for _, width in channels[:i]) for i, (channel, _) in enumerate(channels))


_CHANNEL: Mapping[str, Callable[[Channels], Expression]] = {
    "getChannel": lambda channels: _number(_global_channel(channels)),
    "getMaxChannels": lambda channels: _number(prod(width for _, width in channels)),
    "getLocalChannel": lambda channels: _number(channels[0][0]),
    "getLocalMaxChannels": lambda channels: _number(channels[0][1]),
    "getAllChannels": lambda channels: _numbers(channel for channel, _ in channels),
    "getAllMaxChannels": lambda channels: _numbers(width for _, width in channels),
}
