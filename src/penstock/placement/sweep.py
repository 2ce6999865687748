"""Refinement by sweeps: many moves at once, for graphs of any size.

Introduction:
    Improves a placement with whole-array operations: no Python step for each task. One sweep moves every task that
    another machine draws more strongly than its own, as far as neighbours and limits allow.

Formulation:
    Minimize the cost (`measure.cost`) from a given placement, subject to `limits`.

Example:
    Tasks 0-1-2 in a row, traffic 5 and 1, tasks 0 and 2 on one machine and 1 on the other: task 0 follows task 1.

When it does not apply:
    A local optimum in which every single move costs or does not fit stays as it is: then `climb` goes on.

Algorithm:
    Repeat: compute the pull of all machines on the tasks at the boundary; a task's best move is to the machine with the
    strongest pull; keep the moves that gain, of each pair of neighbours only the one that gains more (so that gains
    add up exactly), and on each machine, by falling gain, those that fit into its room. Make them all.
    A sweep costs O(edges at the boundary + boundary tasks x K), a handful of sweeps suffices.

Preserves:
    The cost falls with every sweep, and no limit that held is broken.

Reference:
    Ours. METIS refines greedily one task after another; choosing an independent set of moves is what makes the same
    idea work on arrays.
"""

from __future__ import annotations

import numpy as np

from penstock.base.deadline import Deadline
from penstock.placement.measure import loads
from penstock.placement.moves import Moves, running_sums
from penstock.placement.problem import Floats, Ints, PlacementProblem
from penstock.placement.pull import entries_of, pull

_CELLS_A_BLOCK = 1 << 22
_MOST_SWEEPS = 30


def improve(problem: PlacementProblem, machine_of: Ints, limit: Floats, deadline: Deadline) -> Ints:
    """Sweep until no single move gains.

    Example:
        >>> from penstock.placement.problem import communication_graph, equal_machines
        >>> graph = communication_graph([1, 1, 1], [0, 1], [1, 2], [5, 1])
        >>> problem = PlacementProblem(graph=graph, machines=equal_machines(2))
        >>> improve(problem, np.array([0, 1, 0]), np.array([[2.0], [2.0]]), Deadline.after(None)).tolist()
        [1, 1, 0]
    """
    machine_of = machine_of.copy()
    for _ in range(_MOST_SWEEPS):
        if deadline.has_passed():
            break
        room = limit - loads(problem, machine_of)
        moves = _best_moves(problem, machine_of, boundary(problem, machine_of), room, deadline)
        moves = _independent(problem, moves)
        moves = moves.only(_that_fit(problem, moves, room))
        if not len(moves.tasks):
            break
        machine_of[moves.tasks] = moves.to
    return machine_of


def boundary(problem: PlacementProblem, machine_of: Ints) -> Ints:
    """The tasks that have a neighbour on another machine."""
    graph = problem.graph
    outside = np.zeros(graph.tasks, np.bool_)
    for _, entries, sources in graph.blocks():
        outside[sources[machine_of[sources] != machine_of[graph.adjacent[entries]]]] = True
    return np.flatnonzero(outside)


def _best_moves(problem: PlacementProblem, machine_of: Ints, tasks: Ints, room: Floats, deadline: Deadline) -> Moves:
    """The best move of each task to a machine with room for it, if it gains; of as many tasks as there is time for."""
    rows = max(1, _CELLS_A_BLOCK // problem.machines.count)
    blocks = (tasks[i : i + rows] for i in range(0, len(tasks), rows))
    found = [_best_of_block(problem, machine_of, block, room) for block in blocks if not deadline.has_passed()]
    if not found:
        return Moves(tasks=tasks, to=tasks, gains=np.zeros(0))
    moves = Moves(
        tasks=np.concatenate([m.tasks for m in found]),
        to=np.concatenate([m.to for m in found]),
        gains=np.concatenate([m.gains for m in found]),
    )
    return moves.only(moves.gains > 0.0)


def _best_of_block(problem: PlacementProblem, machine_of: Ints, tasks: Ints, room: Floats) -> Moves:
    pulls = pull(problem, machine_of, tasks)
    each = np.arange(len(tasks))
    own = machine_of[tasks]
    stay = pulls[each, own]
    for column, free in zip(problem.graph.weights.T, room.T, strict=True):
        pulls[column[tasks][:, None] > free[None, :]] = -np.inf
    pulls[each, own] = -np.inf
    to = pulls.argmax(axis=1)
    return Moves(tasks=tasks, to=to, gains=pulls[each, to] - stay)


def _independent(problem: PlacementProblem, moves: Moves) -> Moves:
    """Of each pair of neighbours that want to move, only the one that gains more."""
    rank = np.full(problem.graph.tasks, -1, np.int64)
    rank[moves.tasks[np.argsort(moves.gains, kind="stable")]] = np.arange(len(moves.tasks))
    rows, entries = entries_of(problem.graph, moves.tasks)
    beaten = rank[problem.graph.adjacent[entries]] > rank[moves.tasks[rows]]
    loses = np.zeros(len(moves.tasks), np.bool_)
    loses[rows[beaten]] = True
    return moves.only(~loses)


def _that_fit(problem: PlacementProblem, moves: Moves, room: Floats) -> Ints:
    """The moves that fit into the room of the machines they go to, best first."""
    order = np.lexsort((-moves.gains, moves.to))
    arriving = running_sums(problem.graph.weights[moves.tasks[order]], moves.to[order])
    return order[(arriving <= room[moves.to[order]]).all(axis=1)]
