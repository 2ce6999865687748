"""Resource and value functions, computed for whole arrays at once.

A resource function gives the rate of a stream from the load of its PE (the sum of the rates that come in) and the mips
that the PE gets; a value function gives the benefit of a rate. Both never fall when an argument grows, which the
reader checks and the search for the best allocation relies on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.scheduler.problem import Flow, Linear, Output, Pe, RateFunction, Table

FloatArray = NDArray[np.float64]


def rate_of(rate: RateFunction, load_tps: FloatArray, mips: FloatArray) -> FloatArray:
    """The rate of a stream whose PE has this load and these mips; the arrays broadcast.

    Example:
        >>> flow = Flow(mips_per_tps=2.0, selectivity=0.5)
        >>> rate_of(flow, np.array(40.0), np.array([0.0, 60.0, 100.0])).tolist()
        [0.0, 15.0, 20.0]
    """
    if isinstance(rate, Flow):
        return rate.selectivity * np.minimum(load_tps, mips / rate.mips_per_tps)
    return _interpolate(rate, mips)


def importance_of(output: Output, rate_tps: FloatArray) -> FloatArray:
    """The importance of a stream at a rate: its weight times its value.

    Example:
        >>> value = Table(points=((0.0, 0.0), (1000.0, 50.0), (2500.0, 80.0)))
        >>> out = Output(stream="s", rate=Flow(mips_per_tps=1.0, selectivity=1.0), value=value, weight=2.0)
        >>> importance_of(out, np.array([500.0, 1750.0, 9000.0])).tolist()
        [50.0, 130.0, 160.0]
    """
    if output.value is None:
        return np.zeros_like(rate_tps)
    if isinstance(output.value, Linear):
        return output.weight * output.value.slope * rate_tps
    return output.weight * _interpolate(output.value, rate_tps)


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


def _interpolate(table: Table, x: FloatArray) -> FloatArray:
    points = np.asarray(table.points)
    return np.asarray(np.interp(x, points[:, 0], points[:, 1]))
