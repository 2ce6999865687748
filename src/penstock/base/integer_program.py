"""A mixed integer program, built column by column and row by row, solved by HiGHS."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from penstock.base.deadline import Deadline

Terms = Mapping[int, float] | Iterable[tuple[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """The result of the solver.

    Attributes:
        values: The values of the columns, or None when nothing was found.
        is_optimal: Whether it is proven that nothing better exists, up to the gap that was asked for.
        is_infeasible: Whether it is proven that there is no solution.
        bound: A cost that no solution is below; minus infinity where nothing is known.
    """

    values: NDArray[np.float64] | None
    is_optimal: bool
    is_infeasible: bool
    bound: float = -math.inf


class IntegerProgram:
    """Collects the columns and rows of a minimization.

    Attributes:
        cost: Of each column.
        lower: The least value of each column.
        upper: The largest value of each column.

    Example:
        >>> program = IntegerProgram()
        >>> x, y = program.binaries(2)
        >>> top = program.column(cost=1.0)
        >>> program.row({x: 1.0, y: 1.0}, least=1.0)
        >>> program.row([(x, 3.0), (y, 5.0), (top, -1.0)], most=0.0)
        >>> program.solve().values.tolist()
        [1.0, 0.0, 3.0]
    """

    def __init__(self) -> None:
        self.cost: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self._integral: list[int] = []
        self._columns: list[int] = []
        self._factors: list[float] = []
        self._ends: list[int] = [0]
        self._least: list[float] = []
        self._most: list[float] = []

    def columns(
        self, count: int, *, lower: float = 0.0, upper: float = math.inf, cost: float = 0.0, integral: bool = False
    ) -> range:
        """Add columns with the same bounds and cost; return their numbers."""
        start = len(self.cost)
        self.cost += [cost] * count
        self.lower += [lower] * count
        self.upper += [upper] * count
        self._integral += [int(integral)] * count
        return range(start, start + count)

    def column(self, *, lower: float = 0.0, upper: float = math.inf, cost: float = 0.0, integral: bool = False) -> int:
        """Add one column; return its number."""
        return self.columns(1, lower=lower, upper=upper, cost=cost, integral=integral)[0]

    def binaries(self, count: int, *, cost: float = 0.0) -> range:
        """Add columns that are 0 or 1."""
        return self.columns(count, upper=1.0, cost=cost, integral=True)

    def row(self, terms: Terms, *, least: float = -math.inf, most: float = math.inf) -> None:
        """Demand that least <= sum of factor times column <= most."""
        for column, factor in terms.items() if isinstance(terms, Mapping) else terms:
            if factor:
                self._columns.append(column)
                self._factors.append(factor)
        self._ends.append(len(self._columns))
        self._least.append(least)
        self._most.append(most)

    def rows(self, many: Iterable[Terms], *, least: float = -math.inf, most: float = math.inf) -> None:
        """Demand the same of several sums."""
        for terms in many:
            self.row(terms, least=least, most=most)

    @property
    def entries(self) -> int:
        """How many factors the rows have: what building and solving it costs."""
        return len(self._factors)

    def solve(
        self,
        deadline: Deadline | None = None,
        *,
        seconds: float | None = None,
        gap: float = 1e-6,
        nodes: int | None = None,
    ) -> Solution:
        """The best found in time.

        Args:
            deadline: When to stop.
            seconds: How long it may take, where there is no deadline or it is later.
            gap: The relative distance from the optimum at which to stop.
            nodes: How many nodes to search at most.
        """
        left = math.inf if seconds is None else seconds
        left = left if deadline is None else min(left, deadline.left())
        solver = quiet_solver()
        solver.setOptionValue("time_limit", max(left, 0.001))
        solver.setOptionValue("mip_rel_gap", gap)
        if nodes is not None:
            solver.setOptionValue("mip_max_nodes", nodes)
        solver.passModel(self.model())
        solver.run()
        status, info = solver.getModelStatus(), solver.getInfo()
        is_optimal = status == highspy.HighsModelStatus.kOptimal
        has_found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        bound = float(info.mip_dual_bound if any(self._integral) else info.objective_function_value)
        return Solution(
            values=np.asarray(solver.getSolution().col_value, np.float64) if is_optimal or has_found else None,
            is_optimal=is_optimal,
            is_infeasible=status == highspy.HighsModelStatus.kInfeasible,
            bound=bound if math.isfinite(bound) and (is_optimal or any(self._integral)) else -math.inf,
        )

    @property
    def integral(self) -> list[int]:
        """The columns that must be whole numbers."""
        return [column for column, is_integral in enumerate(self._integral) if is_integral]

    def model(self) -> highspy.HighsLp:
        """The program in the form of the solver."""
        matrix, least, most = self.matrix()
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_, model.col_lower_, model.col_upper_ = map(np.array, (self.cost, self.lower, self.upper))
        model.row_lower_, model.row_upper_ = least, most
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
        model.a_matrix_.value_ = matrix.data
        kinds = highspy.HighsVarType
        model.integrality_ = [kinds.kInteger if is_integral else kinds.kContinuous for is_integral in self._integral]
        return model

    def matrix(self) -> tuple[csr_array, NDArray[np.float64], NDArray[np.float64]]:
        """The factors, a row for each demand, with the least and the most of each."""
        matrix = csr_array(
            (np.array(self._factors), np.array(self._columns, np.int32), np.array(self._ends, np.int32)),
            shape=(len(self._least), len(self.cost)),
        )
        matrix.sum_duplicates()
        return matrix, np.array(self._least), np.array(self._most)


def quiet_solver() -> highspy.Highs:
    """A solver that prints nothing."""
    solver = highspy.Highs()  # type: ignore[no-untyped-call] # its stubs leave the constructor out
    solver.setOptionValue("output_flag", False)
    return solver
