"""The data of a search in one weak component: its grid, its PEs, and the plans that result.

A plan says what a component earns with each number of units above its minimum, and how its PEs share them. Rough plans
are made from a few allocations at hand; the thorough ones come from `nsdp` and `concave`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.base.deadline import Deadline
from penstock.scheduler.macroq.labels import IntArray
from penstock.scheduler.macroq.potential import potentials
from penstock.scheduler.problem.admission_problem import Pe
from penstock.scheduler.problem.composition import compose, inputs_of, ready_order
from penstock.scheduler.problem.resource_functions import FloatArray, useful_mips

ROUNDING = 1e-9
"""Parts of a unit that are taken for rounding errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The resolution of a search.

    Attributes:
        step_mips: What a unit is worth.
        units: How many the cluster has in all.
    """

    step_mips: float
    units: int

    def units_for(self, mips: float) -> int:
        """The units that cover an amount of mips."""
        return max(0, math.ceil(mips / self.step_mips - ROUNDING))

    def mips(self, pe: Pe, units: IntArray, top: float) -> FloatArray:
        """The mips of a PE with some units above its minimum, at most `top`."""
        return np.asarray(np.minimum(pe.min_mips + units * self.step_mips, top))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Component:
    """A weak component with what every search in it needs to know.

    Attributes:
        pes: Its PEs.
        order: The same, in ready-list order.
        top_mips: For each PE the mips that it could use if all the others had all that they could use.
        potential: For each PE what a tuple a second of load could earn downstream.
    """

    pes: tuple[Pe, ...]
    order: tuple[tuple[Pe, ...], ...]
    top_mips: Mapping[str, float]
    potential: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComponentPlan:
    """The best allocations of one component.

    Attributes:
        min_mips: What it takes with no units.
        curve: Its importance with 0, 1, 2, ... units above that.
        rows: The row of `mips` for each number of units.
        pes: The ids of its PEs.
        mips: Allocations, a row each, a column for each PE.
        exact: Whether the curve is the best there is on the grid.
    """

    min_mips: float
    curve: FloatArray
    rows: IntArray
    pes: tuple[str, ...]
    mips: FloatArray
    exact: bool

    @property
    def divides_units(self) -> bool:
        """Plans on the grid know whole units only."""
        return False

    def allocation(self, units: float) -> dict[str, float]:
        """The mips of each PE with some units."""
        return dict(zip(self.pes, self.mips[self.rows[int(units)]].tolist(), strict=True))


def prepare(pes: Sequence[Pe], deadline: Deadline | None = None) -> Component:
    """Look at a weak component once, for all the searches in it."""
    order = ready_order(pes)
    most = compose(pes, {pe.id: pe.max_mips for pe in pes}, order, deadline)
    return Component(
        pes=tuple(pes),
        order=order,
        top_mips={pe.id: useful_mips(pe, float(most.loads_tps[pe.id]), inputs_of(pe, most.rates_tps)) for pe in pes},
        potential=potentials(order),
    )


def balanced_allocations(component: Component, parts: int) -> FloatArray:
    """Allocations that give all PEs the same share of what they could use, in `parts` steps.

    Flow through a chain is balanced that way, so they are good at once where branches are worth alike.
    """
    low = np.array([pe.min_mips for pe in component.pes])
    top = np.array([component.top_mips[pe.id] for pe in component.pes])
    return np.asarray(np.maximum(low, np.linspace(0.0, 1.0, parts + 1)[:, None] * top))


def rough_plan(
    component: Component, grid: Grid, allocations: FloatArray, deadline: Deadline | None = None
) -> ComponentPlan:
    """The best of some allocations for each number of units; the first of them must be the minimum."""
    pes = component.pes
    composed = compose(pes, {pe.id: allocations[:, i] for i, pe in enumerate(pes)}, component.order, deadline)
    importance = np.zeros(len(allocations)) + sum(composed.importance.values())
    cost = (allocations - allocations[0]).sum(axis=1)
    used = np.maximum(0, np.ceil(cost / grid.step_mips - ROUNDING)).astype(np.int64)
    rows = np.flatnonzero(used <= grid.units)
    rows = rows[np.lexsort((importance[rows], used[rows]))]
    return plan_of(pes, used[rows], importance[rows], allocations[rows], exact=False)


def better_of(left: ComponentPlan, right: ComponentPlan) -> ComponentPlan:
    """For each number of units the better of two plans for the same component."""
    size = max(len(left.curve), len(right.curve))
    at_left, at_right = (np.minimum(np.arange(size), len(plan.curve) - 1) for plan in (left, right))
    curves = left.curve[at_left], right.curve[at_right]
    rows = np.where(curves[0] >= curves[1], left.rows[at_left], right.rows[at_right] + len(left.mips))
    mips = np.concatenate([left.mips, right.mips])
    return replace(left, curve=np.maximum(*curves), rows=rows, mips=mips)


def plan_of(
    pes: Sequence[Pe], used: IntArray, importance: FloatArray, mips: FloatArray, *, exact: bool
) -> ComponentPlan:
    """A plan from allocations in rising order of units; those that earn no more than cheaper ones are passed over."""
    best = np.maximum.accumulate(importance)
    last = int(used[np.searchsorted(best, best[-1])])
    units = np.arange(last + 1)
    upto = np.searchsorted(used, units, side="right") - 1
    first_best = np.searchsorted(best, best, side="left")
    rows = first_best[upto]
    return ComponentPlan(
        min_mips=sum(pe.min_mips for pe in pes),
        curve=best[rows],
        rows=rows,
        pes=tuple(pe.id for pe in pes),
        mips=mips,
        exact=exact,
    )
