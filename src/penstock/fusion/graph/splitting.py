"""Top-down fusion: PEs that are split in two, and stay as valid as they were.

A group of templates is one PE, or one PE in each replica of an isomorphic high availability. The replicas are split
alike: the cut is that of their average, as the paper has it.

Example:
    >>> from penstock.fusion.problem.fusion_problem import fusion_problem
    >>> from penstock.fusion.graph.super_graph import super_graph
    >>> problem = fusion_problem([4, 4, 4, 4], [(0, 1, 9), (1, 2, 1), (2, 3, 9)], [12, 12])
    >>> splitter = Splitter(super_graph(problem), [(0, 1, 2, 3)])
    >>> splitter.split(0)
    >>> sorted(splitter.groups)
    [(0, 1), (2, 3)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from penstock.base.deadline import Deadline
from penstock.base.topological_order import sort_topologically
from penstock.fusion.cuts.cut_graph import CutGraph, cut_graph
from penstock.fusion.cuts.ratio_cut import minimum_ratio_cut
from penstock.fusion.graph.super_graph import Group, Pe, SuperGraph

_LARGE, _LEAST = 400, 0.1
_ALL_PAIRS = 40
_LARGEST_SPLIT = 2000


class Splitter:
    """A fusion that gets finer.

    Attributes:
        graph: What is fused.
        groups: The templates of each PE, or of each row of corresponding PEs.
        rows: The PEs of each group.
    """

    def __init__(self, graph: SuperGraph, groups: Iterable[Group], *, seed: int = 1) -> None:
        self.graph = graph
        self.groups = list(groups)
        self.rows = [self._row(group) for group in self.groups]
        self._is_broken = [self._breaks(row) for row in self.rows]
        self._seed = seed

    def pes(self) -> list[Pe]:
        """All PEs."""
        return [pe for row in self.rows for pe in row]

    def communication(self) -> float:
        """The paper's C: what streams between PEs cost, at both ends."""
        return sum(pe.size for pe in self.pes()) - sum(self.graph.costs)

    def broken(self) -> list[int]:
        """The groups whose PEs do not keep the demands on a PE."""
        return [number for number, is_broken in enumerate(self._is_broken) if is_broken]

    def _breaks(self, row: list[Pe]) -> bool:
        return len(row[0].vertices) > 1 and not all(self.graph.may_share_pe(pe.vertices) for pe in row)

    def largest(self, among: Sequence[int] | None = None) -> int | None:
        """The oracle: the group with the largest PE among those that can be split."""
        candidates = range(len(self.groups)) if among is None else among
        divisible = [number for number in candidates if len(self.groups[number]) > 1]
        return max(divisible, key=lambda number: max(pe.size for pe in self.rows[number]), default=None)

    def split(self, number: int, *, apart: bool = False, deadline: Deadline | None = None) -> None:
        """Split a group where it is thin; with `apart` with added demand between operators that may not share a PE."""
        self._replace(number, halves(self.graph, self.groups[number], apart=apart, seed=self._seed, deadline=deadline))

    def separate(self, number: int, deadline: Deadline) -> None:
        """Split a group that breaks a demand; where that takes too long, into PEs by first fit.

        A large group with many demands would be split hundreds of times, each time at the cost of its whole size.
        """
        if deadline.has_passed() or len(self.groups[number]) > _LARGEST_SPLIT:
            self._replace(number, self._first_fit(self.groups[number]))
        else:
            self.split(number, apart=True, deadline=deadline)

    def _first_fit(self, group: Group) -> list[Group]:
        """Templates that keep every demand together, and each that breaks one by itself."""
        graph = self.graph
        excluded, need, kept, alone = set[int](), None, list[int](), list[Group]()
        for template in group if not graph.acyclic and len(graph.templates[group[0]]) == 1 else ():
            v = graph.templates[template][0]
            joined = graph.needs[v] if need is None else need.joined(graph.needs[v])
            if joined is None or not excluded.isdisjoint(graph.exclusions[v]):
                alone.append((template,))
                continue
            kept.append(template)
            excluded |= graph.exclusions[v]
            need = joined
        return [tuple(kept), *alone] if kept else [(template,) for template in group]

    def _replace(self, number: int, parts: list[Group]) -> None:
        self.groups[number : number + 1] = parts
        rows = [self._row(part) for part in parts]
        self.rows[number : number + 1] = rows
        self._is_broken[number : number + 1] = [self._breaks(row) for row in rows]

    def _row(self, group: Group) -> list[Pe]:
        return [self.graph.pe(pe) for pe in self.graph.real(group)]


