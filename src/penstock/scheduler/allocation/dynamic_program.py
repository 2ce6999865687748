"""Dynamic programming for curves of any shape, made small by a Lagrangian bound.

Introduction. The textbook program keeps the best sum for each number of units used so far: O(n B^2), out of reach for
a thousand jobs and a hundred thousand units. Most of that table cannot hold the optimum, and a price on the resource
shows which part can.

Formulation. As in `penstock.scheduler.allocation.allocate`. At a price of l a unit, component c would best take the u
that maximizes v_c[u] - l u; the loss of taking another u is what it falls short of that. Every division's sum is

    bound(l) - sum of the losses - l x (units left over),     bound(l) = l B + sum over c of max (v_c[u] - l u).

Algorithm. The price is the slope at which the curves' concave hulls use up the budget (`_hull_segments`), where the
bound is lowest. Filling hull segments in falling slope (`_greedy`) gives a division, and the gap between the bound
and its sum is what losses may add up to. Options that lose more are dropped, and the program runs over what is left:
its state is the number of units above or below the divisions at that price, and states that have lost more than the
gap are dropped too (`_Window`). When time is up, or more than `WORK_LIMIT` states were looked at, the greedy division
stands: with many components its gap is small.

When it does not apply. Where all curves are concave `galil_megiddo` is faster.

Preserves. Optimality: only what provably cannot beat the greedy division is dropped.

Reference. Ibaraki and Katoh, "Resource allocation problems", 1988, for the program; the reduction is Pisinger's for
the multiple-choice knapsack ("A minimal algorithm for the multiple-choice knapsack problem", EJOR 1995) with the
whole window kept in arrays. The SODA paper has the plain program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.base.deadline import Deadline, OutOfTime
from penstock.scheduler.problem.resource_functions import FloatArray

IntArray = NDArray[np.int64]


WORK_LIMIT = 400_000_000
"""States times options that are looked at before the greedy division is found good enough: about a second."""


def allocate_by_dp(
    curves: Sequence[FloatArray], budget: int, deadline: Deadline | None = None
) -> tuple[IntArray, bool]:
    """The best division of the units among curves of any shape, and whether it is proved to be the best.

    Example:
        >>> allocate_by_dp([np.array([0.0, 1.0, 7.0]), np.array([0.0, 0.0, 4.0, 9.0])], 4)
        (array([2, 2]), True)
        >>> allocate_by_dp([np.array([0.0, 1.0, 7.0]), np.array([0.0, 0.0, 4.0, 9.0])], 5)
        (array([2, 3]), True)
    """
    units, price = _greedy(curves, budget)
    value = sum(float(curve[u]) for curve, u in zip(curves, units, strict=True))
    options = [_Options.of(curve, price) for curve in curves]
    bound = price * budget + sum(option.best for option in options)
    gap = bound - value
    if gap <= 1e-12 * abs(bound):
        return units, True
    try:
        return _search(options, price, budget, gap, deadline or Deadline.after(None)), True
    except OutOfTime:
        return units, False


def _greedy(curves: Sequence[FloatArray], budget: int) -> tuple[IntArray, float]:
    """Hull segments in falling slope, in part where they do not fit; and the slope of the first that does not."""
    owners, starts, ends, slopes = _hull_segments(curves)
    units = np.zeros(len(curves), dtype=np.int64)
    left, price = budget, 0.0
    for i in np.argsort(-slopes, kind="stable"):
        owner, start, end = int(owners[i]), int(starts[i]), int(ends[i])
        if slopes[i] <= 0 or (left == 0 and price > 0):
            break
        # A segment follows only on the one before it on the same hull.
        if units[owner] == start and end - start <= left:
            units[owner] = end
        elif price == 0.0:
            price = float(slopes[i])
        if units[owner] == start:
            units[owner] = _cheapest_best(curves[owner], start, start + left)
        left = budget - int(units.sum()) if units[owner] != start else left
    return units, price


def _cheapest_best(curve: FloatArray, start: int, end: int) -> int:
    """The fewest units from `start` to `end` that give what `end` gives."""
    return start + int(np.searchsorted(curve[start : end + 1], curve[min(end, len(curve) - 1)]))


def _hull_segments(curves: Sequence[FloatArray]) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    hulls = [_upper_hull(curve) for curve in curves]
    owners = np.repeat(np.arange(len(curves)), [len(hull) - 1 for hull in hulls])
    starts = np.concatenate([hull[:-1] for hull in hulls] or [np.zeros(0, dtype=np.int64)])
    ends = np.concatenate([hull[1:] for hull in hulls] or [np.zeros(0, dtype=np.int64)])
    rises = np.concatenate([np.diff(curve[hull]) for curve, hull in zip(curves, hulls, strict=True)] or [np.zeros(0)])
    return owners, starts, ends, rises / np.maximum(ends - starts, 1)


def _upper_hull(curve: FloatArray) -> IntArray:
    """The positions of the vertices of the least concave function above the curve."""
    corners = [0]
    values = curve.tolist()
    for u in _candidates(curve):
        while len(corners) > 1 and _is_below(values, corners[-2], corners[-1], u):
            corners.pop()
        corners.append(u)
    return np.array(corners, dtype=np.int64)


def _candidates(curve: FloatArray) -> list[int]:
    """Positions where the slope falls: no others can be vertices."""
    slopes = np.diff(curve)
    falls = np.flatnonzero(slopes[1:] < slopes[:-1]) + 1
    return [*falls.tolist(), *([len(curve) - 1] if len(curve) > 1 else [])]


def _is_below(values: list[float], left: int, middle: int, right: int) -> bool:
    return (values[middle] - values[left]) * (right - left) <= (values[right] - values[left]) * (middle - left)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The choices of one component at a price: `units[i]` loses `losses[i]` against the best, `base`, worth `best`."""

    units: IntArray
    losses: FloatArray
    base: int
    best: float

    @classmethod
    def of(cls, curve: FloatArray, price: float) -> _Options:
        gains = curve - price * np.arange(len(curve))
        base = int(np.argmax(gains))
        best = float(gains[base])
        return cls(units=np.arange(len(curve)), losses=best - gains, base=base, best=best)

    def within(self, gap: float) -> _Options:
        kept = self.losses <= gap
        return _Options(units=self.units[kept], losses=self.losses[kept], base=self.base, best=self.best)


