"""Branch and bound over PEs and hosts: whether anything fits, and what is best. `exact` says how it works."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.base.deadline import Deadline
from penstock.fusion.branching import Branching
from penstock.fusion.evaluate import TOLERANCE
from penstock.fusion.problem import Assignment
from penstock.fusion.super_graph import Group, SuperGraph

BETTER = 1 - 1e-9
"""A bottleneck counts as better if it is below this part of another."""

_MOST_VERTICES = 40
_MOST_STEPS = 100_000


class Found:
    """The best fusion that a search has come across.

    Attributes:
        pes: Its PEs, of super operators; None if there is none yet.
        host_of: Their hosts.
        bottleneck: What limits it.
    """

    def __init__(self, bottleneck: float = float("inf")) -> None:
        self.pes: list[Group] | None = None
        self.host_of: list[int] = []
        self.bottleneck = bottleneck

    def keep(self, state: Branching) -> None:
        """Keep a complete state."""
        kept = [pe for pe in state.pes if pe.vertices]
        self.pes, self.host_of = [tuple(pe.vertices) for pe in kept], [pe.host for pe in kept]
        self.bottleneck = state.value()[1]


class Clock:
    """Says when a search has taken too long: a deadline, looked at now and then, and a number of steps."""

    def __init__(self, deadline: Deadline, steps: float = float("inf")) -> None:
        self._deadline = deadline
        self._most = steps
        self.steps = 0

    def is_over(self) -> bool:
        """Whether to give up; counts a step."""
        self.steps += 1
        return self.steps > self._most or (self.steps % 64 == 0 and self._deadline.has_passed())


def fits(graph: SuperGraph, deadline: Deadline) -> bool | None:
    """Whether some valid fusion loads no host beyond its capacity; None if that was not found out.

    Example:
        >>> from penstock.fusion.problem import fusion_problem
        >>> from penstock.fusion.super_graph import super_graph
        >>> fits(super_graph(fusion_problem([3, 3, 3], [(0, 1, 5), (1, 2, 5)], [5, 5])), Deadline.after(None))
        False
    """
    found, finished = fitting(graph, deadline)
    return True if found is not None else False if finished else None


def fitting(graph: SuperGraph, deadline: Deadline) -> tuple[Assignment | None, bool]:
    """Any fusion that loads no host beyond its capacity, and whether the search for one was complete."""
    if graph.vertices > _MOST_VERTICES:
        return None, False
    state = Branching(graph, by_host_only=True)
    state.limit_to(1.0 + TOLERANCE, fit=True)
    found = Found()

    def enough() -> bool:
        found.keep(state)
        return True

    finished = search(state, connected_order(graph), is_over=Clock(deadline, _MOST_STEPS).is_over, found=enough)
    return (None if found.pes is None else graph.assignment(found.pes, found.host_of)), finished


def solve(
    graph: SuperGraph, start: Assignment | None, bottleneck: float, clock: Clock
) -> tuple[Assignment | None, bool]:
    """Search for fusions that fit and have a bottleneck below a given one.

    Args:
        graph: The problem.
        start: What has this bottleneck, if anything has.
        bottleneck: What to beat.
        clock: When to give up.

    Returns:
        The best fusion, and whether it is proven that there is no better one.
    """
    found, finished = search_below(Branching(graph), connected_order(graph), bottleneck, clock)
    return (start if found.pes is None else graph.assignment(found.pes, found.host_of)), finished


def search_below(state: Branching, order: Sequence[int], bottleneck: float, clock: Clock) -> tuple[Found, bool]:
    """The best way to place vertices that beats a bottleneck and fits, and whether the search was complete."""
    found = Found(bottleneck)

    def better() -> bool:
        found.keep(state)
        state.limit_to(found.bottleneck * BETTER, fit=True)
        return False

    state.limit_to(bottleneck * BETTER, fit=True)
    return found, search(state, order, is_over=clock.is_over, found=better)


def connected_order(graph: SuperGraph, among: Sequence[int] | None = None) -> list[int]:
    """Vertices, heavy ones and those most connected with what stands before them first; replicas after their first."""
    left = set(range(graph.vertices) if among is None else among)
    first_of = {v: template[0] for template in graph.templates for v in template}
    pull = dict.fromkeys(left, 0.0)
    order: list[int] = []
    while left:
        ready = [v for v in left if first_of[v] == v or first_of[v] not in left]
        v = max(ready, key=lambda v: (pull[v] + graph.costs[v], -v))
        left.remove(v)
        order.append(v)
        for u, cost in graph.neighbours[v].items():
            if u in left:
                pull[u] += cost
    return order


def search(
    state: Branching,
    order: Sequence[int],
    *,
    is_over: Callable[[], bool],
    found: Callable[[], bool],
) -> bool:
    """Place vertices in order, every way that stays within the limits.

    Args:
        state: Where to start; as it was at the end.
        order: The vertices to place.
        is_over: Asked at every step: whether to give up.
        found: Called at every complete fusion; whether that is enough.

    Returns:
        Whether everything was searched.
    """
    if is_over():
        return False
    if not order:
        return not found()
    v, *rest = order
    for p, host in list(state.options(v)):
        within = state.place(v, p, host) is not None
        finished = not within or search(state, rest, is_over=is_over, found=found)
        state.take_back(v)
        if not finished:
            return False
    return True
