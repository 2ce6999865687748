"""The physical plan: which PEs there are, and which edges lead from one to another.

A PE holds operators; a stream inside it is a call, a stream that leaves it is an edge. A stream with subscribers in
several PEs has an edge to each of them, and more than one where other subscribers stand between them: in the
sequential program the subscribers of a stream fire in order of declaration, and the edges keep that order.

Sources read and sinks write outside of Spark's tasks, so each source is a PE of its own at the front and all sinks are
one PE at the end, which runs in the driver. Parallel sinks do not: they are part of their region.

A PE inside a parallel region runs on several channels, each an instance of its own. An edge says how its tuples find
their channel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from penstock.base.diagnostics import UserError
from penstock.base.topological_order import sort_topologically
from penstock.codegen.plan.channels import Channels, choose_channels
from penstock.codegen.plan.liveness import dead_attributes
from penstock.codegen.plan.region_cuts import cut_at_regions
from penstock.ir.graph import Application, Operator
from penstock.ir.models import State
from penstock.ir.types import Schema
from penstock.parallel.key_groups import KEY_GROUPS, Table
from penstock.parallel.pe_demands import operators_with_places
from penstock.profiler.sampling import Sampling
from penstock.toolkit.analysis.logic_analysis import ends_a_stream


@dataclass(frozen=True, slots=True, kw_only=True)
class PE:
    """A processing element.

    Attributes:
        index: Its number; PEs are numbered so that edges lead from smaller to larger numbers.
        operators: The ids of its operators, in order of declaration.
        role: `source`, `sink`, `stateless` or `stateful`.
        region: The parallel region that it is in.
        channels: How many instances of it there are.
    """

    index: int
    operators: tuple[str, ...]
    role: str
    region: str | None = None
    channels: int = 1


class Route(Enum):
    """How a tuple on an edge finds its channel: there is but one, it stays on its own, in turns, or by its key."""

    ONE = "one channel"
    SAME = "the same channel"
    TURNS = "in turns"
    KEY = "by key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A stream on its way from one PE to another.

    Attributes:
        index: Its number.
        stream: What it carries.
        producer: The index of the PE that makes the stream.
        consumer: The index of the PE that it leads to.
        subscribers: The (operator id, input port) pairs in the consumer that it serves.
        route: How tuples find their channel of the consumer.
        key: The attributes that tell the channel, if it is by key.
        senders: How many channels of the producer send to one channel of the consumer.
        channels: How many channels the consumer has.
        table: For each key group its channel, if it is by key.
    """

    index: int
    stream: str
    producer: int
    consumer: int
    subscribers: tuple[tuple[str, int], ...]
    route: Route = Route.ONE
    key: tuple[str, ...] = ()
    senders: int = 1
    channels: int = 1
    table: Table = ()