@dataclass(slots=True, kw_only=True)
class _Window:
    """The states of the program: `losses[i]` is the least loss with `low + i` units more than the bases."""

    low: int
    losses: FloatArray

    def extended(self, option: _Options, gap: float) -> tuple[_Window, IntArray]:
        """The states after one more component, and the units it took in each."""
        shifts = option.units - option.base
        first, last = int(shifts.min()), int(shifts.max())
        width = len(self.losses)
        losses = np.full(width + last - first, np.inf)
        taken = np.zeros(width + last - first, dtype=np.int64)
        for units, shift, loss in zip(option.units, shifts - first, option.losses, strict=True):
            total = self.losses + loss
            better = total < losses[shift : shift + width]
            losses[shift : shift + width][better] = total[better]
            taken[shift : shift + width][better] = units
        alive = np.flatnonzero(losses <= gap)
        kept = slice(alive[0], alive[-1] + 1)
        losses[losses > gap] = np.inf
        return _Window(low=self.low + first + int(alive[0]), losses=losses[kept]), taken[kept]


def _search(options: Sequence[_Options], price: float, budget: int, gap: float, deadline: Deadline) -> IntArray:
    # Rounding must not drop the state that ties with the greedy division.
    gap += 1e-9 * gap
    units = np.array([option.base for option in options], dtype=np.int64)
    live = [(i, option.within(gap)) for i, option in enumerate(options)]
    live = [(i, option) for i, option in live if len(option.units) > 1]
    window = _Window(low=0, losses=np.zeros(1))
    trail = []
    work = 0
    for i, option in sorted(live, key=lambda entry: len(entry[1].units)):
        deadline.check()
        work += len(option.units) * len(window.losses)
        if work > WORK_LIMIT:
            raise OutOfTime
        window, taken = window.extended(option, gap)
        trail.append((i, option.base, window.low, taken))
    left = budget - int(units.sum()) - window.low - np.arange(len(window.losses))
    total = np.where(left >= 0, window.losses + price * left, np.inf)
    state = window.low + int(np.argmin(total))
    for i, base, low, taken in reversed(trail):
        units[i] = taken[state - low]
        state -= int(units[i]) - base
    return units
