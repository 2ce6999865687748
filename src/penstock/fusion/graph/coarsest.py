"""Where top-down fusion starts: as few PEs as kinds allow, without cycles if the plan must have none.

Super operators of different kinds (regions, replicas, dedicated ones) can never share a PE, so there is a PE for each
kind: the paper's one PE for each replica and a catch-all for the rest.

In an acyclic plan that may be too coarse: streams can leave a kind, or a replica, and come back. Each super operator
gets a level, the largest number of such changes on a path to it, and there is a PE for each kind *and level*. A stream
between two such PEs always goes to a higher level, so no cycle can close, and splitting these PEs so that streams go
one way keeps it so.

Example:
    >>> from penstock.fusion.problem.fusion_problem import fusion_problem
    >>> from penstock.fusion.graph.super_graph import super_graph
    >>> problem = fusion_problem([1, 1, 1], [(0, 1, 5), (1, 2, 5)], [9], regions=[None, "r", None])
    >>> coarsest_groups(super_graph(problem)), coarsest_groups(super_graph(problem, acyclic=True))
    ([(0, 2), (1,)], [(0,), (1,), (2,)])
"""

from __future__ import annotations

from penstock.base.topological_order import sort_topologically
from penstock.fusion.graph.super_graph import Group, SuperGraph


def coarsest_groups(graph: SuperGraph) -> list[Group]:
    """The groups of templates to start with."""
    kinds = [tuple(graph.kinds[v] for v in template) for template in graph.templates]
    levels = _levels(graph, kinds) if graph.acyclic else [0] * len(kinds)
    if levels is None:
        return [(template,) for template in range(len(kinds))]
    groups: dict[object, list[int]] = {}
    for template, key in enumerate(zip(kinds, levels, strict=True)):
        groups.setdefault(key, []).append(template)
    return [tuple(group) for group in groups.values()]


def _levels(graph: SuperGraph, kinds: list[tuple[int, ...]]) -> list[int] | None:
    """The level of each template, or None if streams between replicas make a cycle of templates."""
    template_of = {v: t for t, template in enumerate(graph.templates) for v in template}
    after = [{template_of[u] for v in template for u in graph.successors[v]} for template in graph.templates]
    order = sort_topologically(dict(enumerate(after)))
    if len(order) < len(kinds):
        return None
    replica_of = {v: replica for template in graph.templates for replica, v in enumerate(template)}
    levels = [0] * len(kinds)
    for t in order:
        for v in graph.templates[t]:
            for u in graph.successors[v]:
                other = template_of[u]
                is_apart = kinds[other] != kinds[t] or replica_of[u] != replica_of[v]
                levels[other] = max(levels[other], levels[t] + is_apart)
    return levels
