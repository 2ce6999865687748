"""Isotonic regression in several dimensions: a grid whose heights never fall along any axis."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, csr_matrix, hstack, identity, vstack

from penstock.scheduler.learner.samples import Matrix


def quantile_knots(values: Matrix, count: int) -> Matrix:
    """Positions at quantiles of what was seen, at least two and none too close.

    Example:
        >>> quantile_knots(np.array([0.0, 1.0, 2.0, 10.0]), 3)
        array([ 0. ,  1.5, 10. ])
    """
    knots = np.unique(np.quantile(values, np.linspace(0.0, 1.0, count)))
    # Knots closer than that make ramps too steep to compute with.
    knots = knots[np.concatenate([[True], np.diff(knots) > 1e-6 * max(float(knots[-1]), 1e-6)])]
    return knots if len(knots) > 1 else np.array([knots[0], knots[0] + 1.0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lattice:
    """Multilinear interpolation between the vertices of a grid; flat outside it.

    Attributes:
        family: Always `lattice`.
        axes: Grid positions along each coordinate.
        heights: The output rate at each vertex, last coordinate fastest.
    """

    family: str
    axes: tuple[Matrix, ...]
    heights: Matrix

    def __call__(self, points: Matrix) -> Matrix:
        """The output rate at each point."""
        return np.asarray(vertex_shares(points, self.axes) @ self.heights)

    def in_units(self, sizes: Matrix, size: float) -> Lattice:
        """The function for points and rates that are so many times as large."""
        axes = tuple(at * scale for at, scale in zip(self.axes, sizes.tolist(), strict=True))
        return Lattice(family=self.family, axes=axes, heights=self.heights * size)


def vertex_shares(points: Matrix, axes: tuple[Matrix, ...]) -> csr_matrix:
    """The weight of each vertex of the grid in each point's interpolation: one sparse row a point.

    Example:
        >>> vertex_shares(np.array([[0.25, 9.0]]), (np.array([0.0, 1.0]), np.array([0.0, 1.0]))).toarray()
        array([[0.  , 0.75, 0.  , 0.25]])
    """
    count, strides = len(points), _strides(axes)
    cells, within = [], []
    for axis, at in enumerate(axes):
        x = np.clip(points[:, axis], at[0], at[-1])
        cell = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2)
        cells.append(cell)
        within.append((x - at[cell]) / (at[cell + 1] - at[cell]))
    rows, columns, shares = [], [], []
    for corner in product((0, 1), repeat=len(axes)):
        share = np.ones(count)
        vertex = np.zeros(count, dtype=int)
        for axis, up in enumerate(corner):
            share = share * (within[axis] if up else 1.0 - within[axis])
            vertex = vertex + (cells[axis] + up) * strides[axis]
        rows.append(np.arange(count))
        columns.append(vertex)
        shares.append(share)
    shape = (count, int(np.prod([len(at) for at in axes])))
    return csr_matrix((np.concatenate(shares), (np.concatenate(rows), np.concatenate(columns))), shape=shape)


def _strides(axes: tuple[Matrix, ...]) -> list[int]:
    lengths = [len(at) for at in axes]
    return [int(np.prod(lengths[axis + 1 :])) for axis in range(len(lengths))]


def fit_lattice(points: Matrix, rates: Matrix, weights: Matrix, like: object = None) -> Lattice:
    """Isotonic regression on a grid with absolute errors; a function that is near is of no use to it.

    Example:
        >>> points = np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 2.0], [2.0, 2.0]] * 8)
        >>> fit_lattice(points, points.prod(axis=1), np.ones(32))(np.array([[2.0, 2.0], [1.5, 1.0]])).round(6)
        array([4. , 1.5])
    """
    axes = _grid(points)
    shares = vertex_shares(points, axes)
    count, vertices = shares.shape
    order = _order_rows(axes)
    # Unknowns: the heights, then each sample's absolute miss.
    miss = identity(count, format="csr")
    above, below = hstack([shares, -miss]), hstack([-shares, -miss])
    monotone = hstack([order, csr_matrix((order.shape[0], count))])
    cost = np.concatenate([np.full(vertices, 1e-9), np.sqrt(weights)])
    bound = np.concatenate([rates, -rates, np.zeros(order.shape[0])])
    solved = linprog(cost, A_ub=vstack([above, below, monotone], format="csr"), b_ub=bound, method="highs")
    return Lattice(family="lattice", axes=axes, heights=np.asarray(solved.x)[:vertices])


def _grid(points: Matrix) -> tuple[Matrix, ...]:
    """As many positions along each coordinate as the samples can pay for, at quantiles of what was seen."""
    dimensions = points.shape[1]
    length = int(np.clip((len(points) / 4) ** (1 / dimensions), 2, 12))
    return tuple(quantile_knots(points[:, axis], length) for axis in range(dimensions))


def _order_rows(axes: tuple[Matrix, ...]) -> csr_matrix:
    """Rows that say, for each two neighbours on the grid, that the lower is not above the upper."""
    strides, lengths = _strides(axes), [len(at) for at in axes]
    vertices = np.arange(int(np.prod(lengths)))
    lower = [
        vertices[(vertices // stride) % length < length - 1] for stride, length in zip(strides, lengths, strict=True)
    ]
    upper = [low + stride for low, stride in zip(lower, strides, strict=True)]
    low, up = np.concatenate(lower), np.concatenate(upper)
    rows = np.arange(len(low))
    values = np.concatenate([np.ones(len(low)), -np.ones(len(low))])
    shape = (len(low), len(vertices))
    return coo_matrix((values, (np.concatenate([rows, rows]), np.concatenate([low, up]))), shape=shape).tocsr()
