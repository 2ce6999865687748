"""Maximum concurrent flow by Garg and Koenemann: lengths of edges that show where a graph is thin.

Introduction:
    The linear program behind the sparsest cut of Leighton and Rao, solved without a linear solver.

Formulation:
    Route a demand of w_u w_v between every pair of vertices, and the extra demand of pairs that should be separated, at
    a common rate lambda; maximize lambda subject to the capacities (the costs of the edges). The dual: lengths l >= 0
    that minimize D(l) / alpha(l), where D(l) is the sum of capacity times length and alpha(l) the sum of demand times
    shortest distance. Every cut is a dual solution, so lambda bounds cut(S) / demand(S) of every cut from below.

Example:
    A path of four vertices of weight 1 with capacities 9, 1, 9: four units of demand cross the middle, lambda is 1/4,
    and the middle edge ends up far longer than the others.

When it does not apply:
    The graph must be connected. All-pairs distances take n squared numbers: beyond some hundred vertices `spectral` is
    used instead.

Algorithm:
    All lengths start at delta / c_e. Again and again all demands are routed over shortest paths at once, scaled so that
    no capacity is exceeded, and every edge grows by the factor 1 + epsilon f_e / c_e. Ends when D(l) is 1, when the
    best primal and dual values are within `_CLOSE`, or after `_MOST_ROUNDS`. A round is n shortest-path trees.

Preserves:
    `rate` is a feasible lambda, so it is a true lower bound whenever the work ends.

Reference:
    Garg and Koenemann, SIAM J. Comput. 2007, section 2, the packing algorithm, where a column is a routing of all
    demands; Khandekar et al., Middleware 2009, section 2.2, graph partitioner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import dijkstra

from penstock.fusion.cuts.cut_graph import CutGraph
from penstock.fusion.problem.fusion_problem import Floats, Ints

_EPSILON = 0.3
_CLOSE = 1.15
_MOST_ROUNDS = 250


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConcurrentFlow:
    """A flow and the lengths that go with it.

    Attributes:
        lengths: Of the edges; the best dual solution found.
        distances: Between all pairs of vertices under these lengths.
        rate: A feasible lambda: a lower bound on cut(S) / demand(S) for every S.
        bound: D(l) / alpha(l): an upper bound on lambda.
    """

    lengths: Floats
    distances: Floats
    rate: float
    bound: float


def concurrent_flow(graph: CutGraph) -> ConcurrentFlow:
    """Route all demands of a connected graph as far as its capacities allow.

    Example:
        >>> from penstock.fusion.cuts.cut_graph import cut_graph
        >>> flow = concurrent_flow(cut_graph([1, 1, 1, 1], [(0, 1, 9), (1, 2, 1), (2, 3, 9)]))
        >>> int(flow.lengths.argmax()), bool(flow.rate <= 0.25 <= flow.bound)
        (1, True)
    """
    demands = _demands(graph)
    capacities = graph.costs
    count = len(capacities)
    lengths = (count / (1 - _EPSILON)) ** (-1 / _EPSILON) / capacities
    total, routed = np.zeros(count), 0.0
    best = ConcurrentFlow(lengths=lengths, distances=np.zeros((0, 0)), rate=0.0, bound=float("inf"))
    for _ in range(_MOST_ROUNDS):
        distances, parents = dijkstra(graph.matrix(lengths), directed=False, return_predecessors=True)
        volume, reach = float(capacities @ lengths), float((demands * distances).sum()) / 2
        flow = _route(graph, demands, distances, parents.astype(np.int64))
        step = float((capacities[flow > 0] / flow[flow > 0]).min())
        total, routed = total + step * flow, routed + step
        rate = max(best.rate, routed / float((total / capacities).max()))
        if volume / reach < best.bound:
            best = ConcurrentFlow(lengths=lengths, distances=distances, rate=rate, bound=volume / reach)
        else:
            best = ConcurrentFlow(lengths=best.lengths, distances=best.distances, rate=rate, bound=best.bound)
        if volume >= 1.0 or best.bound <= _CLOSE * best.rate:
            break
        lengths = lengths * (1 + _EPSILON * step * flow / capacities)
    return best


def _demands(graph: CutGraph) -> Floats:
    """w_u w_v for every pair, and a quarter of W squared more for pairs that should be separated."""
    demands = np.outer(graph.weights, graph.weights)
    np.fill_diagonal(demands, 0.0)
    extra = float(graph.weights.sum()) ** 2 / 4
    for u, v in graph.apart.tolist():
        demands[u, v] += extra
        demands[v, u] += extra
    return demands


def _route(graph: CutGraph, demands: Floats, distances: Floats, parents: Ints) -> Floats:
    """The flow over each edge when each pair uses its shortest path; every pair is routed once."""
    count = graph.vertices
    sources = np.arange(count)
    carried = demands.copy()
    between = np.zeros((count, count))
    by_distance = np.argsort(distances, axis=1)
    for column in range(count - 1, 0, -1):
        here = by_distance[:, column]
        above = parents[sources, here]
        amount = carried[sources, here]
        carried[sources, above] += amount
        np.add.at(between, (here, above), amount)
    pairs = (between + between.T) / 2
    shares = graph.costs / np.maximum(graph.matrix().toarray()[graph.tails, graph.heads], 1e-300)
    return np.asarray(pairs[graph.tails, graph.heads] * shares, np.float64)
