"""Resource and value functions, computed for whole arrays at once.

A resource function gives the rate of a stream from what comes into its PE and the mips that the PE gets: flows see
the load (the sum of the rates that come in), `Limits` and `Surface` each input by itself; a table sees the mips
alone. A value function gives the benefit of a rate. Both never fall when an argument grows, which the reader checks
and the search for the best allocation relies on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.scheduler.problem.admission_problem import Flow, Limits, Linear, Output, Pe, RateFunction, Surface, Table

FloatArray = NDArray[np.float64]
Amounts = FloatArray | float
"""One number, or an array of numbers for as many allocations; plain numbers are computed with plainly, and faster."""


def depends_on_load(rate: RateFunction) -> bool:
    """Whether a resource function looks at what comes in."""
    return not isinstance(rate, Table)


def depends_on_each_input(rate: RateFunction) -> bool:
    """Whether a resource function looks at each input by itself and not at their sum."""
    return isinstance(rate, Limits | Surface)


def rate_of(
    rate: RateFunction, load_tps: Amounts, mips: Amounts, inputs_tps: Mapping[str, Amounts] | None = None
) -> Amounts:
    """The rate of a stream whose PE has this load and these mips; arrays broadcast.

    `inputs_tps` has the rates of single inputs, which some functions need; one that is not there carries nothing.

    Example:
        >>> flow = Flow(mips_per_tps=2.0, selectivity=0.5)
        >>> rate_of(flow, 40.0, np.array([0.0, 60.0, 100.0])).tolist()
        [0.0, 15.0, 20.0]
    """
    if isinstance(rate, Table):
        return interpolate(rate, mips)
    if isinstance(rate, Limits):
        offered, allowed = offered_by(rate, inputs_tps or {}), interpolate(rate.allowed, mips)
        if isinstance(offered, float) and isinstance(allowed, float):
            return min(offered, allowed)
        least = np.minimum(offered, allowed)
        return np.asarray(least) if np.ndim(least) else float(least)
    if isinstance(rate, Surface):
        return _on_surface(rate, [(inputs_tps or {}).get(stream, 0.0) for stream in rate.inputs], mips)
    if isinstance(load_tps, float) and isinstance(mips, float):
        return rate.selectivity * min(load_tps, mips / rate.mips_per_tps)
    return np.asarray(rate.selectivity * np.minimum(load_tps, mips / rate.mips_per_tps))


def offered_by(rate: Limits, inputs_tps: Mapping[str, Amounts]) -> Amounts:
    """The rate that the inputs offer, whatever the mips.

    Example:
        >>> join = Limits(allowed=Table(points=((0.0, 0.0), (10.0, 5.0))), pairs=(("a", "b", 0.5),))
        >>> offered_by(join, {"a": 4.0, "b": 3.0}), rate_of(join, 7.0, 8.0, {"a": 4.0, "b": 3.0})
        (6.0, 4.0)
    """
    total: Amounts = 0.0
    for stream, share in rate.offered:
        total = total + share * inputs_tps.get(stream, 0.0)
    for left, right, share in rate.pairs:
        total = total + share * inputs_tps.get(left, 0.0) * inputs_tps.get(right, 0.0)
    return total


def _on_surface(surface: Surface, inputs_tps: Sequence[Amounts], mips: Amounts) -> Amounts:
    """Interpolate along every axis in turn, the corners of each point's cell weighted by its place in it."""
    if isinstance(mips, float) and all(isinstance(rate, float) for rate in inputs_tps):
        return _at_point(surface, [float(place) for place in (*inputs_tps, mips)])
    axes = [np.asarray(knots) for knots in surface.knots]
    grid = np.asarray(surface.rates).reshape([len(axis) for axis in axes])
    places = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (*inputs_tps, mips)))
    cells, parts = zip(*(_cell(axis, place) for axis, place in zip(axes, places, strict=True)), strict=True)
    total = np.zeros(places[0].shape)
    for corner in np.ndindex(*(2,) * len(axes)):
        weight = np.ones(places[0].shape)
        for step, part in zip(corner, parts, strict=True):
            weight = weight * (part if step else 1.0 - part)
        at = tuple(np.minimum(cell + step, len(axis) - 1) for cell, step, axis in zip(cells, corner, axes, strict=True))
        total = total + weight * grid[at]
    return total if total.ndim else float(total)


