"""The physical plan: which PEs there are, and which edges lead from one to another.

A PE holds operators; a stream inside it is a call, a stream that leaves it is an edge. A stream with subscribers in
several PEs has an edge to each of them, and more than one where other subscribers stand between them: in the
sequential program the subscribers of a stream fire in order of declaration, and the edges keep that order.

Sources read and sinks write outside of Spark's tasks, so each source is a PE of its own at the front and all sinks are
one PE at the end, which runs in the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.diagnostics import UserError
from penstock.ir.graph import Application, Operator
from penstock.ir.models import State


@dataclass(frozen=True, slots=True, kw_only=True)
class PE:
    """A processing element.

    Attributes:
        index: Its number; PEs are numbered so that edges lead from smaller to larger numbers.
        operators: The ids of its operators, in order of declaration.
        role: `source`, `sink`, `stateless` or `stateful`.
    """

    index: int
    operators: tuple[str, ...]
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A stream on its way from one PE to another.

    Attributes:
        index: Its number.
        stream: What it carries.
        producer: The index of the PE that makes the stream.
        consumer: The index of the PE that it leads to.
        subscribers: The (operator id, input port) pairs in the consumer that it serves.
    """

    index: int
    stream: str
    producer: int
    consumer: int
    subscribers: tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class PhysicalPlan:
    """An application cut into PEs."""

    application: Application
    pes: tuple[PE, ...]
    edges: tuple[Edge, ...]

    @cached_property
    def home(self) -> dict[str, int]:
        """From operator id to the index of its PE."""
        return {id_: pe.index for pe in self.pes for id_ in pe.operators}

    def into(self, pe: int) -> tuple[Edge, ...]:
        """The edges that lead to a PE."""
        return tuple(e for e in self.edges if e.consumer == pe)

    def out_of(self, pe: int) -> tuple[Edge, ...]:
        """The edges that leave a PE."""
        return tuple(e for e in self.edges if e.producer == pe)


def is_source(operator: Operator) -> bool:
    """Whether an operator makes tuples out of what Spark does not know of."""
    return not operator.inputs


def is_sink(operator: Operator) -> bool:
    """Whether an operator ends a stream: its effect is outside."""
    return not operator.outputs


def physical_plan(application: Application, fusion: Sequence[Iterable[str]]) -> PhysicalPlan:
    """Cut an application into PEs.

    Args:
        application: The logical graph.
        fusion: The operators of each PE; sources and sinks in it are set apart.

    Raises:
        UserError: The PEs form a cycle, or a loop of the graph is cut.

    Example:
        >>> physical_plan(Application(name="Empty"), ()).pes
        ()
    """
    groups = _groups(application, fusion)
    order = _topological(application, groups)
    pes = tuple(_pe(application, i, group) for i, group in enumerate(order))
    plan = PhysicalPlan(application=application, pes=pes, edges=())
    _check_loops(plan)
    plan = replace(plan, edges=tuple(_edges(plan)))
    return replace(plan, pes=tuple(_with_ends_in_mind(pe, plan) for pe in pes))


def _groups(application: Application, fusion: Sequence[Iterable[str]]) -> list[tuple[str, ...]]:
    place = {id_: i for i, group in enumerate(fusion) for id_ in group}
    sources = [(o.id,) for o in application.operators if is_source(o)]
    sinks = tuple(o.id for o in application.operators if is_sink(o) and not is_source(o))
    inner: dict[int, list[str]] = {}
    for o in application.operators:
        if not is_source(o) and not is_sink(o):
            inner.setdefault(place[o.id], []).append(o.id)
    return [*sources, *map(tuple, inner.values()), *([sinks] if sinks else [])]


def _pe(application: Application, index: int, group: tuple[str, ...]) -> PE:
    operators = [application.operator[id_] for id_ in group]
    if is_source(operators[0]):
        role = "source"
    elif is_sink(operators[0]):
        role = "sink"
    else:
        role = "stateless" if all(_is_stateless(o) for o in operators) else "stateful"
    return PE(index=index, operators=group, role=role)


def _with_ends_in_mind(pe: PE, plan: PhysicalPlan) -> PE:
    """A PE whose inputs may end in different batches has to remember which of them have: that is state, too."""
    sources = sum(other.role == "source" for other in plan.pes)
    if pe.role == "stateless" and sources > 1 and len(plan.into(pe.index)) > 1:
        return replace(pe, role="stateful")
    return pe


def _is_stateless(operator: Operator) -> bool:
    return operator.model.state is State.STATELESS


def _topological(application: Application, groups: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The groups in an order in which every edge leads forward."""
    home = {id_: i for i, group in enumerate(groups) for id_ in group}
    successors: dict[int, set[int]] = {i: set() for i in range(len(groups))}
    for producer, consumer, _, feedback in application.edges():
        if not feedback and home[producer] != home[consumer]:
            successors[home[producer]].add(home[consumer])
    waits = dict.fromkeys(successors, 0)
    for targets in successors.values():
        for target in targets:
            waits[target] += 1
    ready = [i for i, count in waits.items() if count == 0]
    for i in ready:
        for target in sorted(successors[i]):
            waits[target] -= 1
            if waits[target] == 0:
                ready.append(target)
    if len(ready) < len(groups):
        stuck = next(i for i in successors if i not in ready)
        raise UserError(
            f"the PEs form a cycle through {', '.join(f'`{id_}`' for id_ in groups[stuck])}",
            hint="no path may leave a PE and come back to it",
        )
    return [groups[i] for i in ready]


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
