"""A mixed integer program, built row by row, solved by HiGHS."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from penstock.fusion.problem import Floats

_INFEASIBLE = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What the solver says.

    Attributes:
        values: Of the columns, or None when nothing was found.
        is_infeasible: Whether it is proven that there is no solution.
    """

    values: Floats | None
    is_infeasible: bool


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what HiGHS prints whatever its options say: standard output is for answers."""
    try:
        kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    except OSError:
        yield
        return
    sys.stdout.flush()
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


class Program:
    """Collects the columns and rows of a minimization.

    Example:
        >>> program = Program()
        >>> x, y = program.binaries(2)
        >>> top = program.number(cost=1.0)
        >>> program.row({x: 1.0, y: 1.0}, least=1.0)
        >>> program.row({x: 3.0, y: 5.0, top: -1.0}, most=0.0)
        >>> program.solve().values.tolist()
        [1.0, 0.0, 3.0]
    """

    def __init__(self) -> None:
        self._costs: list[float] = []
        self._upper: list[float] = []
        self._integral: list[int] = []
        self._entries: list[tuple[int, int, float]] = []
        self._limits: list[tuple[float, float]] = []

    def binaries(self, count: int) -> range:
        """Add columns that are 0 or 1."""
        start = len(self._costs)
        self._costs += [0.0] * count
        self._upper += [1.0] * count
        self._integral += [1] * count
        return range(start, start + count)

    def number(self, *, cost: float, most: float = math.inf) -> int:
        """Add a column from 0 up."""
        self._costs.append(cost)
        self._upper.append(most)
        self._integral.append(0)
        return len(self._costs) - 1

    def row(self, terms: dict[int, float], *, least: float = -math.inf, most: float = math.inf) -> None:
        """Demand that least <= sum of factor times column <= most."""
        self.rows([terms.items()], least=least, most=most)

    def rows(
        self, many: Iterable[Iterable[tuple[int, float]]], *, least: float = -math.inf, most: float = math.inf
    ) -> None:
        """Demand the same of several sums."""
        for terms in many:
            number = len(self._limits)
            self._entries += [(number, column, factor) for column, factor in terms]
            self._limits.append((least, most))

    def solve(self, *, seconds: float = math.inf, gap: float = 1e-6, nodes: int | None = None) -> Outcome:
        """The best found in time and with so many nodes of the search, within a relative gap of the optimum."""
        limits: dict[str, Any] = {"time_limit": max(seconds, 0.001), "mip_rel_gap": gap}
        with _quiet():
            found = milp(
                np.array(self._costs),
                integrality=np.array(self._integral),
                bounds=Bounds(np.zeros(len(self._costs)), np.array(self._upper)),
                constraints=self._constraints(),
                options=limits if nodes is None else {**limits, "node_limit": nodes},  # type: ignore[arg-type] # a typed dict
            )
        values = None if found.x is None else np.asarray(found.x, np.float64)
        return Outcome(values=values, is_infeasible=found.status == _INFEASIBLE)

    def _constraints(self) -> tuple[LinearConstraint, ...]:
        if not self._entries:
            return ()
        rows, columns, factors = (np.array(column) for column in zip(*self._entries, strict=True))
        least, most = np.array(self._limits).T
        matrix = csr_array((factors, (rows, columns)), shape=(len(least), len(self._costs)))
        return (LinearConstraint(matrix, least, most),)
