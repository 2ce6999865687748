"""Non-serial dynamic programming: the best importance of one weak component for every number of units.

Introduction. Line 10 of figure 6 of the SODA paper. Within a component the allocations to PEs hang together: what a PE
can do depends on what those upstream of it send. The result is the component importance function, which is all that the
division among components needs to know.

Formulation. For PE p choose whole units x_p with 0 <= x_p <= ceil((M_p - m_p) / step), which stand for
min(m_p + x_p step, M_p) mips (`Grid.mips`); for every number of units u maximize the importance of the component's
streams subject to sum x_p <= u. The minimum m_p is not rounded, so a plan never gives a PE less than it needs.

Example: a chain a -> b, each with flow 1 mips a tuple, wants equal units for both; the curve rises every second unit.

When it does not apply. PEs that earn nothing are set aside before (`penstock.scheduler.problem.components`).

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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.base.deadline import Deadline
from penstock.scheduler.macroq.component import ROUNDING, Component, ComponentPlan, Grid, plan_of
from penstock.scheduler.macroq.labels import Column, IntArray, Labels, Trace, best_by_units, pareto_front, thin
from penstock.scheduler.problem.admission_problem import Pe
from penstock.scheduler.problem.composition import propagate, sees_each_input
from penstock.scheduler.problem.resource_functions import Amounts, FloatArray, importance_of

CROSS_LIMIT = 1_000_000
"""Pairs of labels and choices that are looked at in one step; beyond it a step takes coarser choices."""

LOOP_LIMIT = 4 * CROSS_LIMIT
"""Units of PEs on a cycle in all of these choices together: bounds the memory."""

EMPTY = Labels(
    used=np.zeros(1, dtype=np.int64),
    importance=np.zeros(1),
    earns=False,
    loads={},
    trace=Trace(pes=(), units=np.zeros((1, 0), dtype=np.int64), parents=()),
)
"""The table before anything is decided."""


def plan_component(component: Component, grid: Grid, limit: int, deadline: Deadline) -> ComponentPlan:
    """The best importance of a weak component for every number of units.

    Example:
        >>> from penstock.scheduler.macroq.component import prepare
        >>> from penstock.scheduler.problem.admission_problem import Flow, Linear, Output
        >>> one = Flow(mips_per_tps=1.0, selectivity=1.0)
        >>> a = Pe(id="a", max_mips=9.0, offered_tps=2.0, outputs=(Output(stream="s", rate=one),))
        >>> out = Output(stream="t", rate=one, value=Linear(slope=5.0))
        >>> component = prepare([a, Pe(id="b", max_mips=9.0, inputs=("s",), outputs=(out,))])
        >>> plan = plan_component(component, Grid(step_mips=1.0, units=9), 100, Deadline.after(None))
        >>> plan.curve.tolist(), plan.allocation(4)
        ([0.0, 0.0, 5.0, 5.0, 10.0], {'a': 2.0, 'b': 2.0})
    """
    return _Elimination(component, grid, limit, deadline).run()


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
        # PEs to which it matters on which input a load comes; on a cycle, one of them makes all of them such.
        self._apart = {pe.id for batch in component.order if sees_each_input(batch) for pe in batch}
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
        return plan_of(self._component.pes, labels.used, labels.importance, mips, exact=self._exact)

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
            for column in self._columns(pe, on_left | on_right):
                own, other = on_left & column, on_right & column
                loads[column] = _load(left, own)[:, None] + _load(right, other)[None, :]
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
        outside: dict[str, Amounts] = {}
        rates: dict[str, Amounts] = {}
        for pe in batch:
            inputs = open_streams.intersection(pe.inputs)
            if pe.id in self._apart:
                outside[pe.id] = pe.offered_tps
                rates |= {stream: labels.loads[frozenset((stream,))][:, None] for stream in inputs}
            else:
                outside[pe.id] = (pe.offered_tps + _load(labels, inputs))[:, None]
        propagate(batch, mips, outside, rates, self._deadline)
        self._undecided -= {pe.id for pe in batch}
        made = {out.stream: rates[out.stream] for pe in batch for out in pe.outputs}
        cross = self._crossed(batch, labels, units.sum(axis=1), made)
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
        for pe in self._waiting_for(open_before.union(rates)):
            for column in self._columns(pe, open_before.union(rates)):
                load: Amounts = _load(labels, open_before & column)[:, None]
                for stream in sorted(column & rates.keys()):
                    load = load + rates[stream]
                loads[column] = np.broadcast_to(load, shape)
        earns = labels.earns or bool(valued)
        return _Cross(left=labels, right=used, importance=importance, earns=earns, loads=loads)

    def _unit_choices(self, batch: Sequence[Pe], label_count: int) -> IntArray:
        """All combinations of units for a batch, or every second, fourth ... where they would be too many.

        On a large cycle even two for each PE are too many: there all get the same share of what they could use.
        """
        most = [min(self._grid.units, self._grid.units_for(self._top[pe.id] - pe.min_mips)) for pe in batch]
        limit = min(CROSS_LIMIT, LOOP_LIMIT // len(batch)) // label_count
        stride = 1
        while math.prod(top // stride + 2 for top in most) > limit and stride < max(most):
            stride *= 2
            self._exact = False
        choices = [np.unique([*range(0, top + 1, stride), top]) for top in most]
        if len(batch) > 1 and math.prod(map(len, choices)) > limit:
            shares = np.linspace(0.0, 1.0, max(2, min(limit, max(most) + 1)))
            return np.unique(np.ceil(shares[:, None] * np.array(most) - ROUNDING).astype(np.int64), axis=0)
        return _combinations(choices)

    def _waiting_for(self, streams: frozenset[str]) -> list[Pe]:
        found = {pe.id: pe for stream in streams for pe in self._readers.get(stream, ()) if pe.id in self._undecided}
        return list(found.values())

    def _columns(self, pe: Pe, streams: frozenset[str]) -> list[Column]:
        """How the open inputs of a PE are kept: added up, or one by one where it matters which they are."""
        inputs = streams.intersection(pe.inputs)
        return [frozenset((stream,)) for stream in sorted(inputs)] if pe.id in self._apart else [inputs]

    def _affordable(self, labels: Labels, others: int) -> Labels:
        if len(labels) * others <= CROSS_LIMIT:
            return labels
        self._exact = False
        rows = thin(labels.used, labels.importance, labels.importance, max(2, CROSS_LIMIT // others))
        return labels.take(rows[:: -(-len(rows) * others // CROSS_LIMIT)])

    def _reduced(self, cross: _Cross) -> tuple[IntArray, IntArray]:
        """The pairs of the cross product to keep."""
        self._deadline.check()
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
            readers = [pe for pe in self._waiting_for(column) if column in self._columns(pe, open_streams)]
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


def _combinations(choices: Sequence[IntArray]) -> IntArray:
    """Each combination of one of each as a row, the last running fastest; NumPy's own grids end at 32."""
    every = np.arange(math.prod(map(len, choices)))
    behind = [math.prod(map(len, choices[at + 1 :])) for at in range(len(choices))]
    columns = [choice[every // step % len(choice)] for choice, step in zip(choices, behind, strict=True)]
    return np.stack(columns, axis=1).astype(np.int64)
