"""The importance of a component as a parametric linear program, where all its functions are concave.

Introduction. Flows and concave tables make a component's best importance a concave, piecewise linear function of its
mips. Then no grid is needed within the component: the corners of that function are found one by one, exactly, and much
faster than by dynamic programming where streams fan out and join.

Formulation. `linear_program` states the linear program at a price for a mips.

Example: a chain a -> b, each with flow 1 mips a tuple and 40 tuples offered, worth 5 each: corners (0, 0), (80, 200).

When it does not apply. A cycle (its rates are the least fixed point, which a linear program does not ask for),
functions that look at each input by itself, and tables that are not concave, which includes those that are flat at
first (`is_concave_component`). There `nsdp` stands; still, with concave hulls for such tables the corners are
allocations worth knowing.

Algorithm. The price tells a corner: the optimum for a price is a corner of the function. Between two known corners
the price that makes them tie either finds a corner above the line through them or proves that there is none. The
widest stretch is looked at first, until none is open, `corners` are found or the time is up. The first two are known:
every PE with its minimum, and every PE with all it could use. The solver starts each time from the last basis.

Preserves. Allocations between corners are mixtures of theirs: feasible, and at least as good as the line says.

Reference. Eisner and Severance, "Mathematical techniques for efficient record segmentation in large shared databases",
JACM 1976, for the search by prices. The SODA paper solves every component by non-serial dynamic programming.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from penstock.base.deadline import Deadline
from penstock.scheduler.macroq.component import Component, Grid
from penstock.scheduler.macroq.linear_program import ComponentProgram, is_concave_from
from penstock.scheduler.problem.admission_problem import Output, Pe, Table
from penstock.scheduler.problem.composition import is_loop, sees_each_input
from penstock.scheduler.problem.resource_functions import FloatArray

_Point = tuple[float, float, FloatArray]
"""A corner: its mips above the minimum, its importance, the mips of each PE."""

ROUNDING = 1e-9
"""Mips that differ by this part of them are the same."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Corners:
    """The corners of a component's importance function.

    Attributes:
        extra_mips: What each takes above the minimum, rising.
        importance: What each earns.
        mips: The mips of each PE, a row for each corner.
        complete: Whether these are all the corners there are.
    """

    extra_mips: FloatArray
    importance: FloatArray
    mips: FloatArray
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConcavePlan:
    """The best allocations of a concave component, laid on a grid.

    Attributes:
        min_mips: What it takes with no units.
        curve: Its importance with 0, 1, 2, ... units above that.
        exact: Whether the curve is the best there is.
        pes: The ids of its PEs.
        corners: The corners of the function.
        step_mips: What a unit is worth.
    """

    min_mips: float
    curve: FloatArray
    exact: bool
    pes: tuple[str, ...]
    corners: Corners
    step_mips: float

    @property
    def divides_units(self) -> bool:
        """A part of a unit buys its part of what the unit would."""
        return True

    def allocation(self, units: float) -> dict[str, float]:
        """The mips of each PE with some units: a mixture of the two nearest corners."""
        extra = units * self.step_mips
        columns = [np.interp(extra, self.corners.extra_mips, column) for column in self.corners.mips.T]
        return {pe: float(mips) for pe, mips in zip(self.pes, columns, strict=True)}


def concave_plan(component: Component, corners: Corners, grid: Grid) -> ConcavePlan:
    """Lay the corners of a component's importance function on a grid."""
    # One unit more than there are tells what a part of a unit is worth when all whole ones are gone.
    most = min(grid.units + 1, grid.units_for(float(corners.extra_mips[-1])))
    curve = np.interp(np.arange(most + 1) * grid.step_mips, corners.extra_mips, corners.importance)
    return ConcavePlan(
        min_mips=sum(pe.min_mips for pe in component.pes),
        curve=curve,
        exact=corners.complete,
        pes=tuple(pe.id for pe in component.pes),
        corners=corners,
        step_mips=grid.step_mips,
    )


def is_concave_component(component: Component) -> bool:
    """Whether the importance of a component is a concave function of the mips of its PEs, and no stream goes back."""
    return has_corners(component) and all(_is_concave_output(pe, out) for pe in component.pes for out in pe.outputs)


