"""A fusion that is changed step by step, with every step reversible: what local search works on.

Three steps suffice: open a PE, move a vertex to another PE, move a PE to another host. Sizes, loads, links and the
number of broken demands are kept up to date in time proportional to the degree of what moves. Steps are written to a
journal, so that a search can try something, look at what it touched, and roll back.

In acyclic plans every PE has a rank, and streams between PEs go from lower to higher ranks. A vertex may move where its
predecessors rank lower and its successors higher: quick to check, and no cycle can close. Which moves that rules out
depends on the ranks, so they are dealt out anew at random now and then (`rank_anew`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from penstock.base.topological_order import sort_topologically
from penstock.fusion.graph.super_graph import Group, SuperGraph, pe_widths
from penstock.fusion.search.flows import Flows


class Live:
    """PEs of super operators on hosts.

    Attributes:
        graph: What is fused.
        pe_of: The PE of each vertex.
        members: The vertices of each PE, by number.
        host_of: The host of each PE.
        sizes: SIZE of each PE.
        loads: What each host carries.
        cut: What streams between PEs cost, each once.
        broken: How many demands on hosts and exclusions within PEs are broken.
        touched: The PEs whose size or host has changed since the set was last cleared.
        clustered: The vertices that must share a host, by cluster.
        has_clusters: Whether any two must.
    """

    def __init__(self, graph: SuperGraph, pes: Sequence[Sequence[int]], host_of: Sequence[int]) -> None:
        self.graph = graph
        hosts = graph.problem.hosts
        self.capacities: list[float] = hosts.capacities.tolist()
        self.cores: list[int] = hosts.cores.tolist()
        self.pe_of = [-1] * graph.vertices
        self.members: dict[int, set[int]] = {}
        self.host_of: dict[int, int] = {}
        self.on_host: list[set[int]] = [set() for _ in self.capacities]
        self.sizes: dict[int, float] = {}
        self.ranks: dict[int, float] = {}
        self.loads = [0.0] * hosts.count
        self.cut = 0.0
        self.broken = 0
        self.touched: set[int] = set()
        self.journal: list[tuple[int, int, int, float]] = []
        self.flows = Flows(graph) if hosts.has_links else None
        self._excluded: dict[int, Counter[int]] = {}
        self._cluster_hosts: dict[int, Counter[int]] = {}
        self._colours: list[dict[int, Counter[int]]] = [{} for _ in self.capacities]
        self._widths = pe_widths(graph)
        self.clustered: dict[int, list[int]] = {}
        for v, cluster in enumerate(graph.clusters):
            self.clustered.setdefault(cluster, []).append(v)
        self.has_clusters = len(self.clustered) < graph.vertices
        self._next = 0
        for pe, host in zip(pes, host_of, strict=True):
            number = self.open_pe(host, 0.0)
            for v in pe:
                self._enter(v, number)
        self.rank_anew(None)
        self.journal.clear()
        self.touched.clear()

    def open_pe(self, host: int, rank: float) -> int:
        """Open an empty PE."""
        number = self._next
        self._next += 1
        self.members[number] = set()
        self.host_of[number] = host
        self.on_host[host].add(number)
        self.sizes[number] = 0.0
        self.ranks[number] = rank
        self._excluded[number] = Counter()
        self.journal.append((0, number, host, rank))
        return number

    def move(self, v: int, pe: int) -> None:
        """Move a vertex to another PE; a PE that loses its last vertex is closed."""
        old = self.pe_of[v]
        self._leave(v)
        self._enter(v, pe)
        self.journal.append((1, v, old, 0.0))
        if not self.members[old]:
            self._close(old)

    def rehost(self, pe: int, host: int) -> None:
        """Move a PE to another host."""
        old = self.host_of[pe]
        self.touched.add(pe)
        vertices = list(self.members[pe])
        for v in vertices:
            self._leave_host(v, old)
        self.loads[old] -= self.sizes[pe]
        self.on_host[old].discard(pe)
        self.host_of[pe] = host
        self.on_host[host].add(pe)
        self.loads[host] += self.sizes[pe]
        for v in vertices:
            self._enter_host(v, host)
        self.journal.append((2, pe, old, 0.0))

    def roll_back(self, mark: int) -> None:
        """Undo the steps after a mark: a length that the journal had."""
        while len(self.journal) > mark:
            kind, what, where, rank = self.journal.pop()
            if kind == 0:
                self._close(what, quietly=True)
            elif kind == 1:
                self._leave(what)
                self._enter(what, where)
            elif kind == 2:
                self.rehost(what, where)
                self.journal.pop()
            elif kind == 3:
                self._reopen(what, where, rank)
            else:
                self.ranks[what] = rank

    def rerank(self, pe: int, rank: float) -> None:
        """Change the rank of a PE; the caller has looked at its `window`."""
        self.journal.append((4, pe, 0, self.ranks[pe]))
        self.ranks[pe] = rank

    def _close(self, pe: int, *, quietly: bool = False) -> None:
        host = self.host_of.pop(pe)
        self.on_host[host].discard(pe)
        self.loads[host] -= self.sizes.pop(pe)
        del self.members[pe], self._excluded[pe]
        if not quietly:
            self.journal.append((3, pe, host, self.ranks[pe]))
        del self.ranks[pe]

    def _reopen(self, pe: int, host: int, rank: float) -> None:
        self.members[pe] = set()
        self.host_of[pe] = host
        self.on_host[host].add(pe)
        self.sizes[pe] = 0.0
        self.ranks[pe] = rank
        self._excluded[pe] = Counter()

    def _grow(self, pe: int, mips: float) -> None:
        self.sizes[pe] += mips
        self.loads[self.host_of[pe]] += mips

    def _enter(self, v: int, pe: int) -> None:
        self.pe_of[v] = pe
        self.members[pe].add(v)
        self.touched.add(pe)
        self._grow(pe, self.graph.costs[v])
        self._count_streams(v, pe, 1.0)
        for exclusion in self.graph.exclusions[v]:
            self._excluded[pe][exclusion] += 1
            self.broken += self._excluded[pe][exclusion] > 1
        self._enter_host(v, self.host_of[pe])

    def _leave(self, v: int) -> None:
        pe = self.pe_of[v]
        self._leave_host(v, self.host_of[pe])
        for exclusion in self.graph.exclusions[v]:
            self.broken -= self._excluded[pe][exclusion] > 1
            self._excluded[pe][exclusion] -= 1
        self._count_streams(v, pe, -1.0)
        self._grow(pe, -self.graph.costs[v])
        self.members[pe].discard(v)
        self.touched.add(pe)
        self.pe_of[v] = -1

    def _count_streams(self, v: int, pe: int, sign: float) -> None:
        for u, cost in self.graph.neighbours[v].items():
            other = self.pe_of[u]
            if other not in (-1, pe):
                self.cut += sign * cost
                self._grow(pe, sign * cost)
                self._grow(other, sign * cost)

    def _enter_host(self, v: int, host: int) -> None:
        if self.flows is not None:
            self.flows.place(v, host, self.vertex_host)
        if not self.graph.has_needs:
            return
        need = self.graph.needs[v]
        self.broken += not need.hosts >> host & 1
        there = self._cluster_hosts.setdefault(self.graph.clusters[v], Counter())
        self.broken += host not in there and len(there) > 0
        there[host] += 1
        for colouring, colour in need.colours.items():
            shown = self._colours[host].setdefault(colouring, Counter())
            self.broken += colour not in shown and len(shown) > 0
            shown[colour] += 1

    def _leave_host(self, v: int, host: int) -> None:
        if self.flows is not None:
            self.flows.take_back(v, host, self.vertex_host)
        if not self.graph.has_needs:
            return
        need = self.graph.needs[v]
        self.broken -= not need.hosts >> host & 1
        self._drop(self._cluster_hosts[self.graph.clusters[v]], host)
        for colouring, colour in need.colours.items():
            self._drop(self._colours[host][colouring], colour)

    def _drop(self, counted: Counter[int], key: int) -> None:
        counted[key] -= 1
        if not counted[key]:
            del counted[key]
            self.broken -= len(counted) > 0

    def vertex_host(self, v: int) -> int:
        """The host of a vertex, -1 if it is nowhere."""
        return self.host_of[self.pe_of[v]] if self.pe_of[v] >= 0 else -1

    def window(self, vertices: Iterable[int], pes: Sequence[int]) -> tuple[float, float]:
        """The ranks between which a PE of vertices must be, other PEs than the given ones considered."""
        low, high = -np.inf, np.inf
        for v in vertices if self.graph.acyclic else ():
            for u in self.graph.predecessors[v]:
                if self.pe_of[u] not in pes:
                    low = max(low, self.ranks[self.pe_of[u]])
            for u in self.graph.successors[v]:
                if self.pe_of[u] not in pes:
                    high = min(high, self.ranks[self.pe_of[u]])
        return low, high

    def rank_anew(self, rng: np.random.Generator | None) -> None:
        """Give PEs new ranks: a topological order, chosen at random among equals if `rng` is given."""
        if not self.graph.acyclic:
            return
        after: dict[int, set[int]] = {pe: set() for pe in self.members}
        for v, pe in enumerate(self.pe_of):
            after[pe].update(other for u in self.graph.successors[v] if (other := self.pe_of[u]) != pe)

        def draw(ready: list[int]) -> int:
            i = int(rng.integers(len(ready))) if rng else -1
            ready[i], ready[-1] = ready[-1], ready[i]
            return ready.pop()

        for rank, pe in enumerate(sort_topologically(after, take=draw)):
            self.ranks[pe] = float(rank)

    def core_utilization(self, pe: int) -> float:
        """The ratio of a PE's size to the cores that it can use."""
        host = self.host_of[pe]
        members = self.members[pe]
        channels = self._widths[next(iter(members))] or min(self.graph.channels[v] for v in members)
        return self.sizes[pe] * self.cores[host] / (self.capacities[host] * min(channels, self.cores[host]))

    def utilization(self, host: int) -> float:
        """The ratio of a host's load to its capacity."""
        return self.loads[host] / self.capacities[host]

    def pes(self) -> tuple[list[Group], list[int]]:
        """The PEs and their hosts."""
        return [tuple(sorted(vertices)) for vertices in self.members.values()], [self.host_of[p] for p in self.members]