def _at_point(surface: Surface, places: Sequence[float]) -> float:
    """The same for one point, in plain numbers.

    Example:
        >>> both = Surface(inputs=("a",), knots=((0.0, 10.0), (0.0, 4.0)), rates=(0.0, 0.0, 0.0, 8.0))
        >>> _at_point(both, [5.0, 2.0]), _at_point(both, [99.0, 4.0])
        (2.0, 8.0)
    """
    corners = [(0, 1.0)]
    for knots, place in zip(surface.knots, places, strict=True):
        cell = min(max(bisect_right(knots, place) - 1, 0), max(len(knots) - 2, 0))
        after = min(cell + 1, len(knots) - 1)
        width = knots[after] - knots[cell]
        part = min(max((place - knots[cell]) / width, 0.0), 1.0) if width > 0 else 0.0
        steps = [(step, share) for step, share in ((cell, 1.0 - part), (after, part)) if share]
        corners = [(at * len(knots) + step, weight * share) for at, weight in corners for step, share in steps]
    return sum(weight * surface.rates[at] for at, weight in corners)


def _cell(axis: FloatArray, place: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """The cell of an axis in which each place lies, and how far along."""
    inside = np.clip(place, axis[0], axis[-1])
    cell = np.clip(np.searchsorted(axis, inside, side="right") - 1, 0, max(len(axis) - 2, 0))
    width = axis[np.minimum(cell + 1, len(axis) - 1)] - axis[cell]
    return cell, np.where(width > 0, (inside - axis[cell]) / np.where(width > 0, width, 1.0), 0.0)


def importance_of(output: Output, rate_tps: Amounts) -> Amounts:
    """The importance of a stream at a rate: its weight times its value.

    Example:
        >>> value = Table(points=((0.0, 0.0), (1000.0, 50.0), (2500.0, 80.0)))
        >>> out = Output(stream="s", rate=Flow(mips_per_tps=1.0, selectivity=1.0), value=value, weight=2.0)
        >>> importance_of(out, np.array([500.0, 1750.0, 9000.0])).tolist(), importance_of(out, 500.0)
        ([50.0, 130.0, 160.0], 50.0)
    """
    if output.value is None:
        return 0.0
    if isinstance(output.value, Linear):
        return output.weight * output.value.slope * rate_tps
    return output.weight * interpolate(output.value, rate_tps)


def useful_mips(pe: Pe, load_tps: float, inputs_tps: Mapping[str, Amounts] | None = None) -> float:
    """The mips beyond which no stream of the PE flows faster at this load, within what the PE may take.

    Without the rates of single inputs a function that looks at them is taken to use all that it could.

    Example:
        >>> out = Output(stream="s", rate=Flow(mips_per_tps=2.0, selectivity=0.5))
        >>> useful_mips(Pe(id="p", min_mips=10.0, max_mips=500.0, outputs=(out,)), 40.0)
        80.0
    """
    enough = max((_enough(output.rate, load_tps, inputs_tps) for output in pe.outputs), default=0.0)
    return min(pe.max_mips, max(pe.min_mips, enough))


def _enough(rate: RateFunction, load_tps: float, inputs_tps: Mapping[str, Amounts] | None) -> float:
    if isinstance(rate, Flow):
        return rate.mips_per_tps * load_tps if rate.selectivity > 0 else 0.0
    if isinstance(rate, Surface):
        return rate.knots[-1][-1]
    table = rate.allowed if isinstance(rate, Limits) else rate
    top = table.points[-1][1]
    if isinstance(rate, Limits) and inputs_tps is not None:
        top = min(top, float(offered_by(rate, inputs_tps)))
    return _first_at(table, top)


def _first_at(table: Table, height: float) -> float:
    """The least x at which a table reaches a height.

    Example:
        >>> _first_at(Table(points=((0.0, 0.0), (10.0, 50.0), (20.0, 50.0))), 25.0)
        5.0
    """
    at = next(i for i, (_, y) in enumerate(table.points) if y >= height)
    if at == 0:
        return 0.0 if table.points[0][1] >= height else table.points[0][0]
    (x0, y0), (x1, y1) = table.points[at - 1], table.points[at]
    return x0 + (x1 - x0) * (height - y0) / (y1 - y0)


def interpolate(table: Table, x: Amounts) -> Amounts:
    """A table between and beyond its points.

    Example:
        >>> interpolate(Table(points=((0.0, 0.0), (10.0, 50.0))), 4.0)
        20.0
    """
    if not isinstance(x, float):
        points = np.asarray(table.points)
        return np.asarray(np.interp(x, points[:, 0], points[:, 1]))
    at = bisect_right(table.points, x, key=_abscissa)
    if at == 0 or at == len(table.points):
        return table.points[max(at - 1, 0)][1]
    (x0, y0), (x1, y1) = table.points[at - 1], table.points[at]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def _abscissa(point: tuple[float, float]) -> float:
    return point[0]
