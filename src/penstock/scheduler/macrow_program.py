"""A mixed integer program, built column by column and row by row, solved by HiGHS."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp
from scipy.sparse import csr_matrix

_INFEASIBLE = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """What the solver found.

    Attributes:
        values: Of each column, or None when nothing was found.
        is_optimal: Whether nothing better exists.
        is_infeasible: Whether it is proven that no solution exists.
        bound: A cost that no solution is below; minus infinity where nothing is known.
    """

    values: npt.NDArray[np.float64] | None
    is_optimal: bool
    is_infeasible: bool
    bound: float = -math.inf


class Program:
    """Collects the columns and rows of a minimization.

    Example:
        >>> program = Program()
        >>> x, y = program.columns(2, upper=4.0, cost=-1.0, integral=True)
        >>> program.row([(x, 2.0), (y, 1.0)], most=7.0)
        >>> solution = program.solve()
        >>> solution.values.tolist(), solution.is_optimal
        ([1.0, 4.0], True)
    """

    def __init__(self) -> None:
        self.cost: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self._integral: list[int] = []
        self._entries: list[tuple[int, int, float]] = []
        self._least: list[float] = []
        self._most: list[float] = []

    def columns(
        self, count: int, *, lower: float = 0.0, upper: float = np.inf, cost: float = 0.0, integral: bool = False
    ) -> range:
        """Add columns with the same bounds and cost; return their numbers."""
        start = len(self.cost)
        self.cost += [cost] * count
        self.lower += [lower] * count
        self.upper += [upper] * count
        self._integral += [int(integral)] * count
        return range(start, start + count)

    def row(self, terms: Iterable[tuple[int, float]], *, least: float = -np.inf, most: float = np.inf) -> None:
        """Add a row: least <= sum of value times column <= most."""
        row = len(self._least)
        self._entries += [(row, column, value) for column, value in terms if value]
        self._least.append(least)
        self._most.append(most)

    def solve(self, *, seconds: float | None = None) -> Solution:
        """The best values found in the time given."""
        found = milp(
            np.array(self.cost),
            integrality=np.array(self._integral),
            bounds=Bounds(np.array(self.lower), np.array(self.upper)),
            constraints=self._rows(),
            options={
                "time_limit": math.inf if seconds is None else max(seconds, 0.001),
                "mip_rel_gap": 1e-6,
            },
        )
        return Solution(
            values=None if found.x is None else np.asarray(found.x),
            is_optimal=found.status == 0,
            is_infeasible=found.status == _INFEASIBLE,
            bound=_bound(found),
        )

    def lift(self, column: int, least: float) -> None:
        """Raise the lower bound of a column."""
        self.lower[column] = max(self.lower[column], least)

    def _rows(self) -> Sequence[LinearConstraint]:
        if not self._entries:
            return ()
        rows, columns, values = zip(*self._entries, strict=True)
        shape = (len(self._least), len(self.cost))
        matrix = csr_matrix((np.array(values), (np.array(rows), np.array(columns))), shape=shape)
        return (LinearConstraint(matrix, np.array(self._least), np.array(self._most)),)


def _bound(found: OptimizeResult) -> float:
    """What is proven of the least cost, as scipy tells it: in two fields, either of which may be missing."""
    bound = getattr(found, "mip_dual_bound", None)
    if bound is None:
        bound = found.fun if found.status == 0 else None
    return -math.inf if bound is None or not math.isfinite(bound) else float(bound)
