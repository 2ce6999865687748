"""Pieces of a PE: where some operators have a generated form and others have none, each runs as it can.

Introduction:
    A PE is generated code if all its operators have a generated form. One that lacks it must not take the others with
    it. So a PE is cut into pieces: groups of operators that are all generated, or that all run in a container. The
    pieces of a PE stand in one process, one after the other, and hand each other frames.

Formulation:
    The pieces are PEs of a finer plan. What holds for the cut of an application into PEs holds for the cut of a PE: the
    pieces form no cycle, and what leaves one carries its place in the sequential order. An edge that leads to several
    pieces is dealt out at the entry (`runtime.pes.pe_instance`), which gives each of them a place of its own.

    Two kinds of operators must share one container: those of a loop of the graph, and those with effects whose order
    can be seen. With them goes whatever lies on a path between two of them.

Example:
    Filter, Functor, Sort, Filter becomes three pieces: Filter and Functor generated, Sort in a container, Filter
    generated.

When it does not apply:
    Where all operators have a generated form, or none, the PE is one piece, and the finer plan is the plan itself.

Algorithm:
    Operators are numbered in the order of the graph, and the number grows by one where operators of two kinds meet:
    those that are generated, those that run in a container, and each that fires by time or takes blocks of rows and
    has to be alone. Those of
    one kind and number are a piece. One pass, linear in the size of the PE.

Preserves:
    What leaves the PE and its order, though places grow by a step for each piece that a tuple has left.

Reference:
    Section 2 of the SPADE paper has one kind of container; the cut is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, groupby

from penstock.base.topological_order import sort_topologically, turn_edges
from penstock.codegen.plan.part import Part, part_of
from penstock.codegen.plan.physical import Edge, PhysicalPlan
from penstock.codegen.write.forms import fires_by_time
from penstock.codegen.write.generate import Module, WhyNot, effects_apart, generate, reasons
from penstock.toolkit.core.program import Program

_TOGETHER = ""
"""Stands for all operators that must share a container; no operator has this id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """A PE cut into pieces.

    Attributes:
        plan: The finer plan, of which the pieces are PEs.
        pe: The PE; in the finer plan it is the entry, which holds no operators.
        made: For each piece, in the order in which they work, its module, or why a container runs it.
    """

    plan: PhysicalPlan
    pe: int
    made: dict[int, Module | str]

    @property
    def modules(self) -> dict[int, Module]:
        """The pieces that have a module."""
        return {piece: made for piece, made in self.made.items() if isinstance(made, Module)}

    @property
    def reasons(self) -> dict[int, str]:
        """The pieces that a container runs, and why."""
        return {piece: made for piece, made in self.made.items() if isinstance(made, str)}

    @property
    def dealt(self) -> dict[int, tuple[Edge, ...]]:
        """For each edge that leads to several pieces, the edges that lead on from the entry."""
        if self.pe in self.made:
            return {}
        onward = self.plan.out_of(self.pe)
        return {e.index: tuple(o for o in onward if o.key == e.key and o.stream == e.stream and _is_part(o, e))
                for e in self.plan.into(self.pe)}  # fmt: skip


def _is_part(onward: Edge, whole: Edge) -> bool:
    return set(onward.subscribers) <= set(whole.subscribers)


def pieces_of(program: Program, plan: PhysicalPlan, pe: int) -> Pieces:
    """Cut a PE into pieces and generate the code of those that have a generated form."""
    part = part_of(plan, pe)
    found = reasons(program, part)
    groups = _groups(part, found, _bound(program, part))
    if len(groups) == 1:
        return Pieces(plan=plan, pe=pe, made={pe: generate(program, plan, pe)})
    finer = refined(plan, pe, groups)
    cut = Pieces(
        plan=finer,
        pe=pe,
        made={piece: generate(program, finer, piece) for piece in range(len(plan.pes), len(finer.pes))},
    )
    # One container is as good as several.
    has_blocks = any(o.facts.takes_blocks for o in part.operators)
    return cut if cut.modules or has_blocks else Pieces(plan=plan, pe=pe, made={pe: "; ".join(cut.reasons.values())})


def _bound(program: Program, part: Part) -> frozenset[str]:
    """The operators that must share one container, and all that lies between them."""
    bound = {o.id for o in effects_apart(program, part)}
    maker = {port.stream: o.id for o in part.operators for port in o.outputs}
    for o in part.operators:
        for port in o.inputs:
            bound |= {id_ for stream in port.feedback for id_ in (o.id, maker[stream])}
    before = _before(part)
    after: dict[str, list[str]] = {id_: [] for id_ in before}
    for id_, producers in before.items():
        for producer in producers:
            after[producer].append(id_)
    return frozenset(bound | (_reached(bound, before) & _reached(bound, after)))


