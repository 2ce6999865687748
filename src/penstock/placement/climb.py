"""Refinement by hill climbing: k-way Fiduccia-Mattheyses with ejection chains.

Introduction:
    Goes on where `sweep` stops. It makes the best move even if that move costs, or overloads a machine for a moment,
    and keeps the best placement it came by: that is how swaps, rotations and longer chains are found, and with a tight
    limit and a handful of tasks on each machine nothing else than a swap ever fits.

Formulation:
    Minimize (overload, cost) in this order from a given placement (`measure.overload`, `measure.cost`). A placement
    within its limits therefore stays within them.

Example:
    Two machines that take two tasks each; 0 and 3 on one, 1 and 2 on the other; traffic 0-1 and 2-3. Every single move
    overloads a machine. Moving 0 over to 1 does; from there the overloaded machine gives 2 to 3, and nothing is cut.

When it does not apply:
    A placement that cuts nothing and overloads nothing is returned as it is.

Algorithm:
    A pass works among some machines, all other tasks standing still. It repeats: if a machine is overloaded, take the
    best move out of one that is, otherwise the best move of all; a task moves once in a pass; a move may overload its
    target by the weight of the heaviest task. After `patience` moves without a new best, go back to the best. Small
    problems are worked on among all machines at once, large ones twice among each machine and those it sends most to.
    A move costs O(rows x machines among) array operations, rows being the tasks on those machines.

Preserves:
    The result is never worse than the start, by (overload, cost).

Reference:
    Fiduccia and Mattheyses, DAC 1982; Karypis and Kumar, JPDC 1998, for the k-way form. The ejection chain through an
    overloaded machine and working among groups of machines are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from penstock.base.deadline import Deadline
from penstock.placement.measure import loads, overload
from penstock.placement.problem import Flags, Floats, Ints, Matrix, PlacementProblem
from penstock.placement.pull import nearness, pull

_CELLS_AMONG = 1 << 17
_PATIENCE = 120
_MOST_ROUNDS, _MOST_ROUNDS_IN_GROUPS = 20, 2
_NO_GAIN = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    row: int
    source: int
    target: int


def climb(
    problem: PlacementProblem, machine_of: Ints, limit: Floats, rng: np.random.Generator, deadline: Deadline
) -> Ints:
    """Climb until a round over all machines finds nothing better.

    Example:
        >>> from penstock.placement.problem import communication_graph, equal_machines
        >>> graph = communication_graph([1, 1, 1, 1], [0, 2], [1, 3], [5, 5])
        >>> problem = PlacementProblem(graph=graph, machines=equal_machines(2))
        >>> start, limit = np.array([0, 1, 1, 0]), np.array([[2.0], [2.0]])
        >>> after = climb(problem, start, limit, np.random.default_rng(1), Deadline.after(None))
        >>> bool(after[0] == after[1] != after[2] == after[3])
        True
    """
    machine_of = machine_of.copy()
    for _ in range(_MOST_ROUNDS if is_small(problem) else _MOST_ROUNDS_IN_GROUPS):
        better = False
        for among in _groups(problem, machine_of, rng):
            if deadline.has_passed():
                return machine_of
            better |= _Pass(problem, machine_of, limit, among, rng).run(deadline)
        if not better:
            break
    return machine_of


def _groups(problem: PlacementProblem, machine_of: Ints, rng: np.random.Generator) -> list[Ints]:
    """The groups of machines to work among, each small enough to be handled as one dense block."""
    graph, count = problem.graph, problem.machines.count
    if is_small(problem):
        return [np.arange(count)]
    size = max(2, int(np.sqrt(_CELLS_AMONG * count / graph.tasks)))
    between = _traffic_between(problem, machine_of)
    groups = [_with_partners(between, machine, size - 1) for machine in rng.permutation(count)]
    return [group for group in groups if len(group) > 1]


def is_small(problem: PlacementProblem) -> bool:
    """Whether a climb works among all machines at once and so takes little time."""
    return problem.graph.tasks * problem.machines.count <= _CELLS_AMONG


def _traffic_between(problem: PlacementProblem, machine_of: Ints) -> Matrix:
    """The traffic between each two machines."""
    graph, count = problem.graph, problem.machines.count
    between = sparse.csr_array((count, count), dtype=np.float64)
    for _, entries, sources in graph.blocks():
        one, other = machine_of[sources], machine_of[graph.adjacent[entries]]
        apart = one != other
        block = sparse.coo_array((graph.traffic[entries][apart], (one[apart], other[apart])), shape=(count, count))
        between = sparse.csr_array(between + block.tocsr())
    return between


def _with_partners(between: Matrix, machine: int, partners: int) -> Ints:
    row = slice(between.indptr[machine], between.indptr[machine + 1])
    heaviest = np.argsort(-between.data[row], kind="stable")[:partners]
    return np.sort(np.append(between.indices[row][heaviest].astype(np.int64), machine))


class _Pass:
    """One pass of the algorithm among some machines; writes the best placement it finds into `machine_of`."""

    def __init__(
        self, problem: PlacementProblem, machine_of: Ints, limit: Floats, among: Ints, rng: np.random.Generator
    ) -> None:
        column_of = np.full(problem.machines.count, -1, np.int64)
        column_of[among] = np.arange(len(among))
        # In random order, so that of several best moves another one is tried in each pass.
        self.rows = rng.permutation(np.flatnonzero(column_of[machine_of] >= 0))
        self.machine_of = machine_of
        self.among = among
        self.place = column_of[machine_of[self.rows]]
        self.weights = problem.graph.weights[self.rows]
        self.limit = limit[among]
        self.load = loads(problem, machine_of)[among]
        self.pulls = pull(problem, machine_of, self.rows)[:, among]
        self.near = nearness(problem.machines, among)
        self.links = sparse.csr_array(problem.graph.matrix()[self.rows][:, self.rows])
        self.slack = self.weights.max(axis=0, initial=0.0)
        self.is_free = np.ones(len(self.rows), np.bool_)
        self.each = np.arange(len(self.rows))

    def run(self, deadline: Deadline) -> bool:
        """Make moves, go back to the best placement, and say whether it is better than the first."""
        moves: list[_Move] = []
        gained, excess = 0.0, overload(self.load, self.limit)
        best_gained, best_excess, best_length = 0.0, excess, 0
        while len(moves) - best_length < _PATIENCE and not deadline.has_passed():
            found = self._best_move()
            if found is None:
                break
            move, gain = found
            self._make(move)
            moves.append(move)
            gained, excess = gained + gain, overload(self.load, self.limit)
            if (excess, -gained) < (best_excess, -best_gained - _NO_GAIN * abs(gained)):
                best_gained, best_excess, best_length = gained, excess, len(moves)
        for move in moves[:best_length]:
            self.machine_of[self.rows[move.row]] = self.among[move.target]
        return best_length > 0

    def _best_move(self) -> tuple[_Move, float] | None:
        rows = np.flatnonzero(self.is_free & self._may_leave())
        if not len(rows):
            return None
        own = self.place[rows]
        gains = self.pulls[rows] - self.pulls[rows, own][:, None]
        gains[~self._may_enter(rows)] = -np.inf
        gains[np.arange(len(rows)), own] = -np.inf
        row, target = divmod(int(gains.argmax()), len(self.among))
        gain = float(gains[row, target])
        if gain == -np.inf:
            return None
        return _Move(row=int(rows[row]), source=int(own[row]), target=target), gain

    def _may_leave(self) -> Flags:
        crowded = np.asarray((self.load > self.limit).any(axis=1))
        return crowded[self.place] if crowded.any() else np.ones(len(self.rows), np.bool_)

    def _may_enter(self, rows: Ints) -> Flags:
        room = self.limit + self.slack - self.load
        enters = np.ones((len(rows), len(self.among)), np.bool_)
        for column, free in zip(self.weights[rows].T, room.T, strict=True):
            enters &= column[:, None] <= free[None, :]
        return enters

    def _make(self, move: _Move) -> None:
        weight = self.weights[move.row]
        self.load[move.source] -= weight
        self.load[move.target] += weight
        self.place[move.row] = move.target
        self.is_free[move.row] = False
        links = slice(self.links.indptr[move.row], self.links.indptr[move.row + 1])
        change = self.near[move.target] - self.near[move.source]
        self.pulls[self.links.indices[links]] += self.links.data[links][:, None] * change[None, :]
