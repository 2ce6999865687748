"""Placements from where tasks already run: a move must be worth what it costs.

Introduction:
    A running job pays for a new placement: tasks pause, and their state goes over the network. A gain of a few percent
    that moves nearly every task is no gain.

Formulation:
    Minimize cost(G, P) + the sum of the prices of the tasks that are not where they were, subject to the limits on load
    and to a limit on the number of moves. A task that was nowhere moves for free.

Example:
    Two pairs of tasks that talk, placed pair by pair on machines 1 and 0: a partition that says 0 and 1 is the same one
    under other labels, and nothing moves.

When it does not apply:
    Where the present placement breaks the limits on load, moves that bring it within them are made first, whatever they
    cost, as far as the limit on moves allows.

Algorithm:
    1. Labels: the new placement's machines are renamed, among machines that are alike, so that as much as possible
       stays where it is (`match_labels`, an assignment problem).
    2. Two starts: the present placement, relieved; and the new one with its labels matched.
    3. From each, single moves by what they gain less what they cost, the best first; a move back home earns its price
       (`climb_with_prices`).
    4. The better of the two that keeps the limits.

Preserves:
    Never worse than staying, by cost and prices together, where staying keeps the limits.

Reference:
    Ours; Fischer and Bernstein, BigData 2015, move everything at every rescheduling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from penstock.base.deadline import Deadline
from penstock.placement.measure import cost, limits, loads, overload
from penstock.placement.packing import attainable_bound
from penstock.placement.problem import Floats, Ints, Matrix, PlacementProblem
from penstock.placement.pull import pull
from penstock.placement.relief import relieve

NOWHERE = -1
_DEFAULT_PRICE = 0.25
_CELLS_A_BLOCK = 1 << 22
_MOST_PASSES = 20
_GAIN = 1e-9
_NEXT_TO_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Present:
    """Where tasks are, and what moving them costs.

    Attributes:
        machine_of: The machine of each task, `NOWHERE` for one that does not run yet.
        prices: What moving each task costs, in units of traffic.
        max_moves: How many tasks may move; None for any number.
    """

    machine_of: Ints
    prices: Floats
    max_moves: int | None = None

    def moved(self, machine_of: Ints) -> Ints:
        """The tasks that are not where they were."""
        return np.flatnonzero((self.machine_of != NOWHERE) & (machine_of != self.machine_of))


def present_placement(
    problem: PlacementProblem,
    machine_of: Ints,
    *,
    weights: Floats | None = None,
    move_cost: float | None = None,
    max_moves: int | None = None,
) -> Present:
    """The present placement, with the price of moving each task.

    Args:
        problem: The tasks and the machines.
        machine_of: The machine of each task, `NOWHERE` for one that does not run yet.
        weights: The relative cost of moving each task, for example the size of its state; 1 unless given.
        move_cost: The price of a move of weight 1, in units of traffic. By default moving everything costs a quarter of
            what the present placement costs.
        max_moves: How many tasks may move.
    """
    running = machine_of != NOWHERE
    relative = np.ones(len(machine_of)) if weights is None else weights
    if move_cost is None:
        whole = cost(problem, np.where(running, machine_of, 0)) if running.any() else 0.0
        move_cost = _DEFAULT_PRICE * whole / max(float(relative[running].sum()), 1e-300)
    return Present(machine_of=machine_of, prices=np.where(running, move_cost * relative, 0.0), max_moves=max_moves)


def place_from(problem: PlacementProblem, new: Ints, present: Present, deadline: Deadline) -> Ints:
    """A placement that is better than the present one by more than its moves cost.

    Args:
        problem: What is placed.
        new: A good placement, found without regard to the present one.
        present: Where tasks are.
        deadline: When to stop improving.

    Example:
        >>> from penstock.placement.problem import communication_graph, equal_machines
        >>> graph = communication_graph([1, 1, 1, 1], [0, 2], [1, 3], [9, 9])
        >>> problem = PlacementProblem(graph=graph, machines=equal_machines(2))
        >>> present = present_placement(problem, np.array([1, 1, 0, 0]))
        >>> place_from(problem, np.array([0, 0, 1, 1]), present, Deadline.after(None)).tolist()
        [1, 1, 0, 0]
    """
    limit = limits(problem, attainable_bound(problem).bound)
    matched = match_labels(problem, new, present)
    home = np.where(present.machine_of == NOWHERE, matched, present.machine_of)
    relieved = relieve(problem, home, limit, deadline)
    if _is_too_much(present, relieved):
        relieved = _relieve_sparingly(problem, home, present, limit, deadline)
    starts = [relieved, matched]
    found = [climb_with_prices(problem, start, present, limit, deadline) for start in starts]
    return min([*found, *starts[:1]], key=lambda machine_of: _rank(problem, machine_of, present, limit))


def _relieve_sparingly(
    problem: PlacementProblem, home: Ints, present: Present, limit: Floats, deadline: Deadline
) -> Ints:
    """The placement after the single moves that relieve the most, as many as may be made; new tasks move for free."""
    machine_of, load, unit = home.copy(), loads(problem, home), np.where(limit > 0, limit, 1.0)
    is_free = present.machine_of == NOWHERE
    while not deadline.has_passed():
        full = np.asarray((load > limit * (1 + _GAIN)).any(axis=1))
        moved = present.moved(machine_of)
        is_last = present.max_moves is not None and len(moved) >= present.max_moves
        tasks = np.flatnonzero(full[machine_of] & (is_free | (not is_last)))[: _rows(problem)]
        weights, here = problem.graph.weights[tasks], machine_of[tasks]
        added = _excess(load[None] + weights[:, None], limit, unit) - _excess(load, limit, unit)
        spared = _excess(load[here], limit[here], unit[here]) - _excess(load[here] - weights, limit[here], unit[here])
        gains = spared[:, None] - added
        gains[np.arange(len(tasks)), here] = -np.inf
        if not gains.size or gains.max() <= _GAIN:
            break
        task, to = np.unravel_index(int(gains.argmax()), gains.shape)
        load[here[task]] -= weights[task]
        load[to] += weights[task]
        machine_of[tasks[task]] = to
    return machine_of


def _excess(load: Floats, limit: Floats, unit: Floats) -> Floats:
    """The load of machines beyond their limits, as parts of these."""
    return np.asarray(np.maximum((load - limit) / unit, 0.0).sum(axis=-1), np.float64)


def match_labels(problem: PlacementProblem, new: Ints, present: Present) -> Ints:
    """The same placement with its machines renamed among those that are alike, so that the least has to move."""
    machines = problem.machines
    number_of: dict[str, int] = {}
    looks = zip(machines.racks.tolist(), machines.capacities.tolist(), machines.shares.tolist(), strict=True)
    kinds = np.array([number_of.setdefault(repr(look), len(number_of)) for look in looks])
    might_stay = (present.machine_of != NOWHERE) & (kinds[new] == kinds[present.machine_of])
    ends = new[might_stay], present.machine_of[might_stay]
    prices = np.maximum(present.prices[might_stay], 1e-12)
    staying = sparse.csr_array(sparse.coo_array((prices, ends), shape=(machines.count, machines.count)))
    return _heaviest_matching(staying, kinds)[new]


def _heaviest_matching(weights: Matrix, kinds: Ints) -> Ints:
    """A column of its own kind for each row of a square matrix, so that the sum is the largest.

    Only what weighs something is stored, and only between rows and columns of one kind. Each row may also take a column
    of its own that weighs next to nothing; such rows then share the columns that are left.
    """
    size = len(kinds)
    if not weights.nnz:
        return np.arange(size)
    least = float(weights.data.min()) * _NEXT_TO_NOTHING
    padded = sparse.hstack([weights, sparse.diags_array(np.full(size, least))], format="csr")
    column = np.asarray(min_weight_full_bipartite_matching(padded, maximize=True)[1], np.int64)
    rows_left, columns_left = np.flatnonzero(column >= size), np.setdiff1d(np.arange(size), column)
    rows, columns = (rest[np.argsort(kinds[rest], kind="stable")] for rest in (rows_left, columns_left))
    column[rows] = columns
    return column


def _rows(problem: PlacementProblem) -> int:
    """The number of tasks whose moves to all machines are looked at together."""
    return max(1, _CELLS_A_BLOCK // problem.machines.count)


def climb_with_prices(
    problem: PlacementProblem, start: Ints, present: Present, limit: Floats, deadline: Deadline
) -> Ints:
    """A placement after single moves that gain more than they cost."""
    climb = _Climb(problem, start, present, limit)
    for _ in range(_MOST_PASSES):
        if deadline.has_passed() or not climb.sweep(deadline):
            break
    return climb.machine_of


class _Climb:
    """A placement that is changed task by task."""

    def __init__(self, problem: PlacementProblem, start: Ints, present: Present, limit: Floats) -> None:
        self.problem = problem
        self.machine_of = start.copy()
        self.present = present
        self.limit = limit
        self.load = loads(problem, start)
        self.moves = len(present.moved(start))

    def sweep(self, deadline: Deadline) -> bool:
        """Make moves that gain, the best first; whether there was one."""
        found = [self._best_gains(tasks) for tasks in self._blocks() if not deadline.has_passed()]
        gains = np.concatenate(found or [np.zeros(0)])
        changed = False
        for number, task in enumerate(np.argsort(-gains, kind="stable")[: int((gains > _GAIN).sum())].tolist()):
            if number % 256 == 0 and deadline.has_passed():
                break
            changed |= self._move(task)
        return changed

    def _blocks(self) -> Iterator[Ints]:
        count = self.problem.graph.tasks
        rows = _rows(self.problem)
        return (np.arange(first, min(first + rows, count)) for first in range(0, count, rows))

    def _worth(self, tasks: Ints) -> Floats:
        """The worth of each task on each machine: traffic that stays there, and the price that staying saves."""
        worth = pull(self.problem, self.machine_of, tasks).copy()
        home = self.present.machine_of[tasks]
        at_home = np.flatnonzero(home != NOWHERE)
        worth[at_home, home[at_home]] += self.present.prices[tasks[at_home]]
        return worth

    def _best_gains(self, tasks: Ints) -> Floats:
        worth = self._worth(tasks)
        return np.asarray(worth.max(axis=1) - worth[np.arange(len(tasks)), self.machine_of[tasks]])

    def _move(self, task: int) -> bool:
        """Move one task to the best machine with room, if it still gains."""
        here = int(self.machine_of[task])
        worth = self._worth(np.array([task]))[0]
        weight = self.problem.graph.weights[task]
        has_room = (self.load + weight <= self.limit).all(axis=1)
        has_room[here] = False
        home = int(self.present.machine_of[task])
        leaves_home = here == home
        if leaves_home and self.present.max_moves is not None and self.moves >= self.present.max_moves:
            return False
        to = int(np.where(has_room, worth, -np.inf).argmax())
        if not has_room[to] or worth[to] <= worth[here] + _GAIN:
            return False
        self.load[here] -= weight
        self.load[to] += weight
        self.machine_of[task] = to
        self.moves += int(leaves_home) - int(to == home)
        return True


def _is_too_much(present: Present, machine_of: Ints) -> bool:
    return present.max_moves is not None and len(present.moved(machine_of)) > present.max_moves


def _rank(problem: PlacementProblem, machine_of: Ints, present: Present, limit: Floats) -> tuple[bool, float, float]:
    """Those that keep the limit on moves first, by overload, then by cost and prices together."""
    moved = present.moved(machine_of)
    price = cost(problem, machine_of) + float(present.prices[moved].sum())
    return _is_too_much(present, machine_of), overload(loads(problem, machine_of), limit), price
