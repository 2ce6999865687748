"""Runs of a topological order as PEs: a start for the search that is acyclic by construction.

Operators in an order that respects their streams, cut into runs of similar cost, one for each core. A stream between
two runs always goes forward, so the graph of the PEs has no cycle. Runs never cross kinds, and end before an exclusion
or an impossible host.
"""

from __future__ import annotations

from penstock.base.deadline import Deadline
from penstock.base.topological_order import sort_topologically
from penstock.fusion.algorithms.place_pes import place_pes
from penstock.fusion.graph.coarsest import coarsest_groups
from penstock.fusion.graph.super_graph import Group, SuperGraph
from penstock.fusion.problem.fusion_problem import Assignment
from penstock.fusion.problem.settings import Settings


def fuse_runs(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """Cut a depth-first order into runs, one for each core.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> graph = super_graph(fusion_problem([1, 1, 1, 1], [(0, 1, 5), (1, 2, 5), (2, 3, 5)], [9, 9]))
        >>> fuse_runs(graph, Settings(), Deadline.after(None)).pe_of.tolist()
        [0, 0, 1, 1]
    """
    rank = {v: number for number, v in enumerate(_depth_first(graph))}
    share = 1.02 * sum(graph.costs) / int(graph.problem.hosts.cores.sum())
    pes = []
    for group in coarsest_groups(graph):
        ordered = sorted(group, key=lambda t: rank[graph.templates[t][0]])
        for run in _runs(graph, ordered, share):
            pes += list(graph.real(run))
    return place_pes(graph, pes, deadline)


def _runs(graph: SuperGraph, ordered: list[int], share: float) -> list[Group]:
    if any(len(graph.templates[t]) > 1 for t in ordered):
        return [(t,) for t in ordered]
    runs: list[list[int]] = []
    cost, need, excluded = 0.0, graph.needs[0], set[int]()
    for t in ordered:
        v = graph.templates[t][0]
        joined = graph.needs[v] if not runs else need.joined(graph.needs[v])
        is_full = cost + graph.costs[v] > share or joined is None or not excluded.isdisjoint(graph.exclusions[v])
        if not runs or is_full:
            runs.append([])
            cost, joined, excluded = 0.0, graph.needs[v], set()
        assert joined is not None
        runs[-1].append(t)
        cost, need = cost + graph.costs[v], joined
        excluded |= graph.exclusions[v]
    return [tuple(run) for run in runs]


def _depth_first(graph: SuperGraph) -> list[int]:
    """Vertices after their predecessors, each soon after the last of them; the rest of a cycle comes at the end."""
    after = {
        v: sorted(graph.successors[v], key=graph.neighbours[v].__getitem__) for v in reversed(range(graph.vertices))
    }
    order = sort_topologically(after, take=list.pop)
    return order + sorted(set(range(graph.vertices)) - set(order))
