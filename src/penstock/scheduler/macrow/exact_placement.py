"""macroW as a mixed integer program.

Columns: used[u, n] in {0, 1}; fraction[u, n]; short[u], the part of the goal that is not met; apart[s, k], how much
of stream s passes piece of network k; and the maxima. Each rule of the formulation in
`penstock.scheduler.macrow.macrow` is one function below. The absolute value in the traffic is exact because the
objective only pushes it down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from penstock.base.deadline import Deadline, OutOfTime
from penstock.base.integer_program import IntegerProgram
from penstock.scheduler.macrow.metrics import SHORTFALL_WEIGHT
from penstock.scheduler.macrow.task import Bools, Floats, Ints, Task


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """The outcome of the solver.

    Attributes:
        used: Units by nodes, or None when nothing was found.
        fractions: Units by nodes, or None.
        is_optimal: Whether nothing better exists.
        is_infeasible: Whether it is proven that nothing exists.
    """

    used: Bools | None
    fractions: Floats | None
    is_optimal: bool
    is_infeasible: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Columns:
    program: IntegerProgram
    used: Ints
    fraction: Ints
    short: Ints


def solve(task: Task, deadline: Deadline | None = None, *, only_feasible: bool = False) -> Outcome:
    """The best placement that HiGHS finds in the time given; with `only_feasible`, any placement at all."""
    deadline = deadline or Deadline.after(None)
    try:
        columns = _build(task, deadline, only_feasible=only_feasible)
    except OutOfTime:
        return Outcome(used=None, fractions=None, is_optimal=False, is_infeasible=False)
    found = columns.program.solve(deadline)
    if found.values is None:
        return Outcome(used=None, fractions=None, is_optimal=False, is_infeasible=found.is_infeasible)
    used = found.values[columns.used] > 0.5
    fractions = np.where(used, np.clip(found.values[columns.fraction], 0.0, 1.0), 0.0)
    return Outcome(used=used, fractions=fractions, is_optimal=found.is_optimal, is_infeasible=False)


def _build(task: Task, deadline: Deadline, *, only_feasible: bool) -> _Columns:
    columns = _variables(task, deadline)
    _place_units(task, columns, deadline)
    _fill_nodes(task, columns)
    deadline.check()
    _keep_apart(task, columns, deadline)
    _limit_moves(task, columns)
    if not only_feasible:
        _add_objective(task, columns)
    return columns


def _variables(task: Task, deadline: Deadline) -> _Columns:
    program, shape = IntegerProgram(), task.allowed.shape
    used = np.array(program.columns(task.allowed.size, upper=1.0, integral=True)).reshape(shape)
    fraction = np.array(program.columns(task.allowed.size, upper=1.0)).reshape(shape)
    short = np.array(program.columns(len(task.units)))
    for row in range(shape[0]):
        deadline.check()
        goal = task.goal_mips[row]
        program.upper[short[row]] = (goal - task.floor_mips[row]) / goal if goal > 0 else 0.0
        for column in range(shape[1]):
            program.upper[used[row, column]] = float(task.allowed[row, column])
            program.lower[used[row, column]] = float(task.pinned[row, column])
    return _Columns(program=program, used=used, fraction=fraction, short=short)


def _place_units(task: Task, columns: _Columns, deadline: Deadline) -> None:
    """Fractions add up to what of the goal is met, on one to `degree` nodes, none of them tiny."""
    program = columns.program
    for used, fraction, short, degree in zip(columns.used, columns.fraction, columns.short, task.degree, strict=True):
        deadline.check()
        program.row([*((x, 1.0) for x in fraction), (short, 1.0)], least=1.0, most=1.0)
        program.row([(y, 1.0) for y in used], least=1.0, most=float(degree))
        for x, y in zip(fraction, used, strict=True):
            program.row([(x, 1.0), (y, -1.0)], most=0.0)
            program.row([(x, 1.0), (y, -task.min_fraction), (short, task.min_fraction)], least=0.0)


def _fill_nodes(task: Task, columns: _Columns) -> None:
    """Mips, memory, number of PEs and licences of each node."""
    program = columns.program
    for n, capacity in enumerate(task.capacity_mips):
        used, fraction = columns.used[:, n], columns.fraction[:, n]
        program.row(zip(fraction, task.goal_mips, strict=True), most=float(capacity))
        if np.isfinite(task.node_memory_mb[n]):
            program.row(zip(used, task.memory_mb, strict=True), most=float(task.node_memory_mb[n]))
        if np.isfinite(task.max_pes[n]):
            program.row(zip(used, task.size.astype(float), strict=True), most=float(task.max_pes[n]))
        for holders, seats in task.licences:
            program.row(zip(used, holders.astype(float), strict=True), most=float(seats[n]))


def _keep_apart(task: Task, columns: _Columns, deadline: Deadline) -> None:
    """Exlocation, and nodes that an exclusive unit has for itself."""
    program, used = columns.program, columns.used
    for clique in _cliques(task.apart):
        deadline.check()
        for n in range(len(task.nodes)):
            program.row([(used[u, n], 1.0) for u in clique], most=float(len(clique) > 1))
    for row in np.flatnonzero(task.exclusive):
        deadline.check()
        others = [u for u in range(len(task.units)) if u != row]
        for n in range(len(task.nodes)):
            terms = [(used[u, n], 1.0) for u in others]
            program.row([*terms, (used[row, n], float(len(others)))], most=float(len(others)))


def _cliques(pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Sets of units that are pairwise apart and cover all pairs: a row for each says more than one for each pair.

    A unit that is kept apart from itself is a set of its own, besides those with others.

    Example:
        >>> _cliques([(0, 1), (0, 2), (1, 2), (2, 2), (2, 3)])
        [[2], [0, 1, 2], [2, 3]]
    """
    near: dict[int, set[int]] = {}
    found = [[one] for one, other in pairs if one == other]
    between = [(one, other) for one, other in pairs if one != other]
    for one, other in between:
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    covered: set[tuple[int, int]] = set()
    for one, other in between:
        if (one, other) in covered:
            continue
        clique = sorted({one, other})
        for u in sorted(near[one] & near[other]):
            if near[u].issuperset(clique):
                clique.append(u)
        covered.update((a, b) for a in clique for b in clique)
        found.append(clique)
    return found


