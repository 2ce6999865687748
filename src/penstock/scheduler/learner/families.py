"""The families of monotone functions that a resource function is sought in.

A point is (rate of each input, mips); a function gives the output rate and never falls in any coordinate. Four
families, from few parameters to many:

    flow      min(a . rates, b * mips): what a PE does that pays a fixed price for each tuple
    capacity  min(a . rates, C(mips)), C monotone and linear between knots: a price that changes with load
    join      min(a . rates + pairs . products of two rates, C(mips)): tuples of two inputs meet
    lattice   multilinear between the vertices of a grid, monotone along each axis: anything monotone

The first three are fitted by alternation: with each sample given to the side that limits it, each side is a
non-negative least squares problem (monotone, because the columns are monotone and the coefficients are not negative);
then samples are given out anew. The lattice is in `lattice`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from penstock.scheduler.learner.lattice import Lattice, fit_lattice, quantile_knots
from penstock.scheduler.learner.samples import Matrix
from penstock.scheduler.problem.admission_problem import Limits, Table

Columns = tuple[tuple[int, ...], ...]
Sides = npt.NDArray[np.int64]
Data = tuple[Matrix, Matrix, Matrix]

ENDLESS_TPS = 1e12
"""Stands for a side that never limits."""

_ON_LINE = 0.15
"""The mean miss, as a part of the mean mips, up to which mips count as proportional to the inputs."""

_ALTERNATIONS = 25
_KNOTS = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limit:
    """One side of a PE's minimum: columns that never fall, times coefficients that are not negative.

    Attributes:
        columns: Coordinates of the point that this side looks at; two together stand for their product.
        knots: For each of them its knots; empty for a straight line through the origin.
        coefficients: Of the basis functions, in the order of `basis`.
    """

    columns: Columns
    knots: tuple[Matrix, ...]
    coefficients: Matrix

    def __call__(self, points: Matrix) -> Matrix:
        """The rate that this side allows at each point."""
        allowed: Matrix = basis(points, self.columns, self.knots) @ self.coefficients
        return allowed

    def in_units(self, sizes: Matrix, size: float) -> Limit:
        """A side that was fitted to points and rates in parts of these sizes, for points and rates as they are."""
        scales = [float(sizes[list(column)].prod()) for column in self.columns]
        factors: list[float] = []
        for scale, at in zip(scales, self.knots, strict=True):
            factors += [size] * len(at) if len(at) else [size / scale]
        knots = tuple(at * scale for scale, at in zip(scales, self.knots, strict=True))
        return Limit(columns=self.columns, knots=knots, coefficients=self.coefficients * np.array(factors))


def basis(points: Matrix, columns: Columns, knots: tuple[Matrix, ...]) -> Matrix:
    """The basis functions at each point: the coordinate itself, or a start and one ramp between each two knots.

    Example:
        >>> basis(np.array([[5.0]]), ((0,),), (np.array([0.0, 4.0, 8.0]),))
        array([[1.  , 1.  , 0.25]])
    """
    blocks = []
    for column, at in zip(columns, knots, strict=True):
        x = points[:, column].prod(axis=1, keepdims=True)
        if len(at) == 0:
            blocks.append(x)
        else:
            ramps = np.clip((x - at[:-1]) / np.diff(at), 0.0, 1.0)
            blocks.append(np.hstack([np.ones_like(x), ramps]))
    return np.hstack(blocks)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LimitedRate:
    """The smaller of what the inputs offer and what the mips allow."""

    family: str
    sides: tuple[Limit, ...]

    def __call__(self, points: Matrix) -> Matrix:
        """The output rate at each point."""
        return np.asarray(np.min([side(points) for side in self.sides], axis=0))

    def in_units(self, sizes: Matrix, size: float) -> LimitedRate:
        """The function for points and rates that are so many times as large."""
        return LimitedRate(family=self.family, sides=tuple(side.in_units(sizes, size) for side in self.sides))


MonotoneFunction = LimitedRate | Lattice


def limits_of(function: LimitedRate, inputs: Sequence[str], *, most_mips: float) -> Limits:
    """A fitted function in the form that macroQ composes.

    Example:
        >>> points = np.array([[10.0, 100.0], [20.0, 100.0], [40.0, 20.0], [40.0, 40.0]])
        >>> fit = fit_flow(points, np.array([5.0, 10.0, 4.0, 8.0]), np.ones(4))
        >>> limits = limits_of(fit, ["s"], most_mips=100.0)
        >>> [round(share, 6) for _, share in limits.offered], [round(rate, 6) for _, rate in limits.allowed.points]
        ([0.5], [0.0, 20.0])
    """
    mips = len(inputs)
    allowed, offered, pairs = Table(points=((0.0, ENDLESS_TPS),)), [], []
    for side in function.sides:
        if side.columns == ((mips,),):
            allowed = _allowed(side, mips, most_mips)
            continue
        for column, share in zip(side.columns, side.coefficients.tolist(), strict=True):
            if len(column) == 1:
                offered.append((inputs[column[0]], share))
            else:
                pairs.append((inputs[column[0]], inputs[column[1]], share))
    if mips and not offered and not pairs:
        offered = [(stream, ENDLESS_TPS) for stream in inputs]
    return Limits(allowed=allowed, offered=tuple(offered), pairs=tuple(pairs))


def _allowed(side: Limit, mips: int, most_mips: float) -> Table:
    knots = [0.0, most_mips] if len(side.knots[0]) == 0 else sorted({0.0, *map(float, side.knots[0])})
    points = np.zeros((len(knots), mips + 1))
    points[:, mips] = knots
    rates = np.maximum.accumulate(np.maximum(side(points), 0.0))
    return Table(points=tuple(zip(knots, map(float, rates), strict=True)))


Fit = Callable[[Matrix, Matrix, Matrix, MonotoneFunction | None], MonotoneFunction]


def fit_flow(points: Matrix, rates: Matrix, weights: Matrix, like: MonotoneFunction | None = None) -> LimitedRate:
    """The best `min(a . rates, b * mips)`.

    Example:
        >>> points = np.array([[10.0, 100.0], [20.0, 100.0], [40.0, 20.0], [40.0, 40.0]])
        >>> fit = fit_flow(points, np.array([5.0, 10.0, 4.0, 8.0]), np.ones(4))
        >>> fit(np.array([[30.0, 200.0], [90.0, 10.0]])).round(6)
        array([15.,  2.])
    """
    return _fit_limits("flow", (points, rates, weights), _single_inputs(points), np.empty(0), like)


def is_on_a_line(points: Matrix) -> bool:
    """Whether the mips follow from the inputs: the samples of a PE that was never starved.

    Example:
        >>> inputs = np.linspace(10.0, 100.0, 20)
        >>> is_on_a_line(np.column_stack([inputs, 2 * inputs])), is_on_a_line(np.column_stack([inputs, inputs[::-1]]))
        (True, False)
    """
    inputs, mips = points[:, :-1], points[:, -1]
    if inputs.shape[1] == 0 or not mips.any():
        return False
    costs, _ = nnls(inputs, mips)
    return bool(np.abs(inputs @ costs - mips).mean() <= _ON_LINE * mips.mean())


def fit_line(points: Matrix, rates: Matrix, weights: Matrix, like: MonotoneFunction | None = None) -> LimitedRate:
    """A flow from samples on a line: the selectivity from rates and inputs, the price from rates and mips.

    Example:
        >>> inputs = np.linspace(10.0, 100.0, 20)
        >>> fit = fit_line(np.column_stack([inputs, 2 * inputs]), inputs / 4, np.ones(20))
        >>> fit(np.array([[80.0, 160.0], [80.0, 80.0], [40.0, 160.0]])).round(6)
        array([20., 10., 10.])
    """
    inputs = _single_inputs(points)
    offered = _robust_nnls(points[:, :-1], rates, weights)
    allowed = _robust_nnls(points[:, -1:], rates, weights)
    straight = np.empty(0)
    sides = (
        Limit(columns=((len(inputs),),), knots=(straight,), coefficients=allowed),
        Limit(columns=inputs, knots=tuple(straight for _ in inputs), coefficients=offered),
    )
    return LimitedRate(family="flow", sides=sides)


def fit_capacity(points: Matrix, rates: Matrix, weights: Matrix, like: MonotoneFunction | None = None) -> LimitedRate:
    """The best `min(a . rates, C(mips))` with C monotone and linear between quantiles of the mips seen."""
    knots = quantile_knots(points[:, -1], _KNOTS)
    return _fit_limits("capacity", (points, rates, weights), _single_inputs(points), knots, like)


def fit_join(points: Matrix, rates: Matrix, weights: Matrix, like: MonotoneFunction | None = None) -> LimitedRate:
    """The best `min(a . rates + c . products of two rates, C(mips))`; without a second input, `fit_capacity`."""
    singles = _single_inputs(points)
    pairs = tuple(combinations(range(points.shape[1] - 1), 2))
    knots = quantile_knots(points[:, -1], _KNOTS)
    return _fit_limits("join" if pairs else "capacity", (points, rates, weights), singles + pairs, knots, like)


def _single_inputs(points: Matrix) -> Columns:
    return tuple((column,) for column in range(points.shape[1] - 1))


def _fit_limits(
    family: str, data: Data, offered: Columns, mips_knots: Matrix, like: MonotoneFunction | None
) -> LimitedRate:
    points, rates, weights = data
    shapes: list[tuple[Columns, tuple[Matrix, ...]]] = [(((points.shape[1] - 1,),), (mips_knots,))]
    if offered:
        shapes.append((offered, tuple(np.empty(0) for _ in offered)))
    starts = _starts(points, like) if offered else [np.zeros(len(rates), dtype=int)]
    fits = [_alternate(family, shapes, data, start) for start in starts]
    return min(fits, key=lambda fit: float(np.sum(weights * np.abs(fit(points) - rates))))


def _starts(points: Matrix, like: MonotoneFunction | None) -> list[Sides]:
    """To which side each sample is given at first: as in a function that is near, or in several ways."""
    if isinstance(like, LimitedRate) and len(like.sides) > 1:
        return [np.argmin([side(points) for side in like.sides], axis=0)]
    return _first_guesses(points)


def _first_guesses(points: Matrix) -> list[Sides]:
    """Several first gifts of samples to sides, by the ratio of what was offered to what was allotted."""
    offered = points[:, :-1].sum(axis=1) / np.maximum(points[:, -1], 1e-9)
    return [(offered <= np.quantile(offered, q)).astype(int) for q in (0.2, 0.5, 0.8)]


def _alternate(family: str, shapes: list[tuple[Columns, tuple[Matrix, ...]]], data: Data, given: Sides) -> LimitedRate:
    points, rates, weights = data
    designs = [basis(points, columns, knots) for columns, knots in shapes]
    coefficients = [np.full(design.shape[1], np.inf) for design in designs]
    for _ in range(_ALTERNATIONS):
        for side, design in enumerate(designs):
            mine = given == side
            if mine.any():
                coefficients[side] = _robust_nnls(design[mine], rates[mine], weights[mine])
        allowed = [
            design @ c if np.isfinite(c).all() else np.full(len(rates), np.inf)
            for design, c in zip(designs, coefficients, strict=True)
        ]
        again = np.argmin(allowed, axis=0)
        if (again == given).all():
            break
        given = again
    sides = [
        Limit(columns=columns, knots=knots, coefficients=c)
        for (columns, knots), c in zip(shapes, coefficients, strict=True)
        if np.isfinite(c).all()
    ]
    return LimitedRate(family=family, sides=tuple(sides))


def _robust_nnls(design: Matrix, rates: Matrix, weights: Matrix) -> Matrix:
    """Non-negative least squares in which a sample far off counts less (Huber's weights)."""
    size = np.abs(design).max(axis=0)
    # A column that is zero but for rounding gets no coefficient.
    scale = np.where(size > 1e-9, size, np.inf)
    huber = np.ones(len(rates))
    for _ in range(3):
        root = np.sqrt(weights * huber)
        coefficients: Matrix = nnls(design / scale * root[:, None], rates * root)[0] / scale
        misses = np.abs(design @ coefficients - rates) * np.sqrt(weights)
        bound = 1.345 * max(float(np.median(misses)) / 0.6745, 1e-12)
        huber = np.minimum(1.0, bound / np.maximum(misses, 1e-12))
    return coefficients


FAMILIES: tuple[Fit, ...] = (fit_flow, fit_capacity, fit_join, fit_lattice)
"""Each fits points, rates and weights; with a function that is near, it may start from there."""
