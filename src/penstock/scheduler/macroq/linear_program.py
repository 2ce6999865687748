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

from penstock.scheduler.macroq.component import Component
from penstock.scheduler.problem.admission_problem import Flow, Linear, Output, Pe, Table
from penstock.scheduler.problem.composition import compose
from penstock.scheduler.problem.resource_functions import FloatArray

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
    return all(above <= y + 1e-9 * abs(own[-1]) for above, y in zip(hull, own, strict=True))


def _slope(left: tuple[float, float], right: tuple[float, float]) -> float:
    return (right[1] - left[1]) / (right[0] - left[0])


class ComponentProgram:
    """The linear program of one component; only the price of a mips changes.

    Every column is counted in units of the most that it can be, and importance in units of the most that the component
    can earn: a solver works with absolute tolerances, and a problem must not depend on the units it is written in.
    """

    def __init__(self, component: Component) -> None:
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._gain: list[float] = []
        self._unit: list[float] = []
        self._rows: list[tuple[dict[int, float], float]] = []
        most = compose(component.pes, component.top_mips, component.order)
        self._top_load = {pe: float(load) for pe, load in most.loads_tps.items()}
        self._mips_unit = sum(component.top_mips.values()) or 1.0
        self._mips = {
            pe.id: self._column(pe.min_mips, component.top_mips[pe.id], unit=self._mips_unit) for pe in component.pes
        }
        self._rates: dict[str, tuple[int, float]] = {}
        for (pe,) in component.order:
            for output in pe.outputs:
                self._rates[output.stream] = self._rate(pe, output)
        for output in (output for pe in component.pes for output in pe.outputs if output.is_valued):
            self._value(output)
        self._gains = np.array(self._gain)
        self._units = np.array(self._unit)
        self._importance_unit = sum(float(value) for value in most.importance.values()) or 1.0
        self._columns = np.array(list(self._mips.values()), dtype=np.int32)
        self._solver = self._made()

    def _column(self, lower: float, upper: float, gain: float = 0.0, *, unit: float) -> int:
        self._lower.append(lower)
        self._upper.append(upper)
        self._gain.append(gain)
        self._unit.append(unit or 1.0)
        return len(self._lower) - 1

    def _rate(self, pe: Pe, output: Output) -> tuple[int, float]:
        """The column that carries a stream, and the tuples a second that one of it stands for."""
        if isinstance(output.rate, Table):
            return self._under(lines_above(output.rate, pe.min_mips), self._mips[pe.id], 1.0, 0.0), 1.0
        assert isinstance(output.rate, Flow)  # `concave.has_corners` lets nothing else in.
        return self._flow(pe, output.rate), output.rate.selectivity

    def _flow(self, pe: Pe, rate: Flow) -> int:
        carried = self._column(0.0, math.inf, unit=self._top_load[pe.id])
        load = {carried: 1.0}
        for stream in pe.inputs:
            column, scale = self._rates[stream]
            load[column] = load.get(column, 0.0) - scale
        self._rows.append((load, pe.offered_tps))
        self._rows.append(({carried: rate.mips_per_tps, self._mips[pe.id]: -1.0}, 0.0))
        return carried

    def _under(self, lines: Sequence[Line], argument: int, scale: float, gain: float) -> int:
        """A column that lies under lines over another column."""
        column = self._column(0.0, math.inf, gain, unit=lines[-1][1])
        for slope, height in lines:
            self._rows.append(({column: 1.0, argument: -slope * scale}, height))
        return column

    def _value(self, output: Output) -> None:
        column, scale = self._rates[output.stream]
        if isinstance(output.value, Linear):
            self._gain[column] += output.weight * output.value.slope * scale
        elif output.value is not None:
            self._under(lines_above(output.value, 0.0), column, scale, output.weight)

    def _made(self) -> highspy.Highs:
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self._lower), len(self._rows)
        model.col_lower_, model.col_upper_ = np.array(self._lower) / self._units, np.array(self._upper) / self._units
        model.col_cost_ = -self._gains * self._units / self._importance_unit
        columns = np.array([column for row, _ in self._rows for column in row], dtype=np.int32)
        values = np.array([value for row, _ in self._rows for value in row.values()]) * self._units[columns]
        starts = np.cumsum([0, *(len(row) for row, _ in self._rows)])
        largest = np.maximum.reduceat(np.abs(values), starts[:-1]) if len(values) else np.ones(0)
        model.row_lower_ = np.full(len(self._rows), -highspy.kHighsInf)
        model.row_upper_ = np.array([bound for _, bound in self._rows]) / largest
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = starts
        model.a_matrix_.index_ = columns
        model.a_matrix_.value_ = values / np.repeat(largest, np.diff(starts))
        solver = highspy.Highs()  # type: ignore[no-untyped-call] # its stubs leave the constructor out
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("presolve", "off")
        solver.passModel(model)
        return solver

    def solve(self, price: float) -> tuple[FloatArray, float]:
        """The mips of each PE and the importance at a price."""
        cost = price * self._mips_unit / self._importance_unit
        self._solver.changeColsCost(len(self._columns), self._columns, np.full(len(self._columns), cost))
        values = self._run()
        return values[self._columns], float(self._gains @ values)

    def importance_at(self, mips: FloatArray) -> float:
        """The importance that the program promises for given mips."""
        count, columns = len(self._columns), self._columns
        self._solver.changeColsBounds(count, columns, mips / self._mips_unit, mips / self._mips_unit)
        importance = float(self._gains @ self._run())
        lower, upper = np.array(self._lower)[columns], np.array(self._upper)[columns]
        self._solver.changeColsBounds(count, columns, lower / self._mips_unit, upper / self._mips_unit)
        return importance

    def _run(self) -> FloatArray:
        self._solver.run()
        values: FloatArray = np.asarray(self._solver.getSolution().col_value) * self._units
        return values