def _limit_moves(task: Task, columns: _Columns) -> None:
    moves = task.moves.astype(float)
    if np.isfinite(task.max_moves):
        columns.program.row(zip(columns.used.ravel(), moves.ravel(), strict=True), most=task.max_moves)
    if np.isfinite(task.max_moves_per_node):
        for n in range(len(task.nodes)):
            columns.program.row(zip(columns.used[:, n], moves[:, n], strict=True), most=task.max_moves_per_node)


def _add_objective(task: Task, columns: _Columns) -> None:
    weights = np.array(astuple(task.weights)) / max(sum(astuple(task.weights)), 1e-12)
    total = float(task.goal_mips.sum()) or 1.0
    for short, goal in zip(columns.short, task.goal_mips, strict=True):
        columns.program.cost[short] += SHORTFALL_WEIGHT * float(goal) / total
    busy = [
        [(x, float(g / c)) for x, g in zip(columns.fraction[:, n], task.goal_mips, strict=True)]
        for n, c in enumerate(np.maximum(task.capacity_mips, 1e-12))
    ]
    _average_and_maximum(columns.program, busy, weights[0], weights[1])
    if weights[2:].any() and len(task.streams):
        cards, links = _traffic(task, columns)
        _average_and_maximum(columns.program, links, weights[2], weights[3])
        _average_and_maximum(columns.program, cards, weights[4], weights[5])


def _average_and_maximum(
    program: IntegerProgram, shares: list[list[tuple[int, float]]], average: float, maximum: float
) -> None:
    """Charge the average and the maximum of some sums of columns."""
    (top,) = program.columns(1, cost=float(maximum))
    for terms in shares:
        program.row([*terms, (top, -1.0)], most=0.0)
        for column, value in terms:
            program.cost[column] += float(average) * value / len(shares)


def _traffic(task: Task, columns: _Columns) -> tuple[list[list[tuple[int, float]]], list[list[tuple[int, float]]]]:
    """How full each card and each link is, as sums of columns."""
    pieces, nodes = len(task.sides), len(task.nodes)
    apart = np.array(columns.program.columns(len(task.streams) * pieces)).reshape(-1, pieces)
    for (one, other), passing in zip(task.streams, apart, strict=True):
        for side, column in zip(task.sides, passing, strict=True):
            here = [(columns.fraction[one, n], 1.0) for n in np.flatnonzero(side)]
            there = [(columns.fraction[other, n], -1.0) for n in np.flatnonzero(side)]
            columns.program.row([*here, *there, (column, -1.0)], most=0.0)
            columns.program.row([*here, *there, (column, 1.0)], least=0.0)
    full = [
        [(c, float(t / (2 * mbps))) for c, t in zip(apart[:, k], task.traffic_mbps, strict=True)]
        for k, mbps in enumerate(task.side_mbps)
    ]
    if pieces > nodes:
        return full[:nodes], full[nodes:]
    share = task.traffic_mbps / (2 * float(task.traffic_mbps.sum()) or 1.0)
    return full[:nodes], [[(c, float(s)) for k in range(nodes) for c, s in zip(apart[:, k], share, strict=True)]]