def has_corners(component: Component) -> bool:
    """Whether the linear program can be stated: nothing goes in a circle, and functions look at loads or mips alone."""
    return not any(is_loop(batch) or sees_each_input(batch) for batch in component.order)


def _is_concave_output(pe: Pe, output: Output) -> bool:
    concave_rate = not isinstance(output.rate, Table) or is_concave_from(output.rate, pe.min_mips)
    return concave_rate and (not isinstance(output.value, Table) or is_concave_from(output.value, 0.0))


def find_corners(component: Component, corners: int, deadline: Deadline | None = None) -> Corners:
    """The corners of a concave component's importance function, at most about `corners` of them.

    Of a component without cycles that is not concave, the corners of its hull: their importance is a bound.

    Example:
        >>> from penstock.scheduler.macroq.component import prepare
        >>> from penstock.scheduler.problem.admission_problem import Flow
        >>> one = Flow(mips_per_tps=1.0, selectivity=1.0)
        >>> a = Pe(id="a", max_mips=90.0, offered_tps=40.0, outputs=(Output(stream="s", rate=one),))
        >>> value = Table(points=((0.0, 0.0), (10.0, 50.0), (25.0, 80.0)))
        >>> b = Pe(id="b", max_mips=90.0, inputs=("s",), outputs=(Output(stream="t", rate=one, value=value),))
        >>> found = find_corners(prepare([a, b]), 10)
        >>> found.extra_mips.round(6).tolist(), found.importance.round(6).tolist()
        ([0.0, 20.0, 50.0], [0.0, 50.0, 80.0])
    """
    return _CornerSearch(component, deadline or Deadline.after(None)).run(corners)


class _CornerSearch:
    def __init__(self, component: Component, deadline: Deadline) -> None:
        self._program = ComponentProgram(component)
        self._deadline = deadline
        self._low = np.array([pe.min_mips for pe in component.pes])
        self._top = np.array([component.top_mips[pe.id] for pe in component.pes])
        self._points: list[_Point] = []

    def run(self, limit: int) -> Corners:
        first, last = (self._point(mips, self._program.importance_at(mips)) for mips in (self._low, self._top))
        self._points = [first, last]
        open_stretches = [(-self._width(first, last), 0, first, last)]
        count = 1
        while open_stretches and len(self._points) < limit:
            if self._deadline.has_passed():
                break
            _, _, left, right = heapq.heappop(open_stretches)
            found = self._between(left, right)
            if found is not None:
                self._points.append(found)
                for pair in ((left, found), (found, right)):
                    heapq.heappush(open_stretches, (-self._width(*pair), count, *pair))
                    count += 1
        return self._corners(complete=not open_stretches)

    def _corners(self, *, complete: bool) -> Corners:
        points = sorted(self._points, key=lambda point: point[0])
        # Corners at the same mips are the same corner, found twice.
        kept = [points[0]] + [b for a, b in pairwise(points) if b[0] > a[0] * (1 + ROUNDING)]
        importance = np.maximum.accumulate([point[1] for point in kept])
        # Mips beyond the first corner that earns all there is buy nothing.
        useful = int(np.searchsorted(importance, importance[-1] * (1 - ROUNDING))) + 1
        kept, importance = kept[:useful], importance[:useful]
        return Corners(
            extra_mips=np.array([point[0] for point in kept]),
            importance=importance,
            mips=np.stack([point[2] for point in kept]),
            complete=complete,
        )

    @staticmethod
    def _width(left: _Point, right: _Point) -> float:
        return (right[0] - left[0]) * (right[1] - left[1])

    def _between(self, left: _Point, right: _Point) -> _Point | None:
        """A corner above the line through two others, if there is one."""
        if right[0] - left[0] <= ROUNDING * right[0] or right[1] <= left[1]:
            return None
        price = (right[1] - left[1]) / (right[0] - left[0])
        found = self._point(*self._program.solve(price))
        rise = (found[1] - price * found[0]) - (left[1] - price * left[0])
        return found if rise > 1e-7 * (right[1] - left[1]) and left[0] < found[0] < right[0] else None

    def _point(self, mips: FloatArray, importance: float) -> _Point:
        mips = np.clip(mips, self._low, self._top)
        return float((mips - self._low).sum()), importance, mips
