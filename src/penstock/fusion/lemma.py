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
    Streams in a queue; when two vertices are fused, those around the new one are looked at again. O(m log m) on sparse
    graphs.

Preserves:
    The least communication cost among solutions that fit, and the largest `throughput_scale`: no PE and no host gets
    larger by the move.

Reference:
    Khandekar et al., Middleware 2009, section 2.2, lemma 1.
"""

from __future__ import annotations

from collections import deque

from penstock.fusion.super_graph import SuperGraph, super_graph


def fuse_by_lemma(graph: SuperGraph) -> SuperGraph:
    """Glue the ends of heavy streams; the same graph if there are none.

    Example:
        >>> from penstock.fusion.problem import fusion_problem
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
    costs = list(graph.costs)
    rows = [dict(row) for row in graph.neighbours]
    replicated = {v for template in graph.templates if len(template) > 1 for v in template}
    queue = deque((u, v) for u, row in enumerate(rows) for v in row if u < v)
    pairs = []
    while queue:
        u, v = queue.popleft()
        if v not in rows[u] or not _are_free(graph, u, v, replicated):
            continue
        if not any(_is_heavy(graph, costs, rows, *ends) for ends in ((u, v), (v, u))):
            continue
        pairs.append((u, v))
        costs[u] += costs[v]
        _contract(rows, u, v)
        queue.extend((u, neighbour) for neighbour in rows[u])
    return pairs


def _is_heavy(graph: SuperGraph, costs: list[float], rows: list[dict[int, float]], moved: int, other: int) -> bool:
    """Whether the lemma lets one vertex move to the PE of another."""
    if graph.acyclic and len(rows[moved]) > 1:
        return False
    stream = rows[moved][other]
    return stream >= costs[moved] + sum(rows[moved].values()) - stream


def _are_free(graph: SuperGraph, u: int, v: int, replicated: set[int]) -> bool:
    if graph.kinds[u] != graph.kinds[v] or graph.channels[u] != graph.channels[v]:
        return False
    if graph.exclusions[u] or graph.exclusions[v] or u in replicated or v in replicated:
        return False
    if not graph.has_needs or graph.clusters[u] == graph.clusters[v]:
        return True
    is_alone = all(graph.clusters.count(graph.clusters[end]) == 1 for end in (u, v))
    return is_alone and graph.needs[u].signature() == graph.needs[v].signature()


def _contract(rows: list[dict[int, float]], u: int, v: int) -> None:
    for neighbour, cost in rows[v].items():
        del rows[neighbour][v]
        if neighbour != u:
            rows[u][neighbour] = rows[u].get(neighbour, 0.0) + cost
            rows[neighbour][u] = rows[u][neighbour]
    rows[v] = {}
