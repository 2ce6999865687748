"""One component as a linear program: what its PEs can earn at a price for their mips.

Formulation. For each PE its mips g_p, m_p <= g_p <= M_p; for each flow the tuples t it carries, with t <= load and
mips_per_tps t <= g_p (`_flow`); for each table one row for each of the lines under which it lies (`_under`). At a price
l for a mips, maximize the importance less l x (sum of g_p). A table that is not concave is replaced by its concave
hull, and then the program promises more than the component can earn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import highspy
import numpy as np

from penstock.scheduler.macroq_component import Component
from penstock.scheduler.problem import Flow, Linear, Output, Pe, Table
from penstock.scheduler.resource_functions import FloatArray

Line = tuple[float, float]
"""Slope and height at 0."""


def lines_above(table: Table, start: float) -> list[Line]:
    """The lines whose least is the concave hull of a table from `start` on.

    Example:
        >>> lines_above(Table(points=((0.0, 0.0), (10.0, 50.0), (25.0, 80.0))), 0.0)
        [(5.0, 0.0), (2.0, 30.0), (0.0, 80.0)]
        >>> lines_above(Table(points=((5.0, 0.0), (10.0, 50.0))), 0.0)
        [(5.0, 0.0), (0.0, 50.0)]
    """
    corners: list[tuple[float, float]] = []
    for x, y in [(start, value_at(table, start)), *(point for point in table.points if point[0] > start)]:
        while len(corners) > 1 and _slope(corners[-2], corners[-1]) <= _slope(corners[-2], (x, y)):
            corners.pop()
        corners.append((x, y))
    lines = [(slope := _slope(a, b), a[1] - slope * a[0]) for a, b in pairwise(corners)]
    return [*lines, (0.0, corners[-1][1])]


def value_at(table: Table, x: float) -> float:
    """The table at one place."""
    return float(np.interp(x, [point[0] for point in table.points], [point[1] for point in table.points]))


def is_concave_from(table: Table, start: float) -> bool:
    """Whether a table is its own concave hull from `start` on.

    Example:
        >>> late = Table(points=((5.0, 0.0), (10.0, 50.0)))
        >>> is_concave_from(late, 0.0), is_concave_from(late, 5.0)
        (False, True)
    """
    lines = lines_above(table, start)
    hull = [min(slope * x + height for slope, height in lines) for x, _ in table.points if x > start]
    own = [y for x, y in table.points if x > start]
    return all(above <= y + 1e-9 * max(1.0, abs(y)) for above, y in zip(hull, own, strict=True))


def _slope(left: tuple[float, float], right: tuple[float, float]) -> float:
    return (right[1] - left[1]) / (right[0] - left[0])


class ComponentProgram:
    """The linear program of one component; only the price of a mips changes.

    Attributes:
        steepest: A price at which no mips is worth buying.
    """

    def __init__(self, component: Component) -> None:
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._gain: list[float] = []
        self._rows: list[tuple[dict[int, float], float]] = []
        self._mips = {pe.id: self._column(pe.min_mips, component.top_mips[pe.id]) for pe in component.pes}
        self._rates: dict[str, tuple[int, float]] = {}
        for (pe,) in component.order:
            for output in pe.outputs:
                self._rates[output.stream] = self._rate(pe, output)
        for output in (output for pe in component.pes for output in pe.outputs if output.is_valued):
            self._value(output)
        self._gains = np.array(self._gain)
        self._solver = self._made()
        self.steepest = self._steepest(component)

    def _column(self, lower: float, upper: float, gain: float = 0.0) -> int:
        self._lower.append(lower)
        self._upper.append(upper)
        self._gain.append(gain)
        return len(self._lower) - 1

    def _rate(self, pe: Pe, output: Output) -> tuple[int, float]:
        """The column that carries a stream, and the tuples a second that one of it stands for."""
        if isinstance(output.rate, Table):
            return self._under(lines_above(output.rate, pe.min_mips), self._mips[pe.id], 1.0, 0.0), 1.0
        return self._flow(pe, output.rate), output.rate.selectivity

    def _flow(self, pe: Pe, rate: Flow) -> int:
        carried = self._column(0.0, math.inf)
        load = {carried: 1.0}
        for stream in pe.inputs:
            column, scale = self._rates[stream]
            load[column] = load.get(column, 0.0) - scale
        self._rows.append((load, pe.offered_tps))
        self._rows.append(({carried: rate.mips_per_tps, self._mips[pe.id]: -1.0}, 0.0))
        return carried

    def _under(self, lines: Sequence[Line], argument: int, scale: float, gain: float) -> int:
        """A column that lies under lines over another column."""
        column = self._column(0.0, math.inf, gain)
        for slope, height in lines:
            self._rows.append(({column: 1.0, argument: -slope * scale}, height))
        return column

    def _value(self, output: Output) -> None:
        column, scale = self._rates[output.stream]
        if isinstance(output.value, Linear):
            self._gain[column] += output.weight * output.value.slope * scale
        elif output.value is not None:
            self._under(lines_above(output.value, 0.0), column, scale, output.weight)

    def _steepest(self, component: Component) -> float:
        """A price at which no mips is worth buying: beyond the best that one mips can earn anywhere."""
        per_load = max(component.potential.values(), default=0.0) + 1.0
        best = 1.0
        for pe in component.pes:
            for out in pe.outputs:
                if isinstance(out.rate, Flow):
                    best = max(best, 1.0 / out.rate.mips_per_tps)
                else:
                    best = max(best, *(slope for slope, _ in lines_above(out.rate, pe.min_mips)))
        gains = [gain for gain in self._gain if gain > 0]
        slopes = [-min(row.values()) for row, _ in self._rows]
        return (per_load + max(gains, default=1.0)) * best * max(1.0, *slopes) * len(component.pes)

    def _made(self) -> highspy.Highs:
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self._lower), len(self._rows)
        model.col_lower_, model.col_upper_ = np.array(self._lower), np.array(self._upper)
        model.col_cost_ = -self._gains
        model.row_lower_ = np.full(len(self._rows), -highspy.kHighsInf)
        model.row_upper_ = np.array([bound for _, bound in self._rows])
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.cumsum([0, *(len(row) for row, _ in self._rows)])
        model.a_matrix_.index_ = np.array([column for row, _ in self._rows for column in row])
        model.a_matrix_.value_ = np.array([value for row, _ in self._rows for value in row.values()])
        solver = highspy.Highs()  # type: ignore[no-untyped-call] # its stubs leave the constructor out
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("presolve", "off")
        solver.passModel(model)
        return solver

    def solve(self, price: float) -> tuple[FloatArray, float]:
        """The mips of each PE and the importance at a price."""
        columns = np.array(list(self._mips.values()), dtype=np.int32)
        self._solver.changeColsCost(len(columns), columns, np.full(len(columns), price))
        self._solver.run()
        values = np.array(self._solver.getSolution().col_value)
        return values[columns], float(self._gains @ values)
