"""The offer of each group of jobs: its best importance for every number of units, over all of its lists.

Introduction. The paper evaluates every rank-legal job/template list of the whole system, and their number is
exponential in the number of jobs. But at a given waterline legality splits up: whether a job may be in depends only
on jobs that streams connect it with, its group. So the lists of a group can be compared once, for every number of
units, and the best of them at each number (the envelope of their curves) replaces all of them in the division among
groups. The outcome is the same as that of the full enumeration, and the exponential term is left only inside groups.

Formulation. List l of a group takes base_l mips at least and earns v_l[u] with u units above it. With base the least
base_l,

    offer[u] = max over l of v_l[u - ceil((base_l - base) / step)].

Example: an optional job that needs 3 units to start offers nothing for 0 to 2 units and its curve from there on.

Preserves. Sums are rounded up to whole units, so an offer never costs more than it says; the cheapest list costs
exactly its minimum, so a problem that has an answer has one here.

Reference. Wolf et al., JSSPP 2009, lines 6 to 11 of figure 6; the envelope is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.base.deadline import Deadline
from penstock.scheduler.allocation.allocate import allocate, is_concave
from penstock.scheduler.allocation.fox import merge_concave
from penstock.scheduler.macroq.component import Component, Grid, prepare
from penstock.scheduler.macroq.component_plans import Plan, Planner
from penstock.scheduler.macroq.labels import IntArray
from penstock.scheduler.macroq.lists import JobLists, job_lists
from penstock.scheduler.problem.admission_problem import Job, Pe
from penstock.scheduler.problem.components import weak_components
from penstock.scheduler.problem.ranks import Choice
from penstock.scheduler.problem.resource_functions import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ListPlan:
    """One job/template list of a group with the plans of its components.

    Attributes:
        choice: The list.
        base_mips: The least it takes.
        parts: Its components' plans.
        idle: The PEs that earn nothing and get their minimum.
    """

    choice: Choice
    base_mips: float
    parts: tuple[Plan, ...]
    idle: tuple[Pe, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offer:
    """The offer of one group at one waterline: its importance for each number of units.

    Attributes:
        base_mips: The least mips that it takes.
        curves: Curves to divide units among: those of the components where there is one list, else the envelope.
        plans: The lists.
        offsets: The units by which each list costs more than the base.
        picks: Where there are several lists, the best for each number of units.
        exact: Whether no list and no label was left out.
    """

    base_mips: float
    curves: tuple[FloatArray, ...]
    plans: tuple[ListPlan, ...]
    offsets: tuple[int, ...]
    picks: IntArray
    exact: bool

    def taken(self, units: Sequence[int]) -> tuple[ListPlan, list[int]]:
        """The list that is taken when the curves get these units, and the units of its parts."""
        if len(self.plans) == 1:
            return self.plans[0], list(units)
        pick = int(self.picks[units[0]])
        plan = self.plans[pick]
        rest = allocate([part.curve for part in plan.parts], int(units[0]) - self.offsets[pick])
        return plan, rest.units.tolist()


class Prepared:
    """The components that were looked at so far, kept from round to round."""

    def __init__(self) -> None:
        self._components: dict[tuple[Pe, ...], Component] = {}
        self._cuts: dict[tuple[tuple[str, str], ...], tuple[tuple[Component, ...], tuple[Pe, ...]]] = {}

    def cut(self, choice: Choice, deadline: Deadline) -> tuple[tuple[Component, ...], tuple[Pe, ...]]:
        """The weak components of a list, and the PEs that earn nothing."""
        key = _list_key(choice)
        if key not in self._cuts:
            parts = weak_components([pe for template in choice.values() for pe in template.pes])
            self._cuts[key] = tuple(self._component(pes, deadline) for pes in parts.weak), parts.idle
        return self._cuts[key]

    def _component(self, pes: tuple[Pe, ...], deadline: Deadline) -> Component:
        deadline.check()
        if pes not in self._components:
            self._components[pes] = prepare(pes, deadline)
        return self._components[pes]


class Offers:
    """Makes the offers of one round, and remembers what it has computed."""

    def __init__(self, prepared: Prepared, planner: Planner, *, most_lists: int) -> None:
        self._prepared = prepared
        self._planner = planner
        self._most_lists = most_lists
        self._lists: dict[tuple[tuple[str, str], ...], ListPlan] = {}
        self._offers: dict[tuple[tuple[tuple[str, str], ...], ...], Offer] = {}

    def offer(self, group: Sequence[Job], waterline: int, merit: Mapping[str, float]) -> Offer:
        """The offer of a group at a waterline; `merit` orders the jobs of a group that has too many lists."""
        lists = job_lists(group, waterline, self._most_lists, merit, self._planner.deadline)
        key = tuple(_list_key(choice) for choice in lists.choices)
        if key not in self._offers:
            self._offers[key] = self._made(lists)
        return self._offers[key]

    def _made(self, lists: JobLists) -> Offer:
        plans = tuple(self._list_plan(choice) for choice in lists.choices)
        exact = lists.complete and all(part.exact for plan in plans for part in plan.parts)
        if len(plans) > 1:
            return _envelope(plans, self._planner.grid, exact=exact)
        return Offer(
            base_mips=plans[0].base_mips,
            curves=tuple(part.curve for part in plans[0].parts),
            plans=plans,
            offsets=(0,),
            picks=np.zeros(0, dtype=np.int64),
            exact=exact,
        )

    def _list_plan(self, choice: Choice) -> ListPlan:
        key = _list_key(choice)
        if key not in self._lists:
            components, idle = self._prepared.cut(choice, self._planner.deadline)
            base_mips = sum(template.min_mips for template in choice.values())
            parts = tuple(self._planner.plan(component) for component in components)
            self._lists[key] = ListPlan(choice=choice, base_mips=base_mips, parts=parts, idle=idle)
        return self._lists[key]


def _list_key(choice: Choice) -> tuple[tuple[str, str], ...]:
    return tuple((job_id, template.id) for job_id, template in choice.items())


def _envelope(plans: tuple[ListPlan, ...], grid: Grid, *, exact: bool) -> Offer:
    base = min(plan.base_mips for plan in plans)
    offsets = tuple(grid.units_for(plan.base_mips - base) for plan in plans)
    fitting = [i for i, offset in enumerate(offsets) if offset <= grid.units]
    curves = [_whole_curve(plans[i], grid.units - offsets[i]) for i in fitting]
    size = max(offsets[i] + len(curve) for i, curve in zip(fitting, curves, strict=True))
    best, picks = np.full(size, -np.inf), np.zeros(size, dtype=np.int64)
    for i, curve in zip(fitting, curves, strict=True):
        padded = np.concatenate([curve, np.full(size - offsets[i] - len(curve), curve[-1])])
        better = padded > best[offsets[i] :]
        best[offsets[i] :][better] = padded[better]
        picks[offsets[i] :][better] = i
    return Offer(base_mips=base, curves=(best,), plans=plans, offsets=offsets, picks=picks, exact=exact)


def _whole_curve(plan: ListPlan, units: int) -> FloatArray:
    """The best sum over a list's components for every number of units."""
    curves = [part.curve[: units + 1] for part in plan.parts]
    concave = [curve for curve in curves if is_concave(curve)]
    whole = merge_concave(concave, units).curve if concave else np.zeros(1)
    for curve in (curve for curve in curves if not is_concave(curve)):
        whole = _best_sums(whole, curve)[: units + 1]
    return whole


def _best_sums(left: FloatArray, right: FloatArray) -> FloatArray:
    if len(left) < len(right):
        left, right = right, left
    sums = np.full(len(left) + len(right) - 1, -np.inf)
    for units, value in enumerate(right.tolist()):
        np.maximum(sums[units : units + len(left)], left + value, out=sums[units : units + len(left)])
    return sums
