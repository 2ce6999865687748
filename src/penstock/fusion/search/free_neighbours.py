"""Large-neighbourhood search: free a few operators and place them anew in the best way there is.

Single moves end where two operators would have to change places at once. Here some operators, and all that corresponds
to them in other replicas, are taken out of their PEs; the rest stays; and the exact search (`branching`) places them
again with a smaller bottleneck, if that is possible. With all operators free it is the exact algorithm itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from penstock.fusion.graph.super_graph import Group, SuperGraph
from penstock.fusion.problem.objective import Goal
from penstock.fusion.search.branching import Branching
from penstock.fusion.search.complete import BETTER, Clock, connected_order, search_below

_THROUGHPUT = Goal(objective="throughput")


def place_anew(
    graph: SuperGraph,
    pes: Sequence[Group],
    host_of: Sequence[int],
    freed: Iterable[int],
    bottleneck: float,
    clock: Clock,
) -> tuple[list[Group], list[int], float] | None:
    """A fusion that differs only in where some vertices are and has a smaller bottleneck; None if none was found.

    Args:
        graph: What is fused.
        pes: The fusion as it is.
        host_of: The host of each PE.
        freed: The vertices that may move; whole templates.
        bottleneck: What to beat.
        clock: When to give up.
    """
    free = set(freed)
    state = Branching(graph, _THROUGHPUT)
    for pe, host in zip(pes, host_of, strict=True):
        number = -1
        for v in sorted(pe):
            if v not in free:
                if clock.is_late():
                    return None
                placed = state.place(v, number, host)
                number = len(state.pes) - 1 if placed is None else placed
    if state.value() >= bottleneck * BETTER:
        return None
    found, _ = search_below(state, connected_order(graph, sorted(free)), bottleneck, clock)
    return None if found.pes is None else (found.pes, found.host_of, found.value)


def near(graph: SuperGraph, start: Sequence[int], count: int, rng: np.random.Generator) -> set[int]:
    """Vertices around some, whole templates, about as many as asked for: neighbours of those chosen, at random."""
    number_of = {v: t for t, template in enumerate(graph.templates) for v in template}
    chosen: set[int] = set()
    waiting = [number_of[v] for v in start]
    while len(chosen) < count:
        if not waiting:
            left = [t for t in range(len(graph.templates)) if t not in chosen]
            if not left:
                break
            waiting.append(int(rng.choice(left)))
        t = waiting.pop(int(rng.integers(len(waiting))))
        if t not in chosen:
            chosen.add(t)
            waiting += [number_of[u] for v in graph.templates[t] for u in graph.neighbours[v]]
    return {v for t in chosen for v in graph.templates[t]}
