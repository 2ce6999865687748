"""Which way a component is planned: by what its functions allow and by how much time the round has.

A concave component is planned by its corners (`concave`), others by non-serial dynamic programming
(`nsdp`). The rough rounds before that plan every component by a handful of balanced allocations, then by
the corners of its concave hull; what they find stays in the running later, so a round never plans worse than the last.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from penstock.base.deadline import Deadline
from penstock.scheduler.macroq.component import (
    Component,
    ComponentPlan,
    Grid,
    balanced_allocations,
    better_of,
    rough_plan,
)
from penstock.scheduler.macroq.concave import Corners, concave_plan, find_corners, has_corners, is_concave_component
from penstock.scheduler.macroq.nsdp import plan_component
from penstock.scheduler.macroq.resolution import Effort
from penstock.scheduler.problem.resource_functions import FloatArray

MOST_CORNERS = 200
MIXTURES = 64
"""Allocations between the corners of a hull that are tried where the component itself is not concave."""


class Plan(Protocol):
    """The best allocations of one component, for every number of units above its minimum."""

    @property
    def curve(self) -> FloatArray:
        """The importance with 0, 1, 2, ... units."""

    @property
    def exact(self) -> bool:
        """Whether there is nothing better on the grid."""

    @property
    def divides_units(self) -> bool:
        """Whether a part of a unit is of use."""

    def allocation(self, units: float) -> dict[str, float]:
        """The mips of each PE with some units."""


class CornerCache:
    """The corners of all components seen so far, kept from round to round."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Component, Corners | None]] = {}

    def of(self, component: Component, deadline: Deadline) -> Corners | None:
        """The corners of a component, or of its hull; None where it has none."""
        if id(component) not in self._known:
            corners = find_corners(component, MOST_CORNERS, deadline) if has_corners(component) else None
            self._known[id(component)] = component, corners
        return self._known[id(component)][1]


class Planner:
    """Plans components for one round, each once.

    Attributes:
        grid: The resolution of the round.
        deadline: When to stop.
    """

    def __init__(self, corners: CornerCache, effort: Effort, deadline: Deadline) -> None:
        self.grid: Grid = effort.grid
        self._corners = corners
        self._effort = effort
        self.deadline = deadline
        self._plans: dict[int, Plan] = {}

    def plan(self, component: Component) -> Plan:
        """The plan of a component at the round's effort."""
        self.deadline.check()
        if id(component) not in self._plans:
            self._plans[id(component)] = self._made(component)
        return self._plans[id(component)]

    def _made(self, component: Component) -> Plan:
        if self._effort.method == "balanced":
            return rough_plan(component, self.grid, balanced_allocations(component, 8), self.deadline)
        if self._effort.method == "grid":
            return self._by_labels(component)
        corners = self._corners.of(component, self.deadline)
        if corners is not None and is_concave_component(component):
            return concave_plan(component, corners, self.grid)
        rough = rough_plan(component, self.grid, _worth_knowing(component, corners), self.deadline)
        return rough if self._effort.method == "corners" else better_of(self._by_labels(component), rough)

    def _by_labels(self, component: Component) -> ComponentPlan:
        return plan_component(component, self.grid, self._effort.labels, self.deadline)


def _worth_knowing(component: Component, corners: Corners | None) -> FloatArray:
    balanced = balanced_allocations(component, 8)
    if corners is None:
        return balanced
    places = np.linspace(0.0, corners.extra_mips[-1], MIXTURES)
    mixtures = [np.interp(places, corners.extra_mips, column) for column in corners.mips.T]
    return np.concatenate([balanced, corners.mips, np.stack(mixtures, axis=1)])
