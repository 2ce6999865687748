"""The part of the graph that a PE holds: who takes each stream inside, and in which order.

A stream that enters is called `feed N` after its edge; one that leaves has an exit among those who take it, in the
place of the first subscriber on the other side, because subscribers fire in order of declaration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from penstock.base.topological_order import sort_topologically, turn_edges
from penstock.codegen.plan.physical import Edge, PhysicalPlan
from penstock.ir.graph import Operator
from penstock.ir.types import Schema

Target = tuple[str, int] | int
"""An (operator id, input port), or the number of an edge by which the stream leaves."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """The operators of a PE, and how streams connect them.

    Attributes:
        plan: The plan of the whole application.
        pe: The PE's index.
        operators: In an order in which every producer comes before its consumers.
        inputs: For each operator and port the streams that it takes, `feed N` for those from outside.
        targets: For each stream, `feed N` included, who takes it, in order.
    """

    plan: PhysicalPlan
    pe: int
    operators: tuple[Operator, ...]
    inputs: dict[str, tuple[tuple[str, ...], ...]]
    targets: dict[str, tuple[Target, ...]] = field(default_factory=dict)

    @cached_property
    def entering(self) -> tuple[Edge, ...]:
        """The edges that lead to the PE."""
        return self.plan.into(self.pe)

    @cached_property
    def leaving(self) -> tuple[Edge, ...]:
        """The edges that leave the PE."""
        return self.plan.out_of(self.pe)

    @cached_property
    def _brought(self) -> dict[str, str]:
        return {feed(e): e.stream for e in self.entering}

    def schema(self, stream: str) -> Schema:
        """Of a stream, `feed N` included."""
        return self.plan.application.streams[self._brought.get(stream, stream)].schema

    def schemas(self, edges: tuple[Edge, ...]) -> dict[int, Schema]:
        """Of edges, by their numbers."""
        return self.plan.schemas(edges)

    def level(self, stream: str, target: Target, again: int = 0) -> tuple[int, ...]:
        """The level of the depth-first order that a target of a stream stands on; nothing if it is the only one.

        A port that takes a stream more than once stands there as often; `again` tells which of them is meant.
        """
        targets = self.targets[stream]
        return ([i for i, t in enumerate(targets) if t == target][again],) if len(targets) > 1 else ()


def feed(edge: Edge) -> str:
    """The name of the stream of an edge that enters."""
    return f"feed {edge.index}"


def part_of(plan: PhysicalPlan, pe: int) -> Part:
    """The part of the graph that a PE holds."""
    inside = [plan.application.operator[id_] for id_ in plan.pes[pe].operators]
    feeds = {(subscriber, e.stream): feed(e) for e in plan.into(pe) for subscriber in e.subscribers}
    inputs = {
        o.id: tuple(tuple(feeds.get(((o.id, i), s), s) for s in port.streams) for i, port in enumerate(o.inputs))
        for o in inside
    }
    operators = tuple(plan.application.operator[id_] for id_ in _in_order(inputs, {o.id: o for o in inside}))
    return Part(plan=plan, pe=pe, operators=operators, inputs=inputs, targets=_targets(plan, pe, inputs))


def _targets(
    plan: PhysicalPlan, pe: int, inputs: dict[str, tuple[tuple[str, ...], ...]]
) -> dict[str, tuple[Target, ...]]:
    found: dict[str, list[Target]] = defaultdict(list)
    exits: dict[str, list[Edge]] = defaultdict(list)
    for edge in plan.out_of(pe):
        exits[edge.subscribers[0][0]].append(edge)
    for id_ in sorted({*inputs, *exits}, key=plan.declared.__getitem__):
        for port, streams in enumerate(inputs.get(id_, ())):
            for stream in streams:
                found[stream].append((id_, port))
        for edge in exits.get(id_, ()):
            found[edge.stream].append(edge.index)
    made = [port.stream for id_ in inputs for port in plan.application.operator[id_].outputs]
    return {stream: tuple(found[stream]) for stream in (*(feed(e) for e in plan.into(pe)), *made)}


def _in_order(inputs: dict[str, tuple[tuple[str, ...], ...]], inside: dict[str, Operator]) -> Iterable[str]:
    maker = {port.stream: id_ for id_, o in inside.items() for port in o.outputs}
    feedback = {(id_, stream) for id_, o in inside.items() for port in o.inputs for stream in port.feedback}
    before = {
        id_: [maker[s] for streams in ports for s in streams if s in maker and (id_, s) not in feedback]
        for id_, ports in inputs.items()
    }
    return sort_topologically(turn_edges(before))