def _reached(start: Iterable[str], steps: Mapping[str, Iterable[str]]) -> set[str]:
    found, waiting = set(start), list(start)
    while waiting:
        fresh = set(steps[waiting.pop()]) - found
        found |= fresh
        waiting.extend(fresh)
    return found


def _before(part: Part) -> dict[str, list[str]]:
    """The operators that each operator takes tuples from, loops left out."""
    maker = {port.stream: o.id for o in part.operators for port in o.outputs}
    return {
        o.id: [
            maker[s]
            for port, streams in zip(o.inputs, part.inputs[o.id], strict=True)
            for s in streams
            if s in maker and s not in port.feedback
        ]
        for o in part.operators
    }


def _groups(part: Part, found: Mapping[str, WhyNot], bound: frozenset[str]) -> list[tuple[str, ...]]:
    """The operators of each piece, in the order in which the pieces work."""

    def name(id_: str) -> str:
        return _TOGETHER if id_ in bound else id_

    before: dict[str, set[str]] = {}
    for id_, producers in _before(part).items():
        before.setdefault(name(id_), set()).update(name(p) for p in producers if name(p) != name(id_))
    alone = {o.id for o in part.operators if fires_by_time(o)}
    blocks = {o.id for o in part.operators if o.facts.takes_blocks}

    def kind(node: str) -> str:
        if node in blocks:
            return node
        return "container" if node == _TOGETHER or node in found else node if node in alone else ""

    number: dict[str, int] = {}
    for node in sort_topologically(turn_edges(before)):
        number[node] = max((number[p] + (kind(p) != kind(node)) for p in before[node]), default=0)
    groups: dict[tuple[int, str], list[str]] = {}
    for id_ in part.plan.pes[part.pe].operators:
        groups.setdefault((number[name(id_)], kind(name(id_))), []).append(id_)
    return [tuple(groups[at]) for at in sorted(groups)]


def refined(plan: PhysicalPlan, pe: int, groups: Iterable[tuple[str, ...]]) -> PhysicalPlan:
    """The plan with groups of a PE's operators as PEs of their own, behind the others; the PE is their entry."""
    whole = plan.pes[pe]
    pieces = [replace(whole, index=len(plan.pes) + i, operators=group) for i, group in enumerate(groups)]
    rest = [replace(whole, operators=()) if p.index == pe else p for p in plan.pes]
    finer = replace(plan, pes=(*rest, *pieces), edges=())
    fresh = count(max((e.index for e in plan.edges), default=-1) + 1)
    edges = [edge for e in plan.edges for edge in _bent(e, pe, finer, fresh.__next__)]
    return replace(finer, edges=(*edges, *_inner(finer, pe, range(len(plan.pes), len(finer.pes)), fresh.__next__)))


def _bent(edge: Edge, pe: int, finer: PhysicalPlan, fresh: Callable[[], int]) -> Iterator[Edge]:
    """An edge with its ends at pieces; one that leads to several ends at the entry and goes on from there."""
    if edge.producer == pe:
        yield replace(edge, producer=finer.home[finer.application.streams[edge.stream].operator])
    elif edge.consumer != pe:
        yield edge
    else:
        runs = _runs(edge.subscribers, finer)
        if len(runs) == 1:
            yield replace(edge, consumer=runs[0][0])
            return
        yield edge
        for consumer, subscribers in runs:
            yield replace(edge, index=fresh(), producer=pe, consumer=consumer, subscribers=subscribers)


def _inner(finer: PhysicalPlan, pe: int, pieces: range, fresh: Callable[[], int]) -> Iterator[Edge]:
    """The edges between pieces."""
    application = finer.application
    for stream in application.streams.values():
        producer = finer.home[stream.operator]
        if producer in pieces:
            for consumer, subscribers in _runs(application.subscribers[stream.id], finer):
                if consumer in pieces and consumer != producer:
                    yield Edge(
                        index=fresh(),
                        stream=stream.id,
                        producer=producer,
                        consumer=consumer,
                        subscribers=subscribers,
                    )


def _runs(subscribers: Iterable[tuple[str, int]], finer: PhysicalPlan) -> list[tuple[int, tuple[tuple[str, int], ...]]]:
    """Subscribers in their order, those next to each other in one PE together."""
    return [(home, tuple(run)) for home, run in groupby(subscribers, key=lambda s: finer.home[s[0]])]
