"""Problems in units in which their numbers are neither large nor small.

A solver of linear programs takes a millionth for nothing, and a million million for no limit, whatever they are
millionths of. So what is given in mips, tuples a second and importance is handed to it in units of about a hundredth
of the largest of each. Units are powers of two: they change no digit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.scheduler.problem.admission_problem import (
    Flow,
    Limits,
    Linear,
    Output,
    Pe,
    RateFunction,
    Surface,
    Table,
    ValueFunction,
)

_LARGEST = 100.0


def unit_for(values: Iterable[float]) -> float:
    """The power of two in which the largest of some values is about a hundred; 1 where all are 0.

    Example:
        >>> unit_for([3e9, 5.0]) == 2.0**25, unit_for([90.0]), unit_for([])
        (True, 1.0, 1.0)
    """
    largest = max(values, default=0.0)
    return 2.0 ** round(math.log2(largest / _LARGEST)) if largest > 0 else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """The units of mips, of rates and of importance."""

    mips: float
    tps: float
    value: float

    def pe(self, pe: Pe) -> Pe:
        """A PE in these units.

        Example:
            >>> flow = Output(stream="s", rate=Flow(mips_per_tps=4.0, selectivity=0.5), value=Linear(slope=3.0))
            >>> pe = Pe(id="p", max_mips=64.0, offered_tps=8.0, outputs=(flow,))
            >>> other = Units(mips=32.0, tps=2.0, value=1.0).pe(pe)
            >>> other.max_mips, other.offered_tps, other.outputs[0].rate.mips_per_tps, other.outputs[0].value.slope
            (2.0, 4.0, 0.25, 6.0)
        """
        return replace(
            pe,
            min_mips=pe.min_mips / self.mips,
            max_mips=pe.max_mips / self.mips,
            offered_tps=pe.offered_tps / self.tps,
            outputs=tuple(self._output(output) for output in pe.outputs),
        )

    def _output(self, output: Output) -> Output:
        """A stream with its weight in its value function: then both are of ordinary size."""
        if output.value is None:
            return replace(output, rate=self._rate(output.rate))
        unit = self.value / output.weight if output.weight > 0 else self.value
        value = self._value(output.value, unit)
        return replace(output, rate=self._rate(output.rate), value=value, weight=float(output.weight > 0))

    def _value(self, value: ValueFunction, unit: float) -> ValueFunction:
        if isinstance(value, Linear):
            return Linear(slope=value.slope * self.tps / unit)
        return _stretch(value, self.tps, unit)

    def _rate(self, rate: RateFunction) -> RateFunction:
        if isinstance(rate, Flow):
            return replace(rate, mips_per_tps=rate.mips_per_tps * self.tps / self.mips)
        if isinstance(rate, Table):
            return _stretch(rate, self.mips, self.tps)
        if isinstance(rate, Limits):
            pairs = tuple((left, right, share * self.tps) for left, right, share in rate.pairs)
            return replace(rate, allowed=_stretch(rate.allowed, self.mips, self.tps), pairs=pairs)
        return self._surface(rate)

    def _surface(self, surface: Surface) -> Surface:
        *inputs, mips = surface.knots
        axes = [tuple(knot / self.tps for knot in axis) for axis in inputs]
        knots = (*axes, tuple(knot / self.mips for knot in mips))
        return replace(surface, knots=knots, rates=tuple(rate / self.tps for rate in surface.rates))


def _stretch(table: Table, x: float, y: float) -> Table:
    return Table(points=tuple((at / x, height / y) for at, height in table.points))
