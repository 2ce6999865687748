"""Piecewise linear functions as rows of a mixed integer program, and resource functions cut into such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from penstock.base.integer_program import IntegerProgram
from penstock.scheduler.problem.admission_problem import (
    PRIMAL,
    Flow,
    Limits,
    Linear,
    Pe,
    RateFunction,
    Surface,
    Table,
    ValueFunction,
)
from penstock.scheduler.problem.resource_functions import Amounts, rate_of

Points = Sequence[tuple[float, float]]
Offer = tuple[float, Sequence[tuple[str, float]]]
"""A height, and the share of each stream: a rate is at most the height and the shares of the streams' rates."""

MOST_BOUNDS = 16
"""Rows for the products of inputs of one stream."""

_SLACK = 1e-9


def points_of_value(value: ValueFunction, top: float) -> Points:
    """The points of a value function up to a rate.

    Example:
        >>> points_of_value(Linear(slope=2.0), 10.0)
        ((0.0, 0.0), (10.0, 20.0))
    """
    if isinstance(value, Linear):
        return ((0.0, 0.0), (max(top, 1.0), value.slope * max(top, 1.0)))
    return value.points


def offers_of(pe: Pe, rate: RateFunction, most_tps: Mapping[str, Amounts]) -> list[Offer]:
    """The offers of a PE's inputs to one of its streams: upper bounds of the stream's rate, linear in the inputs.

    Two inputs that meet offer at most what each offers while the other is at its most, and so does an input of a
    surface. Both promise too much, never too little; what follows from them is composed again at the end.

    Args:
        pe: Reads the inputs.
        rate: The resource function of the stream.
        most_tps: The most that each input carries, and what the PE is offered as `PRIMAL`.

    Example:
        >>> join = Limits(allowed=Table(points=((0.0, 0.0), (9.0, 9.0))), pairs=(("a", "b", 0.5),))
        >>> offers_of(Pe(id="p", max_mips=9.0, inputs=("a", "b")), join, {"a": 4.0, "b": 6.0})
        [(0.0, [('a', 3.0)]), (0.0, [('b', 2.0)])]
    """
    match rate:
        case Flow():
            return [(0.0, [(stream, rate.selectivity) for stream in (PRIMAL, *pe.inputs)])]
        case Limits():
            return _limits_offers(rate, most_tps)
        case Surface():
            return [offer for stream in rate.inputs for offer in _surface_offers(rate, stream, most_tps, pe.max_mips)]
        case _:
            return []


def _limits_offers(rate: Limits, most_tps: Mapping[str, Amounts]) -> list[Offer]:
    bounds = [list(rate.offered)]
    for left, right, share in rate.pairs:
        sides = [(left, share * float(most_tps.get(right, 0.0))), (right, share * float(most_tps.get(left, 0.0)))]
        bounds = [[*bound, side] for bound in bounds for side in sides][:MOST_BOUNDS]
    return [(0.0, bound) for bound in bounds]


def _surface_offers(
    rate: Surface, stream: str, most_tps: Mapping[str, Amounts], max_mips: float
) -> list[tuple[float, list[tuple[str, float]]]]:
    knots = rate.knots[rate.inputs.index(stream)]
    points = [(x, float(rate_of(rate, 0.0, max_mips, {**most_tps, stream: x}))) for x in knots]
    hull = concave_hull(_from_zero(points, 0.0))
    lines = [(y - slope * x, [(stream, slope)]) for (x, y), slope in zip(hull, _slopes(hull), strict=False)]
    return [*lines, (hull[-1][1], [])]


def allowed_points(rate: RateFunction, most_tps: Mapping[str, Amounts], max_mips: float) -> Points:
    """The rate that mips allow where the inputs carry the most that they can."""
    match rate:
        case Table():
            return rate.points
        case Limits():
            return rate.allowed.points
        case Surface():
            return [(x, float(rate_of(rate, 0.0, x, most_tps))) for x in rate.knots[-1]]
        case Flow():
            top = max_mips or 1.0
            return ((0.0, 0.0), (top, rate.selectivity * top / rate.mips_per_tps))


def at_most_function(program: IntegerProgram, y: int, x: int, points: Points, top: float, *, hull: bool) -> None:
    """Keep column y at or below the function of column x, which is linear between points and flat outside them.

    Args:
        program: To add rows to.
        y: The column that is pushed up.
        x: The argument's column.
        points: Of a function that never falls.
        top: The largest x that matters.
        hull: Whether the concave hull may stand for a function that is not concave.

    Example:
        >>> program = IntegerProgram()
        >>> x, y = program.columns(1, upper=3.0)[0], program.columns(1, cost=-1.0)[0]
        >>> at_most_function(program, y, x, [(0.0, 0.0), (2.0, 1.0), (4.0, 5.0)], 10.0, hull=False)
        >>> round(float(program.solve().values[y]), 6)
        3.0
    """
    points = _from_zero(points, top)
    if hull or is_concave(points):
        _add_pieces(program, y, x, concave_hull(points))
    else:
        _add_filled_pieces(program, y, x, points, top)


def _from_zero(points: Points, top: float) -> Points:
    """The points from x = 0 on, with the flat part before the first, and none that only say "still flat" after."""
    first = points[0]
    kept = [(0.0, first[1])] if first[0] > 0 else []
    kept += list(points)
    if kept[-1][0] < top:
        kept.append((top, kept[-1][1]))
    return kept


def _slopes(points: Points) -> list[float]:
    return [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(points)]


def is_concave(points: Points) -> bool:
    """Whether the slopes never rise.

    Example:
        >>> is_concave([(0, 0), (1, 3), (2, 4)]), is_concave([(0, 0), (1, 1), (2, 4)])
        (True, False)
    """
    slopes = _slopes(points)
    return all(b <= a + _SLACK * (1 + abs(a)) for a, b in pairwise(slopes))


def concave_hull(points: Points) -> Points:
    """The corners of the least concave function above the points.

    Example:
        >>> concave_hull([(0.0, 0.0), (1.0, 1.0), (2.0, 4.0), (3.0, 4.0)])
        [(0.0, 0.0), (2.0, 4.0), (3.0, 4.0)]
    """
    hull: list[tuple[float, float]] = []
    for point in points:
        while len(hull) > 1 and not is_concave([*hull[-2:], point]):
            hull.pop()
        hull.append(point)
    return hull


def _add_pieces(program: IntegerProgram, y: int, x: int, points: Points) -> None:
    """One row for each piece of a concave function, and one for its top."""
    for (x0, y0), slope in zip(points, _slopes(points), strict=False):
        program.row([(y, 1.0), (x, -slope)], most=y0 - slope * x0)
    program.row([(y, 1.0)], most=points[-1][1])


def _add_filled_pieces(program: IntegerProgram, y: int, x: int, points: Points, top: float) -> None:
    """Pieces that fill in order: a binary lets the next one begin when the one before is full."""
    lengths = [x1 - x0 for (x0, _), (x1, _) in pairwise(points)]
    fills = [program.columns(1, upper=length)[0] for length in lengths]
    starts = program.columns(len(lengths) - 1, upper=1.0, integral=True)
    program.row([*((fill, 1.0) for fill in fills), (x, -1.0)], most=0.0)
    rises = [(fill, -slope) for fill, slope in zip(fills, _slopes(points), strict=True)]
    program.row([(y, 1.0), *rises], most=points[0][1])
    for i, start in enumerate(starts):
        program.row([(fills[i], 1.0), (start, -lengths[i])], least=0.0)
        program.row([(fills[i + 1], 1.0), (start, -lengths[i + 1])], most=0.0)