@dataclass(frozen=True, kw_only=True)
class PhysicalPlan:
    """An application cut into PEs.

    Attributes:
        application: The logical graph.
        pes: In an order in which edges lead forward.
        edges: By their numbers.
        signals: How much of it is profiled, if it is.
        groups: How many key groups there are.
        keys: For each region with a key the attributes that it is routed by.
        tables: For each region with a key the channel that holds each key group.
        contained: Operators that containers run although they have a generated form (`contained`).
        meters_groups: Whether tasks tell what they send from key group to key group.
    """

    application: Application
    pes: tuple[PE, ...]
    edges: tuple[Edge, ...]
    signals: Sampling | None = None
    groups: int = KEY_GROUPS
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    contained: frozenset[str] = frozenset()
    meters_groups: bool = False

    @cached_property
    def home(self) -> dict[str, int]:
        """From operator id to the index of its PE."""
        return {id_: pe.index for pe in self.pes for id_ in pe.operators}

    def into(self, pe: int) -> tuple[Edge, ...]:
        """The edges that lead to a PE."""
        return self._ends[0].get(pe, ())

    def out_of(self, pe: int) -> tuple[Edge, ...]:
        """The edges that leave a PE."""
        return self._ends[1].get(pe, ())

    def schemas(self, edges: Iterable[Edge]) -> dict[int, Schema]:
        """The schemas of edges, by their numbers."""
        return {edge.index: self.application.streams[edge.stream].schema for edge in edges}

    @cached_property
    def _ends(self) -> tuple[dict[int, tuple[Edge, ...]], dict[int, tuple[Edge, ...]]]:
        """The edges by the PE that they lead to, and by the one that they leave."""
        into: defaultdict[int, list[Edge]] = defaultdict(list)
        out_of: defaultdict[int, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            into[edge.consumer].append(edge)
            out_of[edge.producer].append(edge)
        return {pe: tuple(edges) for pe, edges in into.items()}, {pe: tuple(edges) for pe, edges in out_of.items()}

    @cached_property
    def declared(self) -> dict[str, int]:
        """From operator id to its number in the order of declaration."""
        return {o.id: i for i, o in enumerate(self.application.operators)}

    @cached_property
    def dead(self) -> dict[str, frozenset[str]]:
        """For each stream the attributes that need not travel: nobody reads them, and no route depends on them."""
        routed: dict[str, set[str]] = {}
        for edge in self.edges:
            routed.setdefault(edge.stream, set()).update(edge.key)
        return {stream: dead - routed.get(stream, set()) for stream, dead in dead_attributes(self.application).items()}

    @cached_property
    def channels(self) -> int:
        """The largest number of channels of a PE."""
        return max((pe.channels for pe in self.pes), default=1)


def is_source(operator: Operator) -> bool:
    """Whether an operator makes tuples out of what Spark does not know of."""
    return not operator.inputs


def is_sink(operator: Operator) -> bool:
    """Whether an operator ends a stream: its effect is outside."""
    return not operator.outputs and not operator.facts.ends_anywhere


def physical_plan(
    application: Application, fusion: Sequence[Iterable[str]], channels: int | Channels | None = 1
) -> PhysicalPlan:
    """Cut an application into PEs.

    Args:
        application: The logical graph.
        fusion: The operators of each PE; sources and sinks in it are set apart, and a PE is cut where it would span
            the boundary of a region that runs on several channels.
        channels: How many channels parallel regions get; None leaves it to `@parallel` annotations. Who cuts one
            application many times gives the regions with their channels instead, so that they are found once.

    Raises:
        UserError: The PEs form a cycle, or a loop of the graph is cut.

    Example:
        >>> physical_plan(Application(name="Empty"), ()).pes
        ()
    """
    chosen = channels if isinstance(channels, Channels) else choose_channels(application, channels)
    groups = _groups(application, fusion, chosen)
    order = _ordered(application, groups)
    pes = tuple(_pe(application, i, group, chosen) for i, group in enumerate(order))
    keys = {region: key for region, key in chosen.key.items() if key}
    plan = PhysicalPlan(
        application=application, pes=pes, edges=(), groups=chosen.groups, keys=keys, tables=chosen.tables
    )
    _check_loops(plan)
    plan = replace(plan, edges=tuple(_routed(plan, edge, chosen) for edge in _edges(plan)))
    return replace(plan, pes=tuple(_with_ends_in_mind(pe, plan) for pe in pes))


def _groups(application: Application, fusion: Sequence[Iterable[str]], channels: Channels) -> list[tuple[str, ...]]:
    place = {id_: i for i, group in enumerate(fusion) for id_ in group}
    number = {o.id: i for i, o in enumerate(application.operators)}
    sources = [(o.id,) for o in application.operators if is_source(o)]
    sinks = tuple(
        o.id for o in application.operators if is_sink(o) and not is_source(o) and o.id not in channels.region
    )
    inner: dict[int | str, list[str]] = {}
    for o in application.operators:
        if not is_source(o) and o.id not in sinks:
            # A fusion is about what lies between sources and sinks, so of a parallel sink it may know nothing.
            inner.setdefault(place.get(o.id, o.id) if is_sink(o) else place[o.id], []).append(o.id)
    # In one order however the fusion lists them, so that the PEs of a checkpoint give the plan that wrote it.
    cut = sorted(cut_at_regions(application, inner.values(), channels), key=lambda group: number[group[0]])
    return [*sources, *cut, *([sinks] if sinks else [])]


def _pe(application: Application, index: int, group: tuple[str, ...], channels: Channels) -> PE:
    operators = [application.operator[id_] for id_ in group]
    if is_source(operators[0]):
        role = "source"
    elif is_sink(operators[0]) and group[0] not in channels.region:
        role = "sink"
    else:
        # Spark lets us say where a PE runs if it has state.
        has_place = not operators_with_places(application).isdisjoint(group)
        role = "stateless" if all(_is_stateless(o) for o in operators) and not has_place else "stateful"
    region = channels.region.get(group[0])
    width = 1 if region is None else channels.width[region]
    return PE(index=index, operators=group, role=role, region=region, channels=width)


def _routed(plan: PhysicalPlan, edge: Edge, channels: Channels) -> Edge:
    producer, consumer = plan.pes[edge.producer], plan.pes[edge.consumer]
    if consumer.region is None:
        return replace(edge, senders=producer.channels)
    if consumer.region == producer.region:
        return replace(edge, route=Route.SAME, channels=consumer.channels)
    key = channels.key[consumer.region]
    route = Route.KEY if key else Route.TURNS
    table = channels.tables.get(consumer.region, ())
    return replace(edge, route=route, key=key, senders=producer.channels, channels=consumer.channels, table=table)


def _with_ends_in_mind(pe: PE, plan: PhysicalPlan) -> PE:
    """A PE whose inputs may end in different batches has to remember which of them have: that is state, too."""
    if pe.role == "stateless" and len(plan.into(pe.index)) > 1 and _streams_end_apart(plan):
        return replace(pe, role="stateful")
    return pe


def _streams_end_apart(plan: PhysicalPlan) -> bool:
    """Whether two streams may end in different batches: of two sources, or one that code ends before its input does."""
    sources = sum(pe.role == "source" for pe in plan.pes)
    logics = (operator.logic for operator in plan.application.operators)
    return sources > 1 or any(logic is not None and ends_a_stream(logic) for logic in logics)


def _is_stateless(operator: Operator) -> bool:
    return operator.model.state is State.STATELESS


def _ordered(application: Application, groups: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The groups in an order in which every edge leads forward."""
    home = {id_: i for i, group in enumerate(groups) for id_ in group}
    after: dict[int, set[int]] = {i: set() for i in range(len(groups))}
    for producer, consumer, _, feedback in application.edges():
        if not feedback and home[producer] != home[consumer]:
            after[home[producer]].add(home[consumer])
    order = sort_topologically({i: sorted(following) for i, following in after.items()})
    if len(order) < len(groups):
        stuck = next(i for i in after if i not in order)
        raise UserError(
            f"the PEs form a cycle through {', '.join(f'`{id_}`' for id_ in groups[stuck])}",
            hint="no path may leave a PE and come back to it",
        )
    return [groups[i] for i in order]


def _check_loops(plan: PhysicalPlan) -> None:
    for producer, consumer, stream, feedback in plan.application.edges():
        if feedback and plan.home[producer] != plan.home[consumer]:
            raise UserError(
                f"the loop over `{stream}` is cut: `{producer}` and `{consumer}` are in different PEs",
                hint="fuse the operators of a loop into one PE",
            )


def _edges(plan: PhysicalPlan) -> Iterable[Edge]:
    index = 0
    for stream in plan.application.streams.values():
        producer = plan.home[stream.operator]
        runs: list[tuple[int, list[tuple[str, int]]]] = []
        for operator, port in plan.application.subscribers[stream.id]:
            consumer = plan.home[operator]
            if not runs or runs[-1][0] != consumer:
                runs.append((consumer, []))
            runs[-1][1].append((operator, port))
        for consumer, subscribers in runs:
            if consumer != producer:
                yield Edge(
                    index=index,
                    stream=stream.id,
                    producer=producer,
                    consumer=consumer,
                    subscribers=tuple(subscribers),
                )
                index += 1
