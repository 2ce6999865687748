"""A fusion that is built vertex by vertex and taken back again, within limits: the state of the exact search.

Each vertex joins a PE or opens one on a host. Sizes, loads, links and streams that are certainly cut are kept up to
date, and so is a lower bound on what will be cut: a vertex that is still open can be in one PE only, so what flows
between it and all other PEs is lost. Everything only grows while vertices are placed, so a state beyond a limit need
not be followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.base.topological_order import sort_topologically
from penstock.fusion.graph.super_graph import SuperGraph, pe_widths
from penstock.fusion.problem.costs import TOLERANCE
from penstock.fusion.problem.objective import Goal
from penstock.fusion.search.flows import Flows

_LOOSE = 1 + TOLERANCE / 2


@dataclass(slots=True, kw_only=True, eq=False)
class OpenPe:
    """A PE that is being built.

    Attributes:
        host: Where it is.
        vertices: What is in it.
        size: SIZE as far as it is certain.
        members: The vertices as bits.
        reach: The vertices that follow from them, as bits.
        outer: What flows between it and vertices that were open when it met them.
    """

    host: int
    vertices: list[int] = field(default_factory=list)
    size: float = 0.0
    members: int = 0
    reach: int = 0
    outer: dict[int, float] = field(default_factory=dict)


class Branching:
    """Placed vertices, and what follows from them.

    Attributes:
        graph: What is fused.
        pes: The PEs so far; one without vertices is gone.
        pe_of: The PE of each vertex, -1 while it is open.
        loads: What each host carries.
        cut: What is certainly cut.
        lost: A lower bound on what open vertices will cut.
    """

    def __init__(self, graph: SuperGraph, goal: Goal) -> None:
        self.graph = graph
        self.goal = goal
        hosts = graph.problem.hosts
        self.pes: list[OpenPe] = []
        self.pe_of = [-1] * graph.vertices
        self.loads = [0.0] * hosts.count
        self.held = [0] * hosts.count
        self.cut = 0.0
        self.lost = 0.0
        self.flows = Flows(graph) if goal.objective == "throughput" and hosts.has_links else None
        self._streams_cost = float(graph.problem.stream_costs.sum())
        self._capacities = hosts.capacities.tolist()
        self._cores = hosts.cores.tolist()
        self._links = hosts.link_bytes.tolist()
        self._cost = sum(graph.costs)
        self._pull: list[dict[int, float]] = [{} for _ in range(graph.vertices)]
        self._pulled = [0.0] * graph.vertices
        self._lost = [0.0] * graph.vertices
        self._cluster_host: dict[int, list[int]] = {}
        self._shown: list[dict[int, list[int]]] = [{} for _ in range(hosts.count)]
        self._reach = _reach(graph) if graph.acyclic else [0] * graph.vertices
        self._widths = pe_widths(graph)
        self._alike = _likeness(graph)
        self._replica_of = {v: (t, r) for t, vs in enumerate(graph.templates) for r, v in enumerate(vs)}
        self.limit_to(float("inf"), fit=False)

    def limit_to(self, value: float, *, fit: bool) -> None:
        """Allow only states whose value is below a limit, and if `fit`, that no host is overloaded."""
        self.limit = value
        most = 1.0 + TOLERANCE if fit else float("inf")
        if self.goal.objective == "throughput":
            most = min(most, value)
        self._host_limits = [capacity * most for capacity in self._capacities]
        self._room = sum(self._host_limits)

    def options(self, v: int) -> Iterator[tuple[int, int]]:
        """Where a vertex may go, the most promising first: a PE, or -1 and the host of a new one."""
        template, replica = self._replica_of[v]
        if replica:
            yield from self._mirrored(template, replica)
            return
        pull = self._pull[v]
        joined = sorted((p for p, pe in enumerate(self.pes) if pe.vertices), key=lambda p: -pull.get(p, 0.0))
        for p in joined:
            if self._may_join(v, p):
                yield p, self.pes[p].host
        yield from self._new_hosts()

    def _mirrored(self, template: int, replica: int) -> Iterator[tuple[int, int]]:
        """A vertex of a further replica follows the first one: into the PE that corresponds, or into one of its own."""
        for other in self.pes[self.pe_of[self.graph.templates[template][0]]].vertices:
            p = self.pe_of[self.graph.templates[self._replica_of[other][0]][replica]]
            if p >= 0:
                yield p, self.pes[p].host
                return
        yield from self._new_hosts()

    def _new_hosts(self) -> Iterator[tuple[int, int]]:
        """Hosts for a new PE; of hosts that are alike and empty the first one stands for all."""
        empty: set[object] = set()
        for host in sorted(range(len(self.loads)), key=lambda h: self.loads[h] / self._capacities[h]):
            if not self.held[host]:
                if self._alike[host] in empty:
                    continue
                empty.add(self._alike[host])
            yield -1, host

    def _may_join(self, v: int, p: int) -> bool:
        graph, others = self.graph, self.pes[p].vertices
        if graph.kinds[v] != graph.kinds[others[0]]:
            return False
        return not graph.exclusions[v] or all(graph.exclusions[v].isdisjoint(graph.exclusions[u]) for u in others)

    def place(self, v: int, p: int, host: int) -> int | None:
        """Put a vertex into a PE, or with -1 into a new one; the PE, or None if a limit or a demand is broken.

        Whatever the answer, the vertex is placed, and `take_back` undoes it.
        """
        if p < 0:
            self.pes.append(OpenPe(host=host))
            p = len(self.pes) - 1
        pe = self.pes[p]
        self.pe_of[v] = p
        pe.vertices.append(v)
        pe.members |= 1 << v
        self.held[host] += 1
        self._grow(p, self.graph.costs[v])
        self._streams(v, p, 1.0)
        if self.flows is not None:
            self.flows.place(v, host, self._host_of)
        is_free = self._claim_host(v, host)
        return p if is_free and self._is_within() and self._is_acyclic(p, v) else None

    def take_back(self, v: int) -> None:
        """Undo the last `place`."""
        p = self.pe_of[v]
        pe, host = self.pes[p], self.pes[p].host
        self._release_host(v, host)
        if self.flows is not None:
            self.flows.take_back(v, host, self._host_of)
        self._streams(v, p, -1.0)
        self._grow(p, -self.graph.costs[v])
        self.held[host] -= 1
        pe.vertices.pop()
        pe.members ^= 1 << v
        self.pe_of[v] = -1
        if not pe.vertices and p == len(self.pes) - 1:
            self.pes.pop()
            return
        pe.reach = 0
        for u in pe.vertices:
            pe.reach |= self._reach[u]

    def _host_of(self, v: int) -> int:
        return self.pes[self.pe_of[v]].host if self.pe_of[v] >= 0 else -1

    def _grow(self, p: int, mips: float) -> None:
        pe = self.pes[p]
        pe.size += mips
        self.loads[pe.host] += mips

    def _streams(self, v: int, p: int, sign: float) -> None:
        """Count what flows between a vertex and placed ones, and pull on open ones."""
        if sign > 0:
            self.lost -= self._lost[v]
        for u, cost in self.graph.neighbours[v].items():
            other = self.pe_of[u]
            if other < 0:
                self._tug(u, p, sign * cost)
            elif other != p:
                self.cut += sign * cost
                self._grow(p, sign * cost)
                self._grow(other, sign * cost)
        if sign < 0:
            self.lost += self._lost[v]

    def _tug(self, u: int, p: int, mips: float) -> None:
        pull = self._pull[u]
        pull[p] = pull.get(p, 0.0) + mips
        self.pes[p].outer[u] = pull[p]
        self._pulled[u] += mips
        lost = self._pulled[u] - max(pull.values())
        self.lost += lost - self._lost[u]
        self._lost[u] = lost

    def _claim_host(self, v: int, host: int) -> bool:
        """Count a vertex's cluster and colours on a host; whether all of them may be there."""
        graph = self.graph
        if not graph.has_needs:
            return True
        need = graph.needs[v]
        is_free = bool(need.hosts >> host & 1)
        claim = self._cluster_host.setdefault(graph.clusters[v], [])
        is_free = is_free and (not claim or claim[-1] == host)
        claim.append(host)
        for colouring, colour in need.colours.items():
            shown = self._shown[host].setdefault(colouring, [])
            is_free = is_free and (not shown or shown[-1] == colour)
            shown.append(colour)
        return is_free

    def _release_host(self, v: int, host: int) -> None:
        if not self.graph.has_needs:
            return
        self._cluster_host[self.graph.clusters[v]].pop()
        for colouring in self.graph.needs[v].colours:
            self._shown[host][colouring].pop()

    def _is_within(self) -> bool:
        """Whether what is certain by now is within the limits."""
        cut, objective = self.cut + self.lost, self.goal.objective
        if self._cost + 2 * cut > self._room * _LOOSE or (objective == "cut" and cut > self.limit * _LOOSE):
            return False
        loads, fullest = [0.0] * len(self.loads), 0.0
        for p, pe in enumerate(self.pes):
            least = self._least(p, pe)
            loads[pe.host] += least
            if loads[pe.host] > self._host_limits[pe.host] * _LOOSE:
                return False
            if objective != "cut" and pe.vertices:
                fullest = max(fullest, least * self._core_factor(pe))
        if objective == "throughput":
            return fullest <= self.limit and (self.flows is None or self.flows.utilization() <= self.limit)
        return objective == "cut" or self._least_balance(loads, fullest, cut) <= self.limit * _LOOSE

    def _least_balance(self, loads: list[float], fullest: float, cut: float) -> float:
        """A value of f(U, C) that no completion of the state goes below."""
        spread = (self._cost + 2 * cut) / sum(self._capacities)
        hosts = max(load / capacity for load, capacity in zip(loads, self._capacities, strict=True))
        return self.goal.weigh(max(spread, hosts, fullest), cut, self._streams_cost)

    def _least(self, p: int, pe: OpenPe) -> float:
        """How large a PE will be at least: each open neighbour joins it with all that it costs, or is cut off."""
        least = pe.size
        for u, cost in pe.outer.items():
            if self.pe_of[u] < 0 and cost > 0:
                others = self._pulled[u] - self._pull[u][p]
                least += min(cost, self.graph.costs[u] + others)
        return least

    def _core_factor(self, pe: OpenPe) -> float:
        """The factor from a PE's size to the utilization of the cores that it can use."""
        channels = self._widths[pe.vertices[0]] or min(self.graph.channels[v] for v in pe.vertices)
        cores = self._cores[pe.host]
        return float(cores / (self._capacities[pe.host] * min(channels, cores)))

    def _is_acyclic(self, p: int, v: int) -> bool:
        """Whether no path leaves the PE that has just grown and comes back, through other PEs or open vertices."""
        if not self.graph.acyclic:
            return True
        pe = self.pes[p]
        pe.reach |= self._reach[v]
        waiting = [q for q in self.pes if q.vertices and q is not pe]
        reached = pe.reach & ~pe.members
        following = [q for q in waiting if q.members & reached]
        while following:
            for q in following:
                if q.reach & pe.members:
                    return False
                reached |= q.reach
                waiting.remove(q)
            following = [q for q in waiting if q.members & reached]
        return True

    def value(self) -> float:
        """The value of what has been placed."""
        if self.goal.objective == "cut":
            return self.cut
        hosts = max(load / capacity for load, capacity in zip(self.loads, self._capacities, strict=True))
        cores = max((pe.size * self._core_factor(pe) for pe in self.pes if pe.vertices), default=0.0)
        if self.goal.objective == "balance":
            return self.goal.weigh(max(hosts, cores), self.cut, self._streams_cost)
        return float(max(hosts, cores, self.flows.utilization() if self.flows is not None else 0.0))


def _reach(graph: SuperGraph) -> list[int]:
    """The vertices that follow each vertex, as bits."""
    reach = [0] * graph.vertices
    for v in reversed(sort_topologically(dict(enumerate(graph.successors)))):
        for u in graph.successors[v]:
            reach[v] |= reach[u] | 1 << u
    return reach


def _likeness(graph: SuperGraph) -> list[object]:
    """Something equal for hosts that can be exchanged for one another."""
    hosts = graph.problem.hosts
    asked = {need.hosts for need in graph.needs}
    columns = zip(hosts.capacities.tolist(), hosts.cores.tolist(), hosts.link_bytes.tolist(), strict=True)
    return [(*column, frozenset(m for m in asked if m >> host & 1)) for host, column in enumerate(columns)]
