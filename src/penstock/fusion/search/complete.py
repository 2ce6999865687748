"""Branch and bound over PEs and hosts: whether anything fits, and what is best. `exact` says how it works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from penstock.base.deadline import Deadline
from penstock.fusion.graph.super_graph import Group, SuperGraph
from penstock.fusion.problem.fusion_problem import Assignment
from penstock.fusion.problem.objective import Goal
from penstock.fusion.search.branching import Branching

BETTER = 1 - 1e-9
"""A value counts as better if it is below this part of another."""

_MOST_VERTICES = 40
_MOST_STEPS = 100_000
_MOST_EXACT = 250
"""Beyond this the tree is hopelessly large, and deeper than Python recurses."""


class Found:
    """The best fusion that a search has come across.

    Attributes:
        pes: Its PEs, of super operators; None if there is none yet.
        host_of: Their hosts.
        value: By what it is judged.
    """

    def __init__(self, value: float = float("inf")) -> None:
        self.pes: list[Group] | None = None
        self.host_of: list[int] = []
        self.value = value

    def keep(self, state: Branching) -> None:
        """Keep a complete state."""
        kept = [pe for pe in state.pes if pe.vertices]
        self.pes, self.host_of = [tuple(pe.vertices) for pe in kept], [pe.host for pe in kept]
        self.value = state.value()


class Clock:
    """Says when a search has taken too long: a deadline, and a number of steps."""

    def __init__(self, deadline: Deadline, steps: float = float("inf")) -> None:
        self._deadline = deadline
        self._most = steps
        self.steps = 0

    def is_over(self) -> bool:
        """Whether to give up; counts a step."""
        self.steps += 1
        return self.steps > self._most or self._deadline.has_passed()

    def is_late(self) -> bool:
        """Whether the deadline has passed; counts nothing. A single step may try hundreds of places."""
        return self._deadline.has_passed()


def fits(graph: SuperGraph, deadline: Deadline) -> bool | None:
    """Whether some valid fusion loads no host beyond its capacity; None if that was not found out.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> fits(super_graph(fusion_problem([3, 3, 3], [(0, 1, 5), (1, 2, 5)], [5, 5])), Deadline.after(None))
        False
    """
    found, finished = fitting(graph, deadline)
    return True if found is not None else False if finished else None


def fitting(graph: SuperGraph, deadline: Deadline) -> tuple[Assignment | None, bool]:
    """Any fusion that loads no host beyond its capacity, and whether the search for one was complete."""
    if graph.vertices > _MOST_VERTICES:
        return None, False
    state = Branching(graph, Goal(objective="cut"))
    state.limit_to(float("inf"), fit=True)
    found = Found()

    def enough() -> bool:
        found.keep(state)
        return True

    finished = search(state, connected_order(graph), clock=Clock(deadline, _MOST_STEPS), found=enough)
    return (None if found.pes is None else graph.assignment(found.pes, found.host_of)), finished


def solve(
    graph: SuperGraph, start: Assignment | None, value: float, goal: Goal, clock: Clock
) -> tuple[Assignment | None, bool]:
    """Search for fusions that fit and have a value below a given one.

    Args:
        graph: The problem.
        start: What has this value, if anything has.
        value: What to beat.
        goal: What is minimized.
        clock: When to give up.

    Returns:
        The best fusion, and whether it is proven that there is no better one.
    """
    if not can_be_searched(graph):
        return start, False
    found, finished = search_below(Branching(graph, goal), connected_order(graph), value, clock)
    return (start if found.pes is None else graph.assignment(found.pes, found.host_of)), finished


def can_be_searched(graph: SuperGraph) -> bool:
    """Whether `solve` searches a graph at all."""
    return graph.vertices <= _MOST_EXACT


def search_below(state: Branching, order: Sequence[int], value: float, clock: Clock) -> tuple[Found, bool]:
    """The best way to place vertices that beats a value and fits, and whether the search was complete."""
    found = Found(value)

    def better() -> bool:
        found.keep(state)
        state.limit_to(found.value * BETTER, fit=True)
        return False

    state.limit_to(value * BETTER, fit=True)
    return found, search(state, order, clock=clock, found=better)


def connected_order(graph: SuperGraph, among: Sequence[int] | None = None) -> list[int]:
    """Vertices, heavy ones and those most connected with what stands before them first; replicas after their first."""
    left = set(range(graph.vertices) if among is None else among)
    template_of = {template[0]: template for template in graph.templates}
    behind = {v for template in graph.templates for v in template[1:] if template[0] in left}
    pull = {v: graph.costs[v] for v in left}
    heap = [(-pull[v], v) for v in left - behind]
    heapify(heap)
    order: list[int] = []
    while heap:
        weight, v = heappop(heap)
        if v not in left or -weight != pull[v]:
            continue
        left.remove(v)
        order.append(v)
        ready = [u for u in template_of.get(v, ())[1:] if u in left]
        behind.difference_update(ready)
        for u, cost in graph.neighbours[v].items():
            if u in left:
                pull[u] += cost
                ready += [] if u in behind else [u]
        for u in ready:
            heappush(heap, (-pull[u], u))
    return order


def search(
    state: Branching,
    order: Sequence[int],
    *,
    clock: Clock,
    found: Callable[[], bool],
) -> bool:
    """Place vertices in order, every way that stays within the limits.

    Args:
        state: Where to start; as it was at the end.
        order: The vertices to place.
        clock: When to give up.
        found: Called at every complete fusion; whether that is enough.

    Returns:
        Whether everything was searched.
    """

    def descend(depth: int) -> bool:
        if clock.is_over():
            return False
        if depth == len(order):
            return not found()
        v = order[depth]
        for p, host in list(state.options(v)):
            within = state.place(v, p, host) is not None
            finished = not within or descend(depth + 1)
            state.take_back(v)
            if not finished or clock.is_late():
                return False
        return True

    return descend(0)
