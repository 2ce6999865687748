"""Better cuts near a cut: maximum flows that find the best part of a side, and single vertices that change sides.

Introduction:
    What every method of cutting leaves on the table, whichever it was.

Formulation:
    Given a cut with lighter side A, c = cut(A) and a = w(A): among all parts Y of A find one with cut(Y) / w(Y) < c /
    a.

Example:
    A side that holds a clique and a stray vertex on a thin edge loses the stray vertex.

When it does not apply:
    `by_flow` only takes vertices out of the lighter side; `by_moves` also puts some in.

Algorithm:
    `by_flow` (MQI): the outside of A is the source; an edge within A or from the outside has capacity a w_e, and every
    vertex sends at most c w_v to the sink. If the flow is below c a, the sink's side of the minimum cut is such a Y;
    the step is repeated until the flow is full. In acyclic plans unlimited arcs keep Y closed.
    `by_moves`: the single move with the best ratio, again and again; O(m) a move.

Preserves:
    Never a worse ratio; a legal cut stays legal. `by_flow` ends at the best part of A.

Reference:
    Lang and Rao, A flow-based method for improving the expansion or conductance of graph cuts, IPCO 2004.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from penstock.base.deadline import Deadline
from penstock.fusion.cuts.cut_graph import CutGraph
from penstock.fusion.problem.fusion_problem import Flags, Floats

_UNITS = 2**28
_MOST_FLOWS = 12
_MOST_MOVES = 400


def improve_cut(graph: CutGraph, side: Flags, deadline: Deadline | None = None) -> tuple[float, Flags]:
    """A legal cut with a ratio that is not worse, and the ratio.

    Example:
        >>> from penstock.fusion.cuts.cut_graph import cut_graph
        >>> graph = cut_graph([1] * 5, [(0, 1, 9), (1, 2, 9), (2, 3, 1), (3, 4, 9)])
        >>> improve_cut(graph, np.array([True, False, False, False, False]))[0]
        0.5
    """
    in_time = deadline or Deadline.after(None)
    best, kept = graph.sparsity(side), side
    while True:
        after = by_moves(graph, by_flow(graph, kept, in_time), in_time)
        ratio = graph.sparsity(after)
        if ratio >= best * (1 - 1e-9):
            return best, kept
        best, kept = ratio, after


def by_flow(graph: CutGraph, side: Flags, deadline: Deadline) -> Flags:
    """The best part of the lighter side, by maximum flows."""
    whole = float(graph.weights.sum())
    is_first = float(graph.weights[side].sum()) <= whole / 2
    lighter = side if is_first else ~side
    best = graph.sparsity(side)
    for _ in range(_MOST_FLOWS):
        part = None if deadline.has_passed() else _better_part(graph, lighter, is_first)
        if part is None:
            break
        ratio = graph.sparsity(part)
        if ratio >= best * (1 - 1e-9):
            break
        best, lighter = ratio, part
    return lighter if is_first else ~lighter


def _better_part(graph: CutGraph, inside: Flags, is_first: bool) -> Flags | None:
    """The sink's side of a minimum cut within A, or None if the flow is full."""
    members = np.flatnonzero(inside)
    cut, mass = graph.cut(inside), float(graph.weights[members].sum())
    if len(members) < 2 or cut <= 0.0:
        return None
    source, sink = len(members), len(members) + 1
    network = _network(graph, inside, members, is_first, cut / mass)
    flow = maximum_flow(network, source, sink)
    residual = sparse.csr_array(network - flow.flow)
    residual.data = np.maximum(residual.data, 0)
    residual.eliminate_zeros()
    reached = breadth_first_order(residual, source, return_predecessors=False)
    outside = np.zeros(len(members) + 2, np.bool_)
    outside[reached] = True
    part = np.zeros(graph.vertices, np.bool_)
    part[members[~outside[: len(members)]]] = True
    return part if part.any() and part.sum() < len(members) else None


def _network(graph: CutGraph, inside: Flags, members: np.ndarray, is_first: bool, ratio: float) -> sparse.csr_array:
    number = np.zeros(graph.vertices, np.int64)
    number[members] = np.arange(len(members))
    number[~inside] = len(members)
    tails, heads = number[graph.tails], number[graph.heads]
    touching = inside[graph.tails] | inside[graph.heads]
    sinks = np.full(len(members), len(members) + 1)
    rows = np.concatenate([tails[touching], heads[touching], np.arange(len(members))])
    columns = np.concatenate([heads[touching], tails[touching], sinks])
    costs = graph.costs[touching]
    values = np.concatenate([costs, costs, ratio * graph.weights[members]])
    capacities = np.rint(values * (_UNITS / max(float(values.sum()), 1e-300)))
    before = graph.before[inside[graph.before].all(axis=1)]
    earlier, later = number[before[:, 0]], number[before[:, 1]]
    arcs = (earlier, later) if is_first else (later, earlier)
    rows, columns = np.concatenate([rows, arcs[0]]), np.concatenate([columns, arcs[1]])
    capacities = np.concatenate([capacities, np.full(len(before), float(_UNITS))])
    keep = (columns != len(members)) & (rows != columns)
    size = len(members) + 2
    matrix = sparse.csr_array((capacities[keep], (rows[keep], columns[keep])), shape=(size, size))
    matrix.sum_duplicates()
    matrix.data = np.minimum(matrix.data, _UNITS)
    return sparse.csr_array(matrix.astype(np.int32))


def by_moves(graph: CutGraph, side: Flags, deadline: Deadline) -> Flags:
    """The cut after the best single moves."""
    side = side.copy()
    matrix = graph.matrix()
    total = np.asarray(matrix.sum(axis=1)).ravel()
    cut, first = graph.cut(side), float(graph.weights[side].sum())
    ratio = graph.sparsity(side)
    for _ in range(_MOST_MOVES):
        with_first = matrix @ side.astype(np.float64)
        apart = np.where(side, total - with_first, with_first)
        cuts = cut + total - 2 * apart
        firsts = first + np.where(side, -graph.weights, graph.weights)
        ratios = np.where(_movable(graph, side), graph.ratios(cuts, firsts, _separated(graph, side)), np.inf)
        v = int(ratios.argmin())
        if ratios[v] >= ratio * (1 - 1e-9) or deadline.has_passed():
            break
        ratio, cut, first = float(ratios[v]), float(cuts[v]), float(firsts[v])
        side[v] = not side[v]
    return side


def _movable(graph: CutGraph, side: Flags) -> Flags:
    """The vertices that may change sides: no side is emptied, and predecessors stay with the first."""
    allowed = np.ones(graph.vertices, np.bool_)
    if side.sum() == 1:
        allowed[side] = False
    if (~side).sum() == 1:
        allowed[~side] = False
    earlier, later = graph.before[:, 0], graph.before[:, 1]
    allowed[later[~side[earlier] & ~side[later]]] = False
    allowed[earlier[side[earlier] & side[later]]] = False
    return allowed


def _separated(graph: CutGraph, side: Flags) -> Floats:
    """How many pairs would be separated after each move."""
    ends = side[graph.apart]
    is_apart = ends[:, 0] != ends[:, 1]
    count = np.full(graph.vertices, float(is_apart.sum()))
    for column in range(2):
        np.add.at(count, graph.apart[:, column], np.where(is_apart, -1.0, 1.0))
    return count