def halves(
    graph: SuperGraph, group: Group, *, apart: bool = False, seed: int = 1, deadline: Deadline | None = None
) -> list[Group]:
    """A group split where it is thin; in acyclic plans streams go from the first half to the second.

    Replicas may disagree so that no cut goes one way in all of them; then every template is a part by itself.

    Args:
        graph: What is fused.
        group: At least two templates.
        apart: Whether to add demand between operators that may not share a PE.
        seed: What random choices start from.
        deadline: When to stop improving the cut.
    """
    inside = _inside(graph, group, apart)
    if inside is None:
        return [(template,) for template in group]
    marked = list(zip(group, minimum_ratio_cut(inside, seed, deadline).tolist(), strict=True))
    return [tuple(template for template, is_first in marked if is_first is half) for half in (True, False)]


def _inside(graph: SuperGraph, group: Group, apart: bool) -> CutGraph | None:
    """The average of a group's PEs in units of its largest costs, or None if replicas disagree."""
    place = {v: (number, r) for number, t in enumerate(group) for r, v in enumerate(graph.templates[t])}
    count = len(graph.templates[group[0]])
    before = _before(graph, place) if graph.acyclic else set()
    if before and not _has_order(len(group), before):
        return None
    costs = [sum(graph.costs[v] for v in graph.templates[t]) / count for t in group]
    most, dearest = max(costs) or 1.0, max(max(graph.neighbours[v].values(), default=0.0) for v in place) or 1.0
    edges = [
        (number, place[u][0], cost / count / dearest)
        for v, (number, replica) in place.items()
        for u, cost in graph.neighbours[v].items()
        if u in place and place[u][1] == replica and number < place[u][0]
    ]
    least = _LEAST if len(group) > _LARGE else 0.0
    apart_pairs = _exlocated(graph, place) if apart else ()
    return cut_graph([cost / most for cost in costs], edges, before=before, apart=apart_pairs, least=least)


def _before(graph: SuperGraph, place: dict[int, tuple[int, int]]) -> set[tuple[int, int]]:
    return {
        (number, place[u][0])
        for v, (number, replica) in place.items()
        for u in graph.successors[v]
        if u in place and place[u][1] == replica
    }


def _exlocated(graph: SuperGraph, place: dict[int, tuple[int, int]]) -> set[tuple[int, int]]:
    """Pairs that may not share a PE: PE exlocated ones, and those that must be on different hosts."""
    holders: dict[tuple[str, int], dict[int, int]] = {}
    for v, (number, _) in place.items():
        for exclusion in graph.exclusions[v]:
            holders.setdefault(("PE", exclusion), {})[number] = number
        for colouring, colour in graph.needs[v].colours.items():
            holders.setdefault(("host", colouring), {})[number] = colour
    return {pair for colour_of in holders.values() for pair in _unlike(colour_of)}


def _unlike(colour_of: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Pairs of different colours: all of them in small sets, and in large ones those at distances of powers of two."""
    if len(set(colour_of.values())) == 1:
        return
    members = sorted(colour_of)
    count = len(members)
    steps = range(1, count) if count <= _ALL_PAIRS else [1 << power for power in range(count.bit_length() - 1)]
    for step in steps:
        for one, other in zip(members, members[step:], strict=False):
            if colour_of[one] != colour_of[other]:
                yield one, other


def _has_order(count: int, before: Iterable[tuple[int, int]]) -> bool:
    after: dict[int, list[int]] = {v: [] for v in range(count)}
    for u, v in before:
        after[u].append(v)
    return len(sort_topologically(after)) == count
