"""Where samples were taken: near them a fit may be trusted, elsewhere only monotonicity may.

A PE that is never starved uses mips in proportion to what comes in: its samples lie on a line, and a fit through a
line says nothing of the plane beside it. So a band is that of the fit only where samples are near, in parts of the
range that was seen and against how near samples are to each other; beside a line, or the plane that several inputs
make of it, only as far as samples stray from it. Elsewhere the true rate lies above that of every
sample with less of everything, and below that of every sample with more of everything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.spatial import cKDTree

from penstock.scheduler.learner.samples import Matrix

REACH = 3.0
"""How many times the usual distance between samples a sample speaks for."""

LEAST_REACH = 0.05
"""Of the range of each coordinate: what a sample speaks for however dense they are."""

MOST_SAMPLES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Support:
    """The samples that a function was learned from.

    Attributes:
        points: Input rates and mips of each.
        span: The range of each coordinate.
        costs: The mips for a tuple of each input, where the samples show nothing else; None otherwise.
        strays: How far mips may lie from that, up or down, to have been seen.
    """

    points: Matrix
    span: Matrix
    costs: Matrix | None = None
    strays: float = 0.0

    @staticmethod
    def of(points: Matrix, *, is_on_a_line: bool = False) -> Support:
        """The support of some samples, of which a thousand are enough."""
        kept = points[:: -(-len(points) // MOST_SAMPLES)]
        span = np.maximum(np.ptp(kept, axis=0), 1e-12)
        if not is_on_a_line:
            return Support(points=kept, span=span)
        sizes = np.where(kept.max(axis=0) > 0, kept.max(axis=0), 1.0)
        costs = nnls((kept / sizes)[:, :-1], (kept / sizes)[:, -1])[0] * sizes[-1] / sizes[:-1]
        usual = float(np.median(np.abs(kept[:, :-1] @ costs - kept[:, -1])))
        strays = max(REACH * usual, LEAST_REACH * np.sqrt(kept.shape[1]) * float(span[-1]))
        return Support(points=kept, span=span, costs=costs, strays=strays)

    def is_near(self, points: Matrix) -> NDArray[np.bool_]:
        """Whether samples were taken near each point.

        Example:
            >>> line = Support.of(np.linspace([0.0, 0.0], [10.0, 20.0], 50))
            >>> line.is_near(np.array([[5.0, 10.2], [5.0, 15.0]])).tolist()
            [True, False]
        """
        tree = cKDTree(self.points / self.span)
        between = np.asarray(tree.query(self.points / self.span, k=[min(2, len(self.points))])[0])
        usual = float(np.quantile(between, 0.9))
        reach = max(REACH * usual, LEAST_REACH * np.sqrt(self.points.shape[1]))
        is_near = np.asarray(tree.query(points / self.span)[0] <= reach)
        if self.costs is None:
            return is_near
        return is_near & (np.abs(points[:, :-1] @ self.costs - points[:, -1]) <= self.strays)

    def bounds(self, points: Matrix, low: Matrix, high: Matrix) -> tuple[Matrix, Matrix]:
        """The least and the most value at each point that monotonicity allows, given bands at the samples.

        Example:
            >>> line = Support.of(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]))
            >>> least, most = line.bounds(np.array([[1.5, 2.5]]), line.points[:, 0], line.points[:, 0])
            >>> least.tolist(), most.tolist()
            ([1.0], [3.0])
        """
        slack = 1e-9 * self.span
        below = (self.points[None, :, :] <= points[:, None, :] + slack).all(axis=2)
        above = (self.points[None, :, :] >= points[:, None, :] - slack).all(axis=2)
        least = np.where(below, low[None, :], 0.0).max(axis=1)
        most = np.where(above, high[None, :], np.inf).min(axis=1)
        return least, np.maximum(most, least)
