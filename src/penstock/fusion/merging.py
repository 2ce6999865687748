"""Bottom-up fusion: PEs that are merged two at a time, and never into something that is not valid.

Starts with a PE for each super operator. Before two groups are merged it is checked that the result keeps every demand
on PEs, that hosts can still be found, and, in acyclic plans, that no cycle closes. So every state is valid.
Groups are of templates: the replicas of an isomorphic high availability are merged alike.

Example:
    >>> from penstock.fusion.problem import fusion_problem
    >>> from penstock.fusion.super_graph import super_graph
    >>> merger = Merger(super_graph(fusion_problem([1, 1, 1], [(0, 1, 5), (1, 2, 4)], [9])))
    >>> merger.merge(0, 1)
    >>> sorted(merger.groups.values()), merger.between[0]
    ([(0, 1), (2,)], {2: 4.0})
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Callable, Iterator

from penstock.fusion.order import Order
from penstock.fusion.scheduling import is_assignable
from penstock.fusion.super_graph import Group, SuperGraph


class Merger:
    """A valid fusion that gets coarser.

    Attributes:
        graph: What is fused.
        groups: The templates of each PE (or of each row of corresponding PEs), by number.
        costs: The cost of the operators of each group.
        sizes: SIZE of each group.
        between: What flows between groups, in mips.
    """

    def __init__(self, graph: SuperGraph) -> None:
        self.graph = graph
        self.groups: dict[int, Group] = {t: (t,) for t in range(len(graph.templates))}
        self.costs = {t: sum(graph.costs[v] for v in vertices) for t, vertices in enumerate(graph.templates)}
        self.sizes = {t: sum(graph.size((v,)) for v in vertices) for t, vertices in enumerate(graph.templates)}
        self.between: dict[int, dict[int, float]] = {t: {} for t in self.groups}
        self._connect()
        self._order = Order(graph.successors, graph.predecessors) if graph.acyclic else None
        self._exclusions = {t: [graph.exclusions[v] for v in vs] for t, vs in enumerate(graph.templates)}
        self._unit_of = list(range(graph.vertices))
        self._unit_need = dict(zip(graph.clusters, graph.needs, strict=True))

    def _connect(self) -> None:
        """Only what flows between corresponding replicas can be saved by a merge."""
        place = {v: (t, replica) for t, vs in enumerate(self.graph.templates) for replica, v in enumerate(vs)}
        for v, neighbours in enumerate(self.graph.neighbours):
            template, replica = place[v]
            for u, cost in neighbours.items():
                other, other_replica = place[u]
                if replica == other_replica and other != template:
                    self.between[template][other] = self.between[template].get(other, 0.0) + cost

    def may_merge(self, one: int, other: int) -> bool:
        """Whether the fusion is still valid when two groups are merged."""
        graph = self.graph
        pairs = self._corresponding(one, other)
        if any(graph.kinds[u] != graph.kinds[v] for u, v in pairs):
            return False
        exclusions = zip(self._exclusions[one], self._exclusions[other], strict=True)
        if any(not mine.isdisjoint(theirs) for mine, theirs in exclusions):
            return False
        return self._leaves_order(pairs) and self._leaves_hosts(pairs)

    def merge(self, one: int, other: int) -> None:
        """Merge the second group into the first; the caller has asked `may_merge`."""
        for u, v in self._corresponding(one, other):
            if self._order is not None:
                self._order.merge(u, v)
            if self.graph.has_needs:
                self._join_units(u, v)
        saved = self.between[one].pop(other, 0.0)
        for neighbour, cost in self.between.pop(other).items():
            if neighbour != one:
                self.between[one][neighbour] = self.between[one].get(neighbour, 0.0) + cost
                del self.between[neighbour][other]
                self.between[neighbour][one] = self.between[one][neighbour]
        self.costs[one] += self.costs.pop(other)
        self.sizes[one] += self.sizes.pop(other) - 2 * saved
        self.groups[one] += self.groups.pop(other)
        theirs = self._exclusions.pop(other)
        self._exclusions[one] = [a | b for a, b in zip(self._exclusions[one], theirs, strict=True)]

    def merge_by_benefit(self, is_wanted: Callable[[int, int], bool]) -> None:
        """Merge connected groups, the pair with the largest benefit first, while some pair is wanted and valid.

        A pair that was turned down stays so until one of the two changes, and then it is offered anew.
        """
        heap = [(-cost, a, b) for a, row in self.between.items() for b, cost in row.items() if a < b]
        heapq.heapify(heap)
        while heap:
            negated, one, other = heapq.heappop(heap)
            if self.between.get(one, {}).get(other) != -negated:
                continue
            if is_wanted(one, other) and self.may_merge(one, other):
                self.merge(one, other)
                for neighbour, cost in self.between[one].items():
                    heapq.heappush(heap, (-cost, min(one, neighbour), max(one, neighbour)))

    def pes(self) -> list[Group]:
        """The PEs, of super operators."""
        return [pe for group in self.groups.values() for pe in self.graph.real(group)]

    def _corresponding(self, one: int, other: int) -> list[tuple[int, int]]:
        """A super operator of each group, replica by replica; it stands for its PE."""
        rows = (self.graph.templates[self.groups[group][0]] for group in (one, other))
        return list(zip(*rows, strict=False))

    def _leaves_order(self, pairs: list[tuple[int, int]]) -> bool:
        if self._order is None:
            return True
        if len(pairs) == 1:
            return self._order.may_merge(*pairs[0])
        # Several merges at once can close a cycle that none closes alone, so they are tried one after the other.
        trial = copy.deepcopy(self._order)
        for u, v in pairs:
            if not trial.may_merge(u, v):
                return False
            trial.merge(u, v)
        return True

    def _leaves_hosts(self, pairs: list[tuple[int, int]]) -> bool:
        if not self.graph.has_needs:
            return True
        for u, v in pairs:
            mine, theirs = self._unit_need[self._unit(u)], self._unit_need[self._unit(v)]
            if not (mine.is_implied_by(theirs) or theirs.is_implied_by(mine)):
                return self._can_assign(pairs)
        return len(pairs) == 1 or self._can_assign(pairs)

    def _can_assign(self, pairs: list[tuple[int, int]]) -> bool:
        before = self._unit_of.copy(), self._unit_need.copy()
        joined = all(self._join_units(u, v) for u, v in pairs)
        fits = joined and is_assignable(self._unit_need.values(), self.graph.problem.hosts.count)
        self._unit_of, self._unit_need = before
        return fits

    def _join_units(self, u: int, v: int) -> bool:
        one, other = self._unit(u), self._unit(v)
        if one == other:
            return True
        need = self._unit_need[one].joined(self._unit_need[other])
        if need is None:
            return False
        self._unit_of[other] = one
        del self._unit_need[other]
        self._unit_need[one] = need
        return True

    def _unit(self, vertex: int) -> int:
        unit = self.graph.clusters[vertex]
        while self._unit_of[unit] != unit:
            unit = self._unit_of[unit]
        return unit


def pairs_of(merger: Merger) -> Iterator[tuple[int, int]]:
    """All pairs of groups, connected or not."""
    numbers = sorted(merger.groups)
    for position, one in enumerate(numbers):
        for other in numbers[:position]:
            if one in merger.groups and other in merger.groups:
                yield other, one
