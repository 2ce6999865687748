"""Bottom-up fusion: PEs that are merged two at a time, and never into something that is not valid.

Starts with a PE for each super operator, or with PEs that were made otherwise. Before two groups are merged it is
checked that the result keeps every demand on PEs, that hosts can still be found, and, in acyclic plans, that no cycle
closes. So every state is valid. Groups are of templates: the replicas of an isomorphic high availability are merged
alike.

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
from collections.abc import Callable, Iterable, Iterator

from penstock.fusion.order import Order
from penstock.fusion.scheduling import is_assignable
from penstock.fusion.super_graph import Group, SuperGraph


class Merger:
    """A valid fusion that gets coarser.

    Args:
        graph: What is fused.
        start: A valid fusion; one group for each template unless given.

    Attributes:
        groups: The templates of each PE (or of each row of corresponding PEs), by number.
        costs: The cost of the operators of each group.
        sizes: SIZE of each group.
        between: What flows between corresponding PEs of two groups, in mips: what a merge saves, once.
    """

    def __init__(self, graph: SuperGraph, start: Iterable[Group] | None = None) -> None:
        self.graph = graph
        singles = ((template,) for template in range(len(graph.templates)))
        self.groups: dict[int, Group] = dict(enumerate(singles if start is None else start))
        rows = [list(graph.real(group)) for group in self.groups.values()]
        self.costs = {g: sum(graph.costs[v] for pe in row for v in pe) for g, row in enumerate(rows)}
        self.sizes = {g: sum(graph.size(pe) for pe in row) for g, row in enumerate(rows)}
        self.between: dict[int, dict[int, float]] = {g: {} for g in self.groups}
        self._pes_of: dict[int, list[int]] = {}
        self._first: list[int] = []
        self._exclusions: dict[int, list[frozenset[int]]] = {}
        for number, row in enumerate(rows):
            self._pes_of[number] = list(range(len(self._first), len(self._first) + len(row)))
            self._first += [pe[0] for pe in row]
            self._exclusions[number] = [frozenset().union(*(graph.exclusions[v] for v in pe)) for pe in row]
        self._order = self._connect([pe for row in rows for pe in row])
        self._unit_of = list(range(graph.vertices))
        self._unit_need = dict(zip(graph.clusters, graph.needs, strict=True))
        for pe in (pe for row in rows for pe in row) if graph.has_needs else ():
            for v in pe[1:]:
                self._join_units(pe[0], v)

    def _connect(self, pes: list[Group]) -> Order | None:
        """Count what flows between groups; only what flows between PEs of one replica can be saved by a merge."""
        graph = self.graph
        place = {pe: (g, replica) for g, row in self._pes_of.items() for replica, pe in enumerate(row)}
        pe_of = {v: number for number, pe in enumerate(pes) for v in pe}
        for v, neighbours in enumerate(graph.neighbours):
            (mine, replica), row = place[pe_of[v]], self.between[place[pe_of[v]][0]]
            for u, cost in neighbours.items():
                theirs, other = place[pe_of[u]]
                if replica == other and mine != theirs:
                    row[theirs] = row.get(theirs, 0.0) + cost
        if not graph.acyclic:
            return None
        after = [{pe_of[u] for v in pe for u in graph.successors[v]} - {i} for i, pe in enumerate(pes)]
        before = [{pe_of[u] for v in pe for u in graph.predecessors[v]} - {i} for i, pe in enumerate(pes)]
        return Order(after, before)

    def may_merge(self, one: int, other: int) -> bool:
        """Whether the fusion is still valid when two groups are merged."""
        graph = self.graph
        pairs = self._corresponding(one, other)
        if any(graph.kinds[self._first[p]] != graph.kinds[self._first[q]] for p, q in pairs):
            return False
        exclusions = zip(self._exclusions[one], self._exclusions[other], strict=True)
        if any(not mine.isdisjoint(theirs) for mine, theirs in exclusions):
            return False
        return self._leaves_order(pairs) and self._leaves_hosts(pairs)

    def merge(self, one: int, other: int) -> None:
        """Merge the second group into the first; the caller has asked `may_merge`."""
        for p, q in self._corresponding(one, other):
            if self._order is not None:
                self._order.merge(p, q)
            if self.graph.has_needs:
                self._join_units(self._first[p], self._first[q])
        saved = self.between[one].pop(other, 0.0)
        for neighbour, cost in self.between.pop(other).items():
            if neighbour != one:
                self.between[one][neighbour] = self.between[one].get(neighbour, 0.0) + cost
                del self.between[neighbour][other]
                self.between[neighbour][one] = self.between[one][neighbour]
        self.costs[one] += self.costs.pop(other)
        self.sizes[one] += self.sizes.pop(other) - 2 * saved
        self.groups[one] += self.groups.pop(other)
        del self._pes_of[other]
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
        """The PEs of two groups, replica by replica; groups of different numbers of replicas differ in kind anyway."""
        return list(zip(self._pes_of[one], self._pes_of[other], strict=False))

    def _leaves_order(self, pairs: list[tuple[int, int]]) -> bool:
        if self._order is None:
            return True
        if len(pairs) == 1:
            return self._order.may_merge(*pairs[0])
        # Several merges at once can close a cycle that none closes alone, so they are tried one after the other.
        trial = copy.deepcopy(self._order)
        for p, q in pairs:
            if not trial.may_merge(p, q):
                return False
            trial.merge(p, q)
        return True

    def _leaves_hosts(self, pairs: list[tuple[int, int]]) -> bool:
        if not self.graph.has_needs:
            return True
        ends = [(self._first[p], self._first[q]) for p, q in pairs]
        mine, theirs = (self._unit_need[self._unit(v)] for v in ends[0])
        if len(ends) == 1 and (mine.is_implied_by(theirs) or theirs.is_implied_by(mine)):
            return True
        before = self._unit_of.copy(), self._unit_need.copy()
        joined = all(self._join_units(u, v) for u, v in ends)
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
