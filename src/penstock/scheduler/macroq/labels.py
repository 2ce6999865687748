"""The tables of the non-serial dynamic program: partial allocations, with those that cannot win thrown out.

A label is an allocation to the PEs decided so far. What the rest of the component can still see of it is little: the
units it used, the importance it has earned, and the load it sends to each PE that is not decided yet. Since no resource
or value function falls, a label that uses no fewer units and is no better in any of the rest is dominated and goes.

With one thing to see besides the units there is at most one label for each number of units (`best_by_units`). With
more, the labels of equal units form a Pareto front (`pareto_front`), and a front that outgrows the limit is thinned
(`thin`): that is the partly greedy short cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.scheduler.problem.resource_functions import FloatArray

IntArray = NDArray[np.int64]
Column = frozenset[str]
"""The streams whose rates a load adds up; PEs that read the same streams share it."""

FULL_CHECK = 400
"""Labels up to which each is compared with each."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """How labels came about, to find the units of each PE again.

    Attributes:
        pes: The ids of the PEs decided in this step.
        units: Their units, a row for each label.
        parents: The tables that the step started from, each with the row that each label came from.
    """

    pes: tuple[str, ...]
    units: IntArray
    parents: tuple[tuple[Trace, IntArray], ...]

    def take(self, rows: IntArray) -> Trace:
        """The trace of some of the labels."""
        parents = tuple((trace, came_from[rows]) for trace, came_from in self.parents)
        return Trace(pes=self.pes, units=self.units[rows], parents=parents)

    def units_by_pe(self) -> dict[str, IntArray]:
        """The units of every PE decided so far, an entry for each label."""
        found: dict[str, IntArray] = {}
        todo: list[tuple[Trace, IntArray]] = [(self, np.arange(len(self.units)))]
        while todo:
            trace, rows = todo.pop()
            found |= {pe: trace.units[rows, i] for i, pe in enumerate(trace.pes)}
            todo += [(parent, came_from[rows]) for parent, came_from in trace.parents]
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labels:
    """A table of partial allocations.

    Attributes:
        used: Units used above the minimum.
        importance: Earned so far.
        earns: Whether any stream decided so far has a value.
        loads: What flows to PEs that are not decided yet.
        trace: How the labels came about.
    """

    used: IntArray
    importance: FloatArray
    earns: bool
    loads: dict[Column, FloatArray]
    trace: Trace

    def __len__(self) -> int:
        return len(self.used)

    def take(self, rows: IntArray) -> Labels:
        """Some of the labels."""
        return Labels(
            used=self.used[rows],
            importance=self.importance[rows],
            earns=self.earns,
            loads={column: load[rows] for column, load in self.loads.items()},
            trace=self.trace.take(rows),
        )


def best_by_units(left: IntArray, right: IntArray, objective: FloatArray, cap: int) -> tuple[IntArray, IntArray]:
    """The pairs (i, j) with the best objective for `left[i] + right[j]` units, where more units give more.

    Example:
        >>> rows, columns = best_by_units(np.array([0, 1]), np.array([0, 1]), np.array([[0.0, 3.0], [2.0, 3.0]]), 9)
        >>> rows.tolist(), columns.tolist()
        ([0, 0], [0, 1])
    """
    if len(np.unique(left)) < len(left) or len(np.unique(right)) < len(right):
        return _best_of_many(left, right, objective, cap)
    if len(left) < len(right):
        columns, rows = best_by_units(right, left, objective.T, cap)
        return rows, columns
    size = min(cap, int(left.max() + right.max())) + 1
    best = np.full(size, -np.inf)
    row_of, column_of = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    positions = np.arange(len(left))
    for j, units in enumerate(right.tolist()):
        target = left + units
        fits = target < size
        better = np.zeros(len(left), dtype=bool)
        better[fits] = objective[fits, j] > best[target[fits]]
        best[target[better]] = objective[better, j]
        row_of[target[better]] = positions[better]
        column_of[target[better]] = j
    before = np.concatenate([[-np.inf], np.maximum.accumulate(best)[:-1]])
    kept = best > before
    return row_of[kept], column_of[kept]


def _best_of_many(left: IntArray, right: IntArray, objective: FloatArray, cap: int) -> tuple[IntArray, IntArray]:
    """The same by sorting, where several pairs of one row or column can have equal units."""
    used = left[:, None] + right[None, :]
    rows, columns = np.nonzero(used <= cap)
    value, units = objective[rows, columns], used[rows, columns]
    order = np.lexsort((-value, units))
    before = np.concatenate([[-np.inf], np.maximum.accumulate(value[order])[:-1]])
    kept = order[value[order] > before]
    return rows[kept], columns[kept]


def pareto_front(used: IntArray, objectives: Sequence[FloatArray]) -> IntArray:
    """The rows that no other dominates, or a few more where checking them all would take too long.

    Example:
        >>> pareto_front(np.array([0, 0, 1, 1]), [np.array([1.0, 2, 2, 3]), np.array([2.0, 1, 1, 0])]).tolist()
        [0, 1, 3]
    """
    rows = np.lexsort((*(-objective for objective in reversed(objectives)), used))
    if len(objectives) == 2:
        rows = rows[_level_front(used[rows], objectives[1][rows])]
    else:
        rows = rows[_first_of_equals(used[rows], [objective[rows] for objective in objectives])]
    if len(rows) <= FULL_CHECK:
        rows = rows[_undominated(used[rows], [objective[rows] for objective in objectives])]
    return np.sort(rows)


def _level_front(used: IntArray, second: FloatArray) -> NDArray[np.bool_]:
    """Which labels, sorted by units and falling first objective, beat all before them of equal units in the second."""
    rank = np.unique(second, return_inverse=True)[1].astype(np.int64) + 1
    level = np.cumsum(np.concatenate([[0], np.diff(used) > 0]))
    # Higher levels start above all ranks of lower ones, so one running maximum serves them all.
    key = level * (len(used) + 2) + rank
    before = np.concatenate([[-1], np.maximum.accumulate(key)[:-1]])
    return np.asarray(key > np.maximum(before, level * (len(used) + 2)))


def _first_of_equals(used: IntArray, objectives: Sequence[FloatArray]) -> NDArray[np.bool_]:
    changes = np.diff(used) != 0
    for objective in objectives:
        changes |= np.diff(objective) != 0
    return np.concatenate([[True], changes])


def _undominated(used: IntArray, objectives: Sequence[FloatArray]) -> NDArray[np.bool_]:
    """Compare each label with each; the labels are sorted so that equals were already removed."""
    no_worse = used[:, None] <= used[None, :]
    for objective in objectives:
        no_worse &= objective[:, None] >= objective[None, :]
    np.fill_diagonal(no_worse, val=False)
    # Of labels that are equal in all, the first stays.
    twins = no_worse & no_worse.T & (np.arange(len(used))[:, None] > np.arange(len(used))[None, :])
    return np.asarray(~(no_worse & ~twins).any(axis=0))


def thin(used: IntArray, score: FloatArray, spread: FloatArray, limit: int) -> IntArray:
    """At most about `limit` rows: of each number of units the best by score, and others spread evenly.

    Example:
        >>> thin(np.array([0, 1, 1, 1, 1]), np.array([0.0, 1, 2, 3, 4]), np.arange(5.0), 4).tolist()
        [0, 1, 4]
    """
    levels = len(np.unique(used))
    quota = max(2, limit // levels)
    by_score = _place_in_level(used, -score)
    by_spread = _place_in_level(used, spread)
    size = np.bincount(used)[used]
    stride = np.maximum(1, -(-size // (quota // 2)))
    return np.flatnonzero((by_score < quota - quota // 2) | (by_spread % stride == 0))


def _place_in_level(used: IntArray, key: FloatArray) -> IntArray:
    """Each row's place among the rows of equal units, in rising order of the key."""
    order = np.lexsort((key, used))
    starts = np.concatenate([[True], np.diff(used[order]) > 0])
    first = np.maximum.accumulate(np.where(starts, np.arange(len(used)), 0))
    place = np.empty(len(used), dtype=np.int64)
    place[order] = np.arange(len(used)) - first
    return place
