"""Galil and Megiddo's selection for concave curves: the best division without walking through the units.

Introduction. With concave curves the best division of B units takes the B largest gains. Each curve's gains are
already sorted, so they form a matrix with sorted columns, in which the B-th largest entry is found by discarding parts
of columns, never by sorting them.

Algorithm. Each column keeps a window of gains that are still undecided. In each round the middle gains of the windows,
weighted with the windows' lengths, have a weighted median; counting how many gains of all columns lie above it (a
binary search in each column, all columns at once) tells on which side the B-th largest lies, and at least a quarter of
the undecided gains is discarded. O(log N) rounds of O(n log N): O(n log^2 N). Ties at the last gain are filled in the
order of the curves.

Reference: Galil and Megiddo, "A fast selection algorithm and the problem of optimum distribution of effort", JACM 1979.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.scheduler.problem.resource_functions import FloatArray

IntArray = NDArray[np.int64]


def allocate_by_galil_megiddo(curves: Sequence[FloatArray], budget: int) -> IntArray:
    """The best division of the units among concave curves.

    Example:
        >>> allocate_by_galil_megiddo([np.array([0.0, 5.0, 6.0]), np.array([0.0, 3.0, 4.0])], 2).tolist()
        [1, 1]
    """
    columns = _Columns(curves)
    useful = columns.count_above(0.0)
    if useful.sum() <= budget:
        return useful
    last = _select(columns, useful, budget)
    taken = columns.count_above(last)
    ties = columns.count_at_least(last) - taken
    rest = budget - int(taken.sum())
    before = np.cumsum(ties) - ties
    return np.asarray(taken + np.clip(rest - before, 0, ties))


class _Columns:
    """The gains of all curves, end to end, each curve's in falling order."""

    def __init__(self, curves: Sequence[FloatArray]) -> None:
        self.lengths = np.array([len(curve) - 1 for curve in curves], dtype=np.int64)
        self.starts = np.cumsum(self.lengths) - self.lengths
        parts = [np.diff(curve) for curve in curves]
        # Rounding may leave a gain a hair above the one before it; the search needs them sorted.
        # The last, empty gain lets a column without gains be looked at.
        self.gains = np.concatenate([*(np.minimum.accumulate(part) for part in parts), [0.0]])

    def count_above(self, gain: float) -> IntArray:
        return self._search(lambda values: values > gain)

    def count_at_least(self, gain: float) -> IntArray:
        return self._search(lambda values: values >= gain)

    def at(self, positions: IntArray) -> FloatArray:
        return np.asarray(self.gains[self.starts + positions])

    def _search(self, is_before: Callable[[FloatArray], NDArray[np.bool_]]) -> IntArray:
        low, high = np.zeros_like(self.lengths), self.lengths.copy()
        while (open_ := low < high).any():
            middle = (low + high) // 2
            before = np.zeros(len(low), dtype=bool)
            before[open_] = is_before(self.gains[(self.starts + middle)[open_]])
            low = np.where(open_ & before, middle + 1, low)
            high = np.where(open_ & ~before, middle, high)
        return low


def _select(columns: _Columns, useful: IntArray, budget: int) -> float:
    """The gain of rank `budget`, counted from the largest, among the useful gains."""
    low, high = np.zeros_like(useful), useful.copy()
    while True:
        undecided = low < high
        middle = (low + high) // 2
        gains = columns.at(np.where(undecided, middle, 0))[undecided]
        pivot = _weighted_median(gains, (high - low)[undecided])
        above, at_least = columns.count_above(pivot), columns.count_at_least(pivot)
        if above.sum() < budget <= at_least.sum():
            return pivot
        if budget <= above.sum():
            high = np.minimum(high, above)
        else:
            low = np.maximum(low, np.minimum(at_least, high))


def _weighted_median(values: FloatArray, weights: IntArray) -> float:
    order = np.argsort(-values, kind="stable")
    heavy = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(heavy, (heavy[-1] + 1) // 2)]])
