"""Groups of operators cut where they would span the boundary of a parallel region.

A PE is inside of a region or outside of it, and no path leaves a PE and comes back. So a group is cut in two steps:

1. By region and level. An operator's level counts the boundaries on the way to it. It never falls along a stream and
   rises where a stream crosses a boundary, so no path leaves the operators of one group, region and level and comes
   back. The operators of a loop all have the highest of their levels.
2. That cuts more than it must: what stands in front of a region and what stands behind it may share a PE, if nothing
   leads from the one through the region to the other. So parts of one group and one region are united again, lower
   levels first, wherever no path leads from one of them to the other through a third part. Sources have nothing before
   them and sinks nothing behind them, so no such path leads through them.

Parts inside of a region are united as those outside are: how a tuple finds its channel depends on the regions at both
ends of an edge, and uniting changes neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from penstock.base.topological_order import sort_topologically
from penstock.codegen.plan.channels import Channels
from penstock.ir.graph import Application

_After = list[set[int]]
"""For each part those that it sends tuples to."""


def cut_at_regions(
    application: Application, groups: Iterable[Sequence[str]], channels: Channels
) -> list[tuple[str, ...]]:
    """Groups of operators cut so that none spans the boundary of a region, and no path leaves a part and comes back.

    Example:
        >>> cut_at_regions(Application(name="Empty"), [("A", "B")], Channels())
        [('A', 'B')]
    """
    if not channels.region:
        return [tuple(group) for group in groups]
    level = _levels(application, channels)
    numbers: dict[tuple[int, str | None, int], int] = {}
    home: dict[str, int] = {}
    for i, group in enumerate(groups):
        for id_ in group:
            home[id_] = numbers.setdefault((i, channels.region.get(id_), level[id_]), len(numbers))
    alike = _alike(numbers)
    united = _united(_after(application, home, len(numbers)), alike) if alike else {}
    parts: dict[int, list[str]] = {}
    for id_, part in home.items():
        parts.setdefault(united.get(part, part), []).append(id_)
    return [tuple(part) for part in parts.values()]


def _levels(application: Application, channels: Channels) -> dict[str, int]:
    """The level of each operator; those of a loop have one and the same.

    Loops are taken as a whole, and what is left has no cycle, so one pass in topological order finds them all.
    """
    # Slow to import, and most plans have no regions.
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(o.id for o in application.operators)
    graph.add_edges_from((producer, consumer) for producer, consumer, _, _ in application.edges())
    loops = nx.condensation(graph)
    home, region = loops.graph["mapping"], channels.region
    at_least = dict.fromkeys(loops, 0)
    for loop in sort_topologically({loop: list(loops.successors(loop)) for loop in loops}):
        for producer in loops.nodes[loop]["members"]:
            for consumer in graph.successors(producer):
                if home[consumer] != loop:
                    crossed = at_least[loop] + (region.get(producer) != region.get(consumer))
                    at_least[home[consumer]] = max(at_least[home[consumer]], crossed)
    return {id_: at_least[loop] for id_, loop in home.items()}


def _after(application: Application, home: dict[str, int], parts: int) -> _After:
    """Which parts follow each part, feedback aside; sources and sinks are in none."""
    after: _After = [set() for _ in range(parts)]
    for producer, consumer, _, feedback in application.edges():
        one, other = home.get(producer), home.get(consumer)
        if one is not None and other is not None and one != other and not feedback:
            after[one].add(other)
    return after


def _alike(numbers: dict[tuple[int, str | None, int], int]) -> list[list[int]]:
    """The parts of each group and region that was cut by levels, the lowest first."""
    found: dict[tuple[int, str | None], list[tuple[int, int]]] = {}
    for (group, region, level), part in numbers.items():
        found.setdefault((group, region), []).append((level, part))
    return [[part for _, part in sorted(parts)] for parts in found.values() if len(parts) > 1]


def _united(after: _After, alike: Iterable[list[int]]) -> dict[int, int]:
    """From a part to the one that it is united with, for those that are; `after` is changed with it."""
    united: dict[int, int] = {}
    pairs = [pair for parts in alike for pair in combinations(parts, 2)]
    left: list[tuple[int, int]] = []
    while len(pairs) != len(left):
        left, pairs = pairs, []
        for one, other in left:
            if one in united or other in united:
                continue
            if _leads_around(after, one, other) or _leads_around(after, other, one):
                pairs.append((one, other))
            else:
                _unite(after, one, other)
                united = {part: one if home == other else home for part, home in united.items()} | {other: one}
    return united


def _unite(after: _After, one: int, other: int) -> None:
    """Let a part take what another sends and gets."""
    after[one] |= after[other]
    after[other] = set()
    for followers in after:
        if other in followers:
            followers.remove(other)
            followers.add(one)
    after[one].discard(one)


def _leads_around(after: _After, start: int, goal: int) -> bool:
    """Whether a path leads from one part to another through a third."""
    seen = after[start] - {goal}
    todo = list(seen)
    while todo:
        for part in after[todo.pop()]:
            if part == goal:
                return True
            if part not in seen:
                seen.add(part)
                todo.append(part)
    return False
