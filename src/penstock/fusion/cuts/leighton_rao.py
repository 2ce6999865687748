"""The minimum-ratio cut of Leighton and Rao: distances of a concurrent flow, rounded by growing regions.

Introduction:
    The graph partitioner of COLA for PEs of up to some hundred super operators.

Formulation:
    Find a cut (S_1, S_2) that minimizes w(delta(S_1)) / min{w(S_1), w(S_2)} (2), in acyclic plans among the cuts whose
    streams go one way.

Example:
    Two cliques that one thin edge connects: the edge is long under the flow's lengths, every ball within a clique stays
    there, and the cut is that edge.

When it does not apply:
    In acyclic plans the logarithmic guarantee is lost: balls are rearranged into orders that respect predecessors.

Algorithm:
    1. Distances from the concurrent flow (`concurrent_flow`).
    2. Sweeps: for every vertex the balls around it, all radii.
    3. Region growing: regions are cut off one after the other around heavy vertices, each at the radius below a quarter
       of the average distance where the ratio of cut to volume is the least. If one region holds most of the weight,
       the balls around *it* are swept; otherwise regions are put together into two sides.
    The best of all these cuts. O(n (m + n log n)) beside the flow.

Preserves:
    The cut is within a factor O(log n) of the least ratio (acyclic plans aside).

Reference:
    Leighton and Rao, J. ACM 1999, theorem 10 and its proof; Khandekar et al., Middleware 2009, section 2.2. Step 2 is
    ours: it only adds cuts to choose from.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.fusion.cuts.concurrent_flow import ConcurrentFlow, concurrent_flow
from penstock.fusion.cuts.cut_graph import CutGraph
from penstock.fusion.problem.fusion_problem import Flags, Floats, Ints


def cut_by_flow(graph: CutGraph) -> tuple[float, Flags]:
    """The best cut found and its ratio, of a connected graph.

    Example:
        >>> from penstock.fusion.cuts.cut_graph import cut_graph
        >>> ratio, side = cut_by_flow(cut_graph([1, 1, 1, 1], [(0, 1, 9), (1, 2, 1), (2, 3, 9)]))
        >>> ratio, side.tolist() in ([True, True, False, False], [False, False, True, True])
        (0.5, True)
    """
    flow = concurrent_flow(graph)
    return min((graph.sweep(order) for order in _orders(graph, flow)), key=lambda found: found[0])


def ratio_bound(graph: CutGraph) -> float:
    """A ratio that no cut goes below: demand(S) is at least half of W times the weight of the lighter side.

    Example:
        >>> from penstock.fusion.cuts.cut_graph import cut_graph
        >>> 0.2 < ratio_bound(cut_graph([1, 1, 1, 1], [(0, 1, 9), (1, 2, 1), (2, 3, 9)])) <= 0.5
        True
    """
    return concurrent_flow(graph).rate * float(graph.weights.sum()) / 2


def _orders(graph: CutGraph, flow: ConcurrentFlow) -> Iterator[Ints]:
    for distances in flow.distances:
        yield graph.ordered(distances)
        if len(graph.before):
            yield graph.ordered(-distances)
    regions = _regions(graph, flow)
    mass = np.array([graph.weights[region].sum() for region in regions])
    if mass.max() > graph.weights.sum() * 2 / 3:
        keys = flow.distances[regions[int(mass.argmax())]].min(axis=0)
    else:
        keys = _two_sides(graph, regions, mass)
    yield graph.ordered(keys)
    if len(graph.before):
        yield graph.ordered(-keys)


def _regions(graph: CutGraph, flow: ConcurrentFlow) -> list[Ints]:
    """Regions of small radius with little between them: grown one after the other in what is left."""
    whole = float(graph.weights.sum())
    average = float(graph.weights @ flow.distances @ graph.weights) / whole**2
    left = np.ones(graph.vertices, np.bool_)
    found = []
    while left.any():
        centre = int(np.where(left, graph.weights, -1.0).argmax())
        region = _grow(graph, flow, centre, left, average / 4)
        left[region] = False
        found.append(region)
    return found


def _grow(graph: CutGraph, flow: ConcurrentFlow, centre: int, left: Flags, radius: float) -> Ints:
    """The ball around a vertex, within a radius, with the least ratio of what is cut to its volume."""
    distances = np.where(left, flow.distances[centre], np.inf)
    order = np.argsort(distances, kind="stable")
    near = order[distances[order] < radius]
    if len(near) < 2:
        return np.array([centre])
    place = np.full(graph.vertices, len(near))
    place[near] = np.arange(len(near))
    inside = left[graph.tails] & left[graph.heads]
    first = np.minimum(place[graph.tails], place[graph.heads])[inside]
    last = np.maximum(place[graph.tails], place[graph.heads])[inside]
    costs, volumes = graph.costs[inside], (graph.costs * flow.lengths)[inside]
    size = len(near) + 1
    cuts = np.cumsum(np.bincount(first, costs, size) - np.bincount(last, costs, size))[: len(near)]
    seed = float(volumes.sum()) / graph.vertices + 1e-300
    volume = seed + np.cumsum(np.bincount(first, volumes, size))[: len(near)]
    return near[: int((cuts / volume).argmin()) + 1]


def _two_sides(graph: CutGraph, regions: list[Ints], mass: Floats) -> Floats:
    """Keys that put regions together into two sides of similar weight."""
    keys, sides = np.zeros(graph.vertices), [0.0, 0.0]
    for number in np.argsort(-mass).tolist():
        side = int(sides[1] < sides[0])
        sides[side] += float(mass[number])
        keys[regions[number]] = side
    return keys
