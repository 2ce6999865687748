"""Non-serial dynamic programming: the best importance of one weak component for every number of units.

Introduction. Line 10 of figure 6 of the SODA paper. Within a component the allocations to PEs hang together: what a PE
can do depends on what those upstream of it send. The result is the component importance function, which is all that the
division among components needs to know.

Formulation. For PE p choose whole units x_p with 0 <= x_p <= ceil((M_p - m_p) / step), which stand for
min(m_p + x_p step, M_p) mips (`Grid.mips`); for every number of units u maximize the importance of the component's
streams subject to sum x_p <= u. The minimum m_p is not rounded, so a plan never gives a PE less than it needs.

Example: a chain a -> b, each with flow 1 mips a tuple, wants equal units for both; the curve rises every second unit.

When it does not apply. PEs that earn nothing are set aside before (`penstock.scheduler.components`).

Algorithm. PEs are eliminated in ready-list order. Each is decided in the table that holds its load; a PE that joins
several branches first joins their tables (`_joined`), so that branches are solved apart, as trees should be. Deciding a
PE (`_decided`) crosses the labels of its table with its units, composes its resource functions on the whole cross
product at once, and drops dominated labels (`_reduced`). PEs on a cycle are decided together. A chain or an in-tree
costs O(units^2) a PE; where streams fan out the fronts can grow, and beyond `limit` labels they are thinned, which
makes the plan `exact=False`.

Preserves. A plan with the minimum for every PE is always kept; the curve never falls.

Reference. Wolf et al., JSSPP 2009, section 4.3; Bertele and Brioschi, "Nonserial dynamic programming", 1972. We depart
in the state: loads and earned importance instead of the upstream PEs' units, with dominance, which is exact for
functions that never fall and keeps tables small where many PEs feed one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from penstock.scheduler.composition import compose, propagate, ready_order
from penstock.scheduler.deadline import Deadline
from penstock.scheduler.macroq_labels import Column, IntArray, Labels, Trace, best_by_units, pareto_front, thin
from penstock.scheduler.macroq_potential import potentials
from penstock.scheduler.problem import Pe
from penstock.scheduler.resource_functions import Amounts, FloatArray, importance_of, useful_mips

CROSS_LIMIT = 4_000_000
"""Pairs of labels and choices that are looked at in one step; beyond it a step takes coarser choices."""

EMPTY = Labels(
    used=np.zeros(1, dtype=np.int64),
    importance=np.zeros(1),
    earns=False,
    loads={},
    trace=Trace(pes=(), units=np.zeros((1, 0), dtype=np.int64), parents=()),
)
"""The table before anything is decided."""

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
        """What a PE gets with some units above its minimum, at most `top`."""
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


def prepare(pes: Sequence[Pe]) -> Component:
    """Look at a weak component once, for all the searches in it."""
    order = ready_order(pes)
    loads = compose(pes, {pe.id: pe.max_mips for pe in pes}, order).loads_tps
    return Component(
        pes=tuple(pes),
        order=order,
        top_mips={pe.id: useful_mips(pe, float(loads[pe.id])) for pe in pes},
        potential=potentials(order),
    )


def plan_component(component: Component, grid: Grid, limit: int, deadline: Deadline) -> ComponentPlan:
    """The best importance of a weak component for every number of units.

    Example:
        >>> from penstock.scheduler.problem import Flow, Linear, Output
        >>> one = Flow(mips_per_tps=1.0, selectivity=1.0)
        >>> a = Pe(id="a", max_mips=9.0, offered_tps=2.0, outputs=(Output(stream="s", rate=one),))
        >>> out = Output(stream="t", rate=one, value=Linear(slope=5.0))
        >>> component = prepare([a, Pe(id="b", max_mips=9.0, inputs=("s",), outputs=(out,))])
        >>> plan = plan_component(component, Grid(step_mips=1.0, units=9), 100, Deadline())
        >>> plan.curve.tolist(), plan.allocation(4)
        ([0.0, 0.0, 5.0, 5.0, 10.0], {'a': 2.0, 'b': 2.0})
    """
    return _Elimination(component, grid, limit, deadline).run()


def balanced_allocations(component: Component, parts: int) -> FloatArray:
    """Allocations that give all PEs the same share of what they could use, in `parts` steps.

    Flow through a chain is balanced that way, so they are good at once where branches are worth alike.
    """
    low = np.array([pe.min_mips for pe in component.pes])
    top = np.array([component.top_mips[pe.id] for pe in component.pes])
    return np.asarray(np.maximum(low, np.linspace(0.0, 1.0, parts + 1)[:, None] * top))


def rough_plan(component: Component, grid: Grid, allocations: FloatArray) -> ComponentPlan:
    """The best of some allocations for each number of units; the first of them must be the minimum."""
    pes = component.pes
    composed = compose(pes, {pe.id: allocations[:, i] for i, pe in enumerate(pes)}, component.order)
    importance = np.zeros(len(allocations)) + sum(composed.importance.values())
    cost = (allocations - allocations[0]).sum(axis=1)
    used = np.maximum(0, np.ceil(cost / grid.step_mips - ROUNDING)).astype(np.int64)
    rows = np.flatnonzero(used <= grid.units)
    rows = rows[np.lexsort((importance[rows], used[rows]))]
    return _plan(pes, used[rows], importance[rows], allocations[rows], exact=False)


def better_of(left: ComponentPlan, right: ComponentPlan) -> ComponentPlan:
    """For each number of units the better of two plans for the same component."""
    size = max(len(left.curve), len(right.curve))
    at_left, at_right = (np.minimum(np.arange(size), len(plan.curve) - 1) for plan in (left, right))
    curves = left.curve[at_left], right.curve[at_right]
    rows = np.where(curves[0] >= curves[1], left.rows[at_left], right.rows[at_right] + len(left.mips))
    mips = np.concatenate([left.mips, right.mips])
    return replace(left, curve=np.maximum(*curves), rows=rows, mips=mips)


def _plan(pes: Sequence[Pe], used: IntArray, importance: FloatArray, mips: FloatArray, *, exact: bool) -> ComponentPlan:
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


class _Elimination:
    """Decides the PEs of one component one after another."""

    def __init__(self, component: Component, grid: Grid, limit: int, deadline: Deadline) -> None:
        self._component = component
        self._grid = grid
        self._limit = limit
        self._deadline = deadline
        self._top = component.top_mips
        self._readers: dict[str, list[Pe]] = {}
        for pe in component.pes:
            for stream in pe.inputs:
                self._readers.setdefault(stream, []).append(pe)
        self._undecided = {pe.id for pe in component.pes}
        self._exact = True

    def run(self) -> ComponentPlan:
        tables: list[Labels] = []
        for batch in self._component.order:
            self._deadline.check()
            wanted = {stream for pe in batch for stream in pe.inputs}
            feeding = [table for table in tables if not wanted.isdisjoint(_open_streams(table))]
            tables = [table for table in tables if wanted.isdisjoint(_open_streams(table))]
            tables.append(self._decided(batch, self._joined_up(feeding)))
        labels = self._joined_up(tables)
        units = labels.trace.units_by_pe()
        mips = np.stack([self._grid.mips(pe, units[pe.id], self._top[pe.id]) for pe in self._component.pes], axis=1)
        return _plan(self._component.pes, labels.used, labels.importance, mips, exact=self._exact)

    def _joined_up(self, tables: Sequence[Labels]) -> Labels:
        joined = tables[0] if tables else EMPTY
        for table in tables[1:]:
            joined = self._joined(joined, table)
        return joined

    def _joined(self, left: Labels, right: Labels) -> Labels:
        """The cross product of two tables, with the loads to the same PE added up."""
        left, right = self._affordable(left, len(right)), self._affordable(right, len(left))
        on_left, on_right = _open_streams(left), _open_streams(right)
        loads = {}
        for pe in self._waiting_for(on_left | on_right):
            own, other = on_left.intersection(pe.inputs), on_right.intersection(pe.inputs)
            loads[own | other] = _load(left, own)[:, None] + _load(right, other)[None, :]
        cross = _Cross(
            left=left,
            right=right.used,
            importance=left.importance[:, None] + right.importance[None, :],
            earns=left.earns or right.earns,
            loads=loads,
        )
        rows, others = self._reduced(cross)
        trace = Trace(
            pes=(), units=np.zeros((len(rows), 0), dtype=np.int64), parents=((left.trace, rows), (right.trace, others))
        )
        return cross.labels(rows, others, trace)

    def _decided(self, batch: Sequence[Pe], labels: Labels) -> Labels:
        """The labels crossed with the units that the PEs of a batch may get."""
        units = self._unit_choices(batch, len(labels))
        open_streams = _open_streams(labels)
        mips = {pe.id: self._grid.mips(pe, units[:, i], self._top[pe.id])[None, :] for i, pe in enumerate(batch)}
        outside = {
            pe.id: (pe.offered_tps + _load(labels, open_streams.intersection(pe.inputs)))[:, None] for pe in batch
        }
        rates: dict[str, Amounts] = {}
        propagate(batch, mips, outside, rates)
        self._undecided -= {pe.id for pe in batch}
        cross = self._crossed(batch, labels, units.sum(axis=1), rates)
        rows, chosen = self._reduced(cross)
        trace = Trace(pes=tuple(pe.id for pe in batch), units=units[chosen], parents=((labels.trace, rows),))
        return cross.labels(rows, chosen, trace)

    def _crossed(self, batch: Sequence[Pe], labels: Labels, used: IntArray, rates: Mapping[str, Amounts]) -> _Cross:
        shape = (len(labels), len(used))
        importance = np.broadcast_to(labels.importance[:, None], shape)
        valued = [out for pe in batch for out in pe.outputs if out.is_valued]
        for out in valued:
            importance = importance + importance_of(out, rates[out.stream])
        open_before = _open_streams(labels)
        loads = {}
        for pe in self._waiting_for(open_before | rates.keys()):
            known = open_before.intersection(pe.inputs)
            fresh = [stream for stream in pe.inputs if stream in rates]
            load = sum((rates[stream] for stream in fresh), _load(labels, known)[:, None])
            loads[known.union(fresh)] = np.broadcast_to(load, shape)
        earns = labels.earns or bool(valued)
        return _Cross(left=labels, right=used, importance=importance, earns=earns, loads=loads)

    def _unit_choices(self, batch: Sequence[Pe], label_count: int) -> IntArray:
        """All combinations of units for a batch, or every second, fourth ... where they would be too many."""
        most = [min(self._grid.units, self._grid.units_for(self._top[pe.id] - pe.min_mips)) for pe in batch]
        stride = 1
        while label_count * math.prod(top // stride + 2 for top in most) > CROSS_LIMIT and stride < max(most):
            stride *= 2
            self._exact = False
        choices = [np.unique([*range(0, top + 1, stride), top]) for top in most]
        return np.stack([axis.ravel() for axis in np.meshgrid(*choices, indexing="ij")], axis=1).astype(np.int64)

    def _waiting_for(self, streams: frozenset[str]) -> list[Pe]:
        found = {pe.id: pe for stream in streams for pe in self._readers.get(stream, ()) if pe.id in self._undecided}
        return list(found.values())

    def _affordable(self, labels: Labels, others: int) -> Labels:
        if len(labels) * others <= CROSS_LIMIT:
            return labels
        self._exact = False
        rows = thin(labels.used, labels.importance, labels.importance, max(2, CROSS_LIMIT // others))
        return labels.take(rows[:: -(-len(rows) * others // CROSS_LIMIT)])

    def _reduced(self, cross: _Cross) -> tuple[IntArray, IntArray]:
        """The pairs of the cross product to keep."""
        objectives = cross.objectives()
        if len(objectives) <= 1:
            objective = objectives[0] if objectives else np.zeros((len(cross.left), len(cross.right)))
            return best_by_units(cross.left.used, cross.right, objective, self._grid.units)
        used = cross.left.used[:, None] + cross.right[None, :]
        rows, others = np.nonzero((used <= self._grid.units) & cross.changes())
        flat = [objective[rows, others] for objective in objectives]
        kept = pareto_front(used[rows, others], flat)
        rows, others = rows[kept], others[kept]
        if len(rows) > self._limit:
            kept = self._thinned(cross, rows, others)
            rows, others = rows[kept], others[kept]
        return rows, others

    def _thinned(self, cross: _Cross, rows: IntArray, others: IntArray) -> IntArray:
        self._exact = False
        score = cross.importance[rows, others].copy()
        for column, load in cross.loads.items():
            open_streams = frozenset().union(*cross.loads)
            readers = [pe for pe in self._waiting_for(column) if open_streams.intersection(pe.inputs) == column]
            score += load[rows, others] * sum(self._component.potential[pe.id] for pe in readers)
        spread = next(iter(cross.loads.values()))[rows, others]
        return thin(cross.left.used[rows] + cross.right[others], score, spread, self._limit)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Cross:
    """A table crossed with further units, before the pairs to keep are picked.

    Attributes:
        left: The table, one row of the cross product for each of its labels.
        right: The units used by each column of the cross product.
        importance: Earned so far.
        earns: Whether any stream decided so far has a value.
        loads: What flows to PEs that are not decided yet.
    """

    left: Labels
    right: IntArray
    importance: FloatArray
    earns: bool
    loads: dict[Column, FloatArray]

    def objectives(self) -> list[FloatArray]:
        return [*([self.importance] if self.earns else []), *self.loads.values()]

    def changes(self) -> NDArray[np.bool_]:
        """Which pairs differ from the pair with the choice before; the others use more units for the same."""
        changed = np.zeros(self.importance.shape, dtype=bool)
        changed[:, 0] = True
        changed[:, 1:] = self.right[1:] < self.right[:-1]
        for objective in self.objectives():
            changed[:, 1:] |= objective[:, 1:] != objective[:, :-1]
        return changed

    def labels(self, rows: IntArray, others: IntArray, trace: Trace) -> Labels:
        return Labels(
            used=self.left.used[rows] + self.right[others],
            importance=self.importance[rows, others],
            earns=self.earns,
            loads={column: load[rows, others] for column, load in self.loads.items()},
            trace=trace,
        )


def _open_streams(labels: Labels) -> frozenset[str]:
    return frozenset().union(*labels.loads)


def _load(labels: Labels, column: Column) -> FloatArray:
    return labels.loads[column] if column else np.zeros(len(labels))
