"""The graph that the graph partitioner cuts: the inside of one PE, as arrays.

A cut is one side of it, as flags; `True` is the first side. In acyclic plans the first side must hold every predecessor
of its vertices, so that streams between the two new PEs go one way only: then, and only then, no cycle closes.

Example:
    >>> graph = cut_graph([1, 1, 1, 1], [(0, 1, 9), (1, 2, 1), (2, 3, 9)])
    >>> graph.sparsity(np.array([True, True, False, False]))
    0.5
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from penstock.base.topological_order import sort_topologically
from penstock.fusion.problem.fusion_problem import Flags, Floats, Ints

_METIS_UNITS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CutGraph:
    """An undirected graph with weights, and what a cut of it must respect.

    Attributes:
        weights: Of the vertices; positive.
        tails: One end of each edge.
        heads: The other end.
        costs: Of the edges; positive.
        before: Pairs (u, v) where u must not be on the second side if v is on the first.
        apart: Pairs that should be separated: each counts like a demand of a quarter of W squared.
        least: The least part of the weight that a side should have.
    """

    weights: Floats
    tails: Ints
    heads: Ints
    costs: Floats
    before: Ints
    apart: Ints
    least: float = 0.0

    @property
    def vertices(self) -> int:
        """The number of vertices."""
        return len(self.weights)

    def matrix(self, values: Floats | None = None) -> sparse.csr_array:
        """The symmetric matrix of the edges' costs, or of other values."""
        data = self.costs if values is None else values
        rows, columns = np.concatenate([self.tails, self.heads]), np.concatenate([self.heads, self.tails])
        return sparse.csr_array((np.concatenate([data, data]), (rows, columns)), shape=(self.vertices, self.vertices))

    def is_legal(self, side: Flags) -> bool:
        """Whether both sides have vertices and the first holds its predecessors."""
        closed = not (side[self.before[:, 1]] & ~side[self.before[:, 0]]).any()
        return bool(closed and side.any() and not side.all())

    def cut(self, side: Flags) -> float:
        """The cost of the edges between the sides."""
        return float(self.costs[side[self.tails] != side[self.heads]].sum())

    def sparsity(self, side: Flags) -> float:
        """The ratio (2) of the COLA paper: the cut to the weight of the lighter side."""
        first = float(self.weights[side].sum())
        separated = float((side[self.apart[:, 0]] != side[self.apart[:, 1]]).sum())
        return float(self.ratios(np.array([self.cut(side)]), np.array([first]), np.array([separated]))[0])

    def ratios(self, cuts: Floats, first: Floats, separated: Floats) -> Floats:
        """The ratio of many cuts; pairs that are apart add to the weight as their demand does to w(S) w(V - S)."""
        whole = float(self.weights.sum())
        lighter = np.minimum(first, whole - first)
        short = np.where(lighter < self.least * whole, 1e6, 1.0)
        value = np.maximum(lighter, 1e-12 * whole) + 0.5 * whole * separated
        return np.asarray(short * np.maximum(cuts, 0.0) / value, np.float64)

    def sweep(self, order: Ints) -> tuple[float, Flags]:
        """The best cut whose first side begins an order, and its ratio."""
        count = self.vertices
        place = np.empty(count, np.int64)
        place[order] = np.arange(count)
        cuts = _crossing(place[self.tails], place[self.heads], self.costs, count)
        separated = _crossing(place[self.apart[:, 0]], place[self.apart[:, 1]], np.ones(len(self.apart)), count)
        ratios = self.ratios(cuts, np.cumsum(self.weights[order])[:-1], separated)
        best = int(ratios.argmin())
        return float(ratios[best]), place <= best

    def ordered(self, keys: Floats) -> Ints:
        """Vertices by increasing key, each after its predecessors."""
        by_key = np.argsort(keys, kind="stable")
        if not len(self.before):
            return by_key
        place = np.empty_like(by_key)
        place[by_key] = np.arange(len(keys))
        after: dict[int, list[int]] = {i: [] for i in range(len(keys))}
        for u, v in place[self.before].tolist():
            after[u].append(v)
        return by_key[sort_topologically(after, put=heappush, take=heappop)]


def cut_graph(
    weights: ArrayLike,
    edges: Iterable[tuple[int, int, float]],
    *,
    before: Iterable[tuple[int, int]] = (),
    apart: Iterable[tuple[int, int]] = (),
    least: float = 0.0,
) -> CutGraph:
    """Build the graph; weights and costs of 0 become small numbers, so that every ratio is defined.

    Example:
        >>> cut_graph([0, 2], [(0, 1, 0)]).weights.tolist()
        [2e-06, 2.0]
    """
    mass = np.asarray(weights, np.float64)
    listed = [edge for edge in edges if edge[0] != edge[1]]
    ends = np.array([edge[:2] for edge in listed], np.int64).reshape(-1, 2)
    costs = np.array([edge[2] for edge in listed], np.float64)
    return CutGraph(
        weights=_above_zero(mass),
        tails=ends[:, 0],
        heads=ends[:, 1],
        costs=_above_zero(costs),
        before=np.array(list(before), np.int64).reshape(-1, 2),
        apart=np.array(list(apart), np.int64).reshape(-1, 2),
        least=least,
    )


def _above_zero(values: Floats) -> Floats:
    largest = float(values.max(initial=0.0))
    return np.maximum(values, 1e-6 * largest if largest > 0 else 1.0)


def _crossing(one: Ints, other: Ints, values: Floats, count: int) -> Floats:
    """For each proper beginning of an order, the sum of the values of pairs that it separates."""
    steps = np.zeros(count + 1)
    np.add.at(steps, np.minimum(one, other), values)
    np.subtract.at(steps, np.maximum(one, other), values)
    return np.cumsum(steps)[: count - 1]


def whole_numbers(values: Floats) -> Ints:
    """Weights as METIS wants them: positive and whole.

    Example:
        >>> whole_numbers(np.array([0.5, 0.25, 0.0])).tolist()
        [10000, 5000, 1]
    """
    scaled = np.maximum(1.0, values * (_METIS_UNITS / float(values.max())))
    return np.asarray(scaled, np.int64)
