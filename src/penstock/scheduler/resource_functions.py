"""Resource and value functions, computed for whole arrays at once.

A resource function gives the rate of a stream from the load of its PE (the sum of the rates that come in) and the mips
that the PE gets; a value function gives the benefit of a rate. Both never fall when an argument grows, which the
reader checks and the search for the best allocation relies on.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from penstock.scheduler.problem import Flow, Linear, Output, Pe, RateFunction, Table

FloatArray = NDArray[np.float64]
Amounts = FloatArray | float
"""One number, or an array of numbers for as many allocations; plain numbers are computed with plainly, and faster."""


def rate_of(rate: RateFunction, load_tps: Amounts, mips: Amounts) -> Amounts:
    """The rate of a stream whose PE has this load and these mips; arrays broadcast.

    Example:
        >>> flow = Flow(mips_per_tps=2.0, selectivity=0.5)
        >>> rate_of(flow, 40.0, np.array([0.0, 60.0, 100.0])).tolist()
        [0.0, 15.0, 20.0]
    """
    if isinstance(rate, Table):
        return interpolate(rate, mips)
    if isinstance(load_tps, float) and isinstance(mips, float):
        return rate.selectivity * min(load_tps, mips / rate.mips_per_tps)
    return np.asarray(rate.selectivity * np.minimum(load_tps, mips / rate.mips_per_tps))


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


def useful_mips(pe: Pe, load_tps: float) -> float:
    """The mips beyond which no stream of the PE flows faster at this load, within what the PE may take.

    Example:
        >>> out = Output(stream="s", rate=Flow(mips_per_tps=2.0, selectivity=0.5))
        >>> useful_mips(Pe(id="p", min_mips=10.0, max_mips=500.0, outputs=(out,)), 40.0)
        80.0
    """
    enough = max((_enough(output.rate, load_tps) for output in pe.outputs), default=0.0)
    return min(pe.max_mips, max(pe.min_mips, enough))


def _enough(rate: RateFunction, load_tps: float) -> float:
    if isinstance(rate, Flow):
        return rate.mips_per_tps * load_tps if rate.selectivity > 0 else 0.0
    top = rate.points[-1][1]
    return next(x for x, y in rate.points if y == top)


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
