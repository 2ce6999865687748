"""The linear relaxation of an integer program, solved again and again as columns are fixed: each time from the last
solution on, which takes a fraction of the time."""

from __future__ import annotations

from collections.abc import Sequence

import highspy
import numpy as np
from numpy.typing import NDArray

from penstock.base.deadline import Deadline
from penstock.base.integer_program import IntegerProgram, quiet_solver

SMALL = 1e-6
"""A column this close to a whole number is whole."""

FIRST_PART = 0.25
"""Of the columns that are not whole, those that are rounded at a time."""


LEAST_ROUNDED = 16
"""Columns that count as not whole at the least: the last ones are rounded four at a time."""


class Relaxation:
    """A program whose columns need not be whole.

    Attributes:
        values: Of the columns in the last solution; None before, and where there is none.
        cost: Of that solution.

    Example:
        >>> program = IntegerProgram()
        >>> x, y = (program.column(upper=1.0, cost=-cost, integral=True) for cost in (3.0, 2.0))
        >>> program.row({x: 2.0, y: 2.0}, most=3.0)
        >>> relaxation = Relaxation(program)
        >>> relaxation.solve(Deadline.after(None)), relaxation.cost, relaxation.values.tolist()
        (True, -4.0, [1.0, 0.5])
        >>> relaxation.dive([x, y], Deadline.after(None)), relaxation.values.tolist()
        (True, [1.0, 0.0])
    """

    def __init__(self, program: IntegerProgram) -> None:
        self._lower, self._upper = np.array(program.lower), np.array(program.upper)
        model = program.model()
        model.integrality_ = []
        self._solver = quiet_solver()
        self._solver.passModel(model)
        self.values: NDArray[np.float64] | None = None
        self.cost = -np.inf

    def solve(self, deadline: Deadline) -> bool:
        """Whether there is a solution, and time to find it."""
        # The solver counts the time of all its runs.
        self._solver.setOptionValue("time_limit", self._solver.getRunTime() + max(deadline.left(), 0.001))
        self._solver.run()
        is_solved = self._solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        if is_solved:
            self.values = np.asarray(self._solver.getSolution().col_value)
            self.cost = float(self._solver.getInfo().objective_function_value)
        return is_solved

    def fix(self, columns: NDArray[np.int32], values: NDArray[np.float64]) -> None:
        """Give columns a value."""
        self._solver.changeColsBounds(len(columns), columns, values, values)

    def free(self, columns: NDArray[np.int32]) -> None:
        """Give columns their bounds back."""
        self._solver.changeColsBounds(len(columns), columns, self._lower[columns], self._upper[columns])

    def dive(self, columns: Sequence[int], deadline: Deadline) -> bool:
        """Round columns until all of them are whole: whether that was possible in time.

        A quarter of those that are not whole, the closest to it, is fixed at a time. Where that leaves no solution,
        half of them are, and at last a single one the other way round.
        """
        every, part = np.array(columns, np.int32), FIRST_PART
        while self.values is not None and not deadline.has_passed():
            away = np.abs(self.values[every] - np.round(self.values[every]))
            order = np.argsort(away)
            order = order[away[order] > SMALL]
            if not len(order):
                return True
            chosen = every[order[: max(1, int(max(len(order), LEAST_ROUNDED) * part))]]
            self.fix(chosen, np.round(self.values[chosen]))
            if self.solve(deadline):
                part = FIRST_PART
            elif len(chosen) > 1:
                self.free(chosen)
                part /= 2
            else:
                self.fix(chosen, 1.0 - np.round(self.values[chosen]))
                if not self.solve(deadline):
                    return False
        return False
