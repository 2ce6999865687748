"""METIS parts as PEs: a start for the search on large graphs, one part for each core.

METIS minimizes the cut between parts of given weights, which is close to what is wanted and very fast. A PE also pays
for the streams that are cut, so METIS runs a few times, each time with the weights that the last cut implies. It knows
neither demands nor acyclic plans, so this start stands aside where there are any; regions and other kinds split its
parts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pymetis

from penstock.base.deadline import Deadline
from penstock.base.metis import part_graph
from penstock.fusion.algorithms.place_pes import NoHosts
from penstock.fusion.cuts.cut_graph import cut_graph, whole_numbers
from penstock.fusion.graph.super_graph import SuperGraph
from penstock.fusion.problem.costs import measure
from penstock.fusion.problem.fusion_problem import Assignment, Floats, Ints
from penstock.fusion.problem.settings import Settings

_UFACTOR = 10
_ROUNDS = 8


def fuse_parts(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """Partition the graph by METIS into as many parts as there are cores.

    Raises:
        NoHosts: The plan must be acyclic, or there are demands that METIS does not know.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> graph = super_graph(fusion_problem([1] * 4, [(0, 1, 9), (1, 2, 1), (2, 3, 9)], [9, 9]))
        >>> fuse_parts(graph, Settings(), Deadline.after(None)).pe_of.tolist()
        [0, 0, 1, 1]
    """
    hosts = graph.problem.hosts
    host_of_part = np.repeat(np.arange(hosts.count), hosts.cores)
    if graph.acyclic or graph.has_needs or any(graph.exclusions) or len(host_of_part) > graph.vertices:
        raise NoHosts
    if len(host_of_part) == 1:
        raise NoHosts
    shares = (hosts.core_mips / hosts.capacities.sum())[host_of_part]
    found = (_pes(graph, parts, host_of_part) for parts in _partitions(graph, shares, settings.seed, deadline))
    return min(found, key=lambda assignment: measure(graph.problem, assignment).bottleneck)


def _pes(graph: SuperGraph, parts: Ints, host_of_part: Ints) -> Assignment:
    pes: dict[tuple[int, int], list[int]] = {}
    for v, part in enumerate(parts.tolist()):
        pes.setdefault((part, graph.kinds[v]), []).append(v)
    return graph.assignment(list(pes.values()), [int(host_of_part[part]) for part, _ in pes])


def _partitions(graph: SuperGraph, shares: Floats, seed: int, deadline: Deadline) -> Iterator[Ints]:
    edges = ((v, u, cost) for v, row in enumerate(graph.neighbours) for u, cost in row.items() if v < u)
    inside = cut_graph(graph.costs, edges)
    matrix = inside.matrix()
    if not matrix.nnz:
        raise NoHosts
    ends = np.repeat(np.arange(graph.vertices), np.diff(matrix.indptr))
    weights = inside.weights
    for number in range(_ROUNDS):
        before = deadline.elapsed()
        parts = part_graph(
            len(shares),
            matrix.indptr,
            matrix.indices,
            edge_weights=whole_numbers(matrix.data),
            vertex_weights=whole_numbers(weights),
            shares=shares.tolist(),
            options=pymetis.Options(seed=seed + number, ufactor=_UFACTOR),
        )
        yield parts
        if deadline.left() < deadline.elapsed() - before:
            return
        paid = np.where(parts[ends] != parts[matrix.indices], matrix.data, 0.0)
        weights = inside.weights + np.bincount(ends, weights=paid, minlength=graph.vertices)
