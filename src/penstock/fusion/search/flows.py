"""The flows over the links of hosts, while vertices are placed and taken back."""

from __future__ import annotations

from collections.abc import Callable

from penstock.fusion.graph.super_graph import SuperGraph


class Flows:
    """Bytes a second that leave and enter each host.

    Args:
        graph: The super operators; their streams' bytes come from the problem.
    """

    def __init__(self, graph: SuperGraph) -> None:
        hosts = graph.problem.hosts
        self.leaving = [0.0] * hosts.count
        self.entering = [0.0] * hosts.count
        self._links = hosts.link_bytes.tolist()
        self._sent = stream_bytes(graph)
        self._received: list[dict[int, float]] = [{} for _ in range(graph.vertices)]
        for v, sent in enumerate(self._sent):
            for u, flow in sent.items():
                self._received[u][v] = flow

    def place(self, v: int, host: int, host_of: Callable[[int], int], sign: float = 1.0) -> None:
        """Count the streams between a vertex, now on a host, and those on other hosts; -1 is nowhere yet."""
        for u, flow in self._sent[v].items():
            other = host_of(u)
            if other not in (-1, host):
                self.leaving[host] += sign * flow
                self.entering[other] += sign * flow
        for u, flow in self._received[v].items():
            other = host_of(u)
            if other not in (-1, host):
                self.entering[host] += sign * flow
                self.leaving[other] += sign * flow

    def take_back(self, v: int, host: int, host_of: Callable[[int], int]) -> None:
        """Undo `place`."""
        self.place(v, host, host_of, -1.0)

    def utilization(self) -> float:
        """The largest ratio of a flow to its link."""
        return max(self._ratios())

    def fullest(self) -> int:
        """The host with the fullest link."""
        ratios = self._ratios()
        return ratios.index(max(ratios))

    def _ratios(self) -> list[float]:
        flows = zip(self.leaving, self.entering, self._links, strict=True)
        return [max(out, into) / link for out, into, link in flows]


def stream_bytes(graph: SuperGraph) -> list[dict[int, float]]:
    """The bytes a second that each vertex sends to each other vertex."""
    problem = graph.problem
    vertex_of = {operator: v for v, group in enumerate(graph.members) for operator in group}
    sent: list[dict[int, float]] = [{} for _ in range(graph.vertices)]
    columns = problem.sources, problem.targets, problem.stream_bytes
    for source, target, flow in zip(*(column.tolist() for column in columns), strict=True):
        v, u = vertex_of[source], vertex_of[target]
        if v != u:
            sent[v][u] = sent[v].get(u, 0.0) + flow
    return sent
