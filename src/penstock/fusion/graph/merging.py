"""Bottom-up fusion: PEs that are merged two at a time, and never into something that is not valid.

Starts with a PE for each super operator, or with PEs that were made otherwise. Before two groups are merged it is
checked that the result keeps every demand on PEs, that hosts can still be found, and, in acyclic plans, that no cycle
closes. So every state is valid. Groups are of templates: the replicas of an isomorphic high availability are merged
alike.

Example:
    >>> from penstock.fusion.problem.fusion_problem import fusion_problem
    >>> from penstock.fusion.graph.super_graph import super_graph
    >>> merger = Merger(super_graph(fusion_problem([1, 1, 1], [(0, 1, 5), (1, 2, 4)], [9])))
    >>> merger.merge(0, 1)
    >>> sorted(merger.groups.values()), merger.between[0]
    ([(0, 1), (2,)], {2: 4.0})
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from penstock.base.deadline import Deadline
from penstock.fusion.graph.host_needs import HostNeed, joined_needs
from penstock.fusion.graph.host_witness import HostWitness
from penstock.fusion.graph.pe_order import Order
from penstock.fusion.graph.super_graph import Group, SuperGraph


class Merger:
    """A valid fusion that gets coarser.

    Args:
        graph: What is fused.
        start: A valid fusion; one group for each template unless given.
        deadline: When to stop asking whether hosts can be found; then nothing is merged that would need it.

    Attributes:
        groups: The templates of each PE (or of each row of corresponding PEs), by number.
        costs: The cost of the operators of each group.
        sizes: SIZE of each group.
        between: What flows between corresponding PEs of two groups, in mips: what a merge saves, once.
    """

    def __init__(
        self, graph: SuperGraph, start: Iterable[Group] | None = None, deadline: Deadline | None = None
    ) -> None:
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
        self._witness: HostWitness | None = None
        if graph.has_needs:
            self._witness = self._start_witness([pe for row in rows for pe in row], deadline or Deadline.after(None))

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
        pairs = self._corresponding(one, other)
        for p, q in pairs if self._order is not None else ():
            assert self._order is not None
            self._order.merge(p, q)
        if self._witness is not None:
            self._witness.join(self._units(pairs, join=True))
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

    def merge_by_benefit(self, is_wanted: Callable[[int, int], bool], deadline: Deadline) -> None:
        """Merge connected groups, the pair with the largest benefit first, while some pair is wanted and valid.

        A pair that was turned down stays so until one of the two changes, and then it is offered anew. Of the two the
        one with more neighbours is the first, and stays: a hub is not rewritten for each of its leaves.
        """
        heap = [(-cost, a, b) for a, row in self.between.items() for b, cost in row.items() if a < b]
        heapq.heapify(heap)
        turned_down: dict[int, set[int]] = {}
        while heap and not deadline.has_passed():
            negated, one, other = heapq.heappop(heap)
            if self.between.get(one, {}).get(other) != -negated:
                continue
            one, other = (one, other) if len(self.between[one]) >= len(self.between[other]) else (other, one)
            if not (is_wanted(one, other) and self.may_merge(one, other)):
                turned_down.setdefault(one, set()).add(other)
                turned_down.setdefault(other, set()).add(one)
                continue
            changed = set(self.between[other]) | turned_down.pop(one, set()) | turned_down.pop(other, set())
            self.merge(one, other)
            for neighbour in changed & self.between[one].keys():
                heapq.heappush(heap, (-self.between[one][neighbour], min(one, neighbour), max(one, neighbour)))

    def kind(self, number: int) -> tuple[int, ...]:
        """The kinds of the PEs of a group; only groups of one kind can be merged."""
        return tuple(self.graph.kinds[self._first[pe]] for pe in self._pes_of[number])

    def pes(self) -> list[Group]:
        """The PEs, of super operators."""
        return [pe for group in self.groups.values() for pe in self.graph.real(group)]

    def _corresponding(self, one: int, other: int) -> list[tuple[int, int]]:
        """The PEs of two groups, replica by replica; groups of different numbers of replicas differ in kind anyway."""
        return list(zip(self._pes_of[one], self._pes_of[other], strict=False))

    def _leaves_order(self, pairs: list[tuple[int, int]]) -> bool:
        if self._order is None:
            return True
        return self._order.may_merge(*pairs[0]) if len(pairs) == 1 else self._order.may_merge_all(pairs)

    def _leaves_hosts(self, pairs: list[tuple[int, int]]) -> bool:
        return self._witness is None or self._witness.may_join(self._units(pairs))

    def _start_witness(self, pes: list[Group], deadline: Deadline) -> HostWitness:
        """Units of the clusters that PEs hold together."""
        for pe in pes:
            for v in pe[1:]:
                one, other = self._unit(pe[0]), self._unit(v)
                self._unit_of[max(one, other)] = min(one, other)
        asked: dict[int, dict[int, HostNeed]] = {}
        for v, cluster in enumerate(self.graph.clusters):
            asked.setdefault(self._unit(v), {})[cluster] = self.graph.needs[v]
        hosts = self.graph.problem.hosts.count
        needs = {unit: joined_needs(by_cluster.values(), hosts) for unit, by_cluster in asked.items()}
        nothing = HostNeed(hosts=0, colours={})
        return HostWitness({unit: need or nothing for unit, need in needs.items()}, hosts, deadline)

    def _units(self, pairs: list[tuple[int, int]], *, join: bool = False) -> list[tuple[int, int]]:
        """The units that a merge joins, one pair after the other; with `join` they are joined."""
        kept: dict[int, int] = {}
        found = []
        for p, q in pairs:
            one, other = (self._unit(self._first[end], kept) for end in (p, q))
            if one != other:
                found.append((one, other))
                kept[other] = one
        if join:
            for unit, into in kept.items():
                self._unit_of[unit] = into
        return found

    def _unit(self, vertex: int, joined: Mapping[int, int] = MappingProxyType({})) -> int:
        """The unit of a vertex, when some units have joined others."""
        unit = self.graph.clusters[vertex]
        while (above := self._unit_of[unit]) != unit or (above := joined.get(unit, unit)) != unit:
            self._unit_of[unit] = self._unit_of[self._unit_of[unit]]
            unit = above
        return unit


def pairs_of(merger: Merger) -> Iterator[tuple[int, int]]:
    """All pairs of groups that may be of one kind, connected or not."""
    by_kind: dict[object, list[int]] = {}
    for number in sorted(merger.groups):
        by_kind.setdefault(merger.kind(number), []).append(number)
    for numbers in by_kind.values():
        for position, one in enumerate(numbers):
            for other in numbers[:position]:
                if one in merger.groups and other in merger.groups:
                    yield other, one
