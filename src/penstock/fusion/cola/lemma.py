"""The pre-processor of COLA: fuse what an optimum solution fuses anyway.

Introduction:
    Fewer vertices make every later step faster, and the answers better.

Formulation:
    Lemma 1. For a stream e = (u, v) with w_e >= min{w_u + w(delta(u) - e), w_v + w(delta(v) - e)} there is an optimum
    solution in which u and v share a PE: whichever end has the small sum can be moved to the other's PE without making
    any PE larger.

Example:
    An operator of 1 mips that receives a stream of 9 and sends one of 2 is fused with its sender: 9 >= 1 + 2.

When it does not apply:
    The proof moves one operator from a PE to another, so both must be free to share any PE that the other is in: of one
    kind, without exclusions, asking the same of hosts, without replicas that would have to follow, and with the same
    number of channels. In acyclic plans the move could close a cycle, unless the operator that moves has no other
    neighbour; then the lemma holds as it stands. Links are not part of the lemma: with limited links nothing is fused.

Algorithm:
    Streams in a queue; when two vertices are fused, the streams that have become heavier are looked at again, and the
    heaviest one of the new vertex. O(m log^2 m): the end with fewer streams is rewritten.

Preserves:
    The least communication cost among solutions that fit, and the largest `throughput_scale`: no PE and no host gets
    larger by the move.

Reference:
    Khandekar et al., Middleware 2009, section 2.2, lemma 1.
"""

from __future__ import annotations

from collections import Counter, deque
from heapq import heapify, heappop, heappush

from penstock.fusion.graph.super_graph import SuperGraph, super_graph


def fuse_by_lemma(graph: SuperGraph) -> SuperGraph:
    """Glue the ends of heavy streams; the same graph if there are none.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> graph = super_graph(fusion_problem([5, 1, 50], [(0, 1, 9), (1, 2, 2)], [99]))
        >>> fuse_by_lemma(graph).members
        ((0, 1), (2,))
    """
    if graph.problem.hosts.has_links:
        return graph
    pairs = heavy_pairs(graph)
    if not pairs:
        return graph
    operators = [(graph.members[u][0], graph.members[v][0]) for u, v in pairs]
    glued = [(group[0], other) for group in graph.members for other in group[1:]]
    return super_graph(graph.problem, acyclic=graph.acyclic, glued=glued + operators)


def heavy_pairs(graph: SuperGraph) -> list[tuple[int, int]]:
    """Pairs of vertices that the lemma fuses, one after the other; the second joins the first."""
    fusing = _Fusing(graph)
    pairs = []
    queue = deque((u, v) for u, row in enumerate(graph.neighbours) for v in row if u < v)
    while queue:
        u, v = queue.popleft()
        if v not in fusing.rows[u] or not fusing.are_free(u, v):
            continue
        if fusing.is_heavy(u, v) or fusing.is_heavy(v, u):
            # The one with fewer neighbours is rewritten, so that a hub is not rewritten for each of its leaves.
            u, v = (u, v) if len(fusing.rows[u]) >= len(fusing.rows[v]) else (v, u)
            pairs.append((u, v))
            queue.extend((u, other) for other in fusing.contract(u, v))
    return pairs


class _Fusing:
    """Vertices that are contracted, with what the lemma asks of them.

    Attributes:
        rows: What flows between each vertex and its neighbours.
    """

    def __init__(self, graph: SuperGraph) -> None:
        self.graph = graph
        self.rows = [dict(row) for row in graph.neighbours]
        self._mass = [cost + sum(row.values()) for cost, row in zip(graph.costs, self.rows, strict=True)]
        self._heaviest = [[(-cost, u) for u, cost in row.items()] for row in self.rows]
        for heap in self._heaviest:
            heapify(heap)
        self._replicated = {v for template in graph.templates if len(template) > 1 for v in template}
        self._in_cluster = Counter(graph.clusters)

    def is_heavy(self, moved: int, other: int) -> bool:
        """Whether the lemma lets one vertex move to the PE of another: w_e >= w_u + w(delta(u) - e)."""
        if self.graph.acyclic and len(self.rows[moved]) > 1:
            return False
        return 2 * self.rows[moved][other] >= self._mass[moved]

    def are_free(self, u: int, v: int) -> bool:
        """Whether both may share any PE that the other is in."""
        graph = self.graph
        if graph.kinds[u] != graph.kinds[v] or graph.channels[u] != graph.channels[v]:
            return False
        if graph.exclusions[u] or graph.exclusions[v] or u in self._replicated or v in self._replicated:
            return False
        if not graph.has_needs or graph.clusters[u] == graph.clusters[v]:
            return True
        is_alone = all(self._in_cluster[graph.clusters[end]] == 1 for end in (u, v))
        return is_alone and graph.needs[u].signature() == graph.needs[v].signature()

    def contract(self, u: int, v: int) -> list[int]:
        """Let the second vertex join the first; the neighbours for which the lemma may hold now."""
        mine, theirs = self.rows[u], self.rows[v]
        saved = mine.pop(v)
        del theirs[u]
        for neighbour, cost in theirs.items():
            del self.rows[neighbour][v]
            mine[neighbour] = self.rows[neighbour][u] = mine.get(neighbour, 0.0) + cost
            heappush(self._heaviest[u], (-mine[neighbour], neighbour))
            heappush(self._heaviest[neighbour], (-mine[neighbour], u))
        self._mass[u] += self._mass[v] - 2 * saved
        self.rows[v], self._heaviest[v] = {}, []
        return [*theirs, *self._heaviest_neighbour(u)]

    def _heaviest_neighbour(self, u: int) -> list[int]:
        """With u itself only the stream that costs the most can be heavy."""
        heap = self._heaviest[u]
        while heap and self.rows[u].get(heap[0][1]) != -heap[0][0]:
            heappop(heap)
        return [heap[0][1]] if heap else []
