"""Refinement by sweeps: many moves at once, for graphs of any size.

Introduction:
    Improves a placement with whole-array operations: no Python step for each task. One sweep moves every task that
    another machine draws more strongly than its own, as far as neighbours and limits allow.

Formulation:
    Minimize the cost (`measure.cost`) from a given placement, subject to `limits`. A first phase (`relieve`) brings
    overloaded machines within their limits at the least cost it finds.

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
    `improve` lowers the cost at every sweep and never breaks a limit that held. `relieve` never adds to the overload.

Reference:
    Ours. METIS refines greedily one task after another; choosing an independent set of moves is what makes the same
    idea work on arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.placement.deadline import Deadline
from penstock.placement.measure import loads, overload
from penstock.placement.problem import Flags, Floats, Ints, PlacementProblem
from penstock.placement.pull import entries_of, pull

_CELLS_A_BLOCK = 1 << 23
_MOST_SWEEPS = 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Moves:
    """Moves that are thought of: each task's machine to go to and what the move gains."""

    tasks: Ints
    to: Ints
    gains: Floats

    def only(self, which: Flags | Ints) -> _Moves:
        return _Moves(tasks=self.tasks[which], to=self.to[which], gains=self.gains[which])


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
        moves = _best_moves(problem, machine_of, boundary(problem, machine_of), room, least_gain=0.0)
        moves = _independent(problem, moves)
        moves = moves.only(_that_fit(problem, moves, room))
        if not len(moves.tasks):
            break
        machine_of[moves.tasks] = moves.to
    return machine_of


def relieve(problem: PlacementProblem, machine_of: Ints, limit: Floats, deadline: Deadline) -> Ints:
    """Move tasks away from overloaded machines until none is overloaded or nothing more can be moved.

    Example:
        >>> from penstock.placement.problem import communication_graph, equal_machines
        >>> graph = communication_graph([1, 1, 1, 1], [0, 1, 2], [1, 2, 3], [9, 1, 9])
        >>> problem = PlacementProblem(graph=graph, machines=equal_machines(2))
        >>> relieve(problem, np.array([0, 0, 0, 0]), np.array([[2.0], [2.0]]), Deadline.after(None)).tolist()
        [1, 0, 0, 1]
    """
    machine_of = machine_of.copy()
    for _ in range(_MOST_SWEEPS):
        load = loads(problem, machine_of)
        crowded = np.asarray((load > limit).any(axis=1))
        if not crowded.any() or deadline.has_passed():
            break
        candidates = np.flatnonzero(crowded[machine_of])
        room = np.where(crowded[:, None], 0.0, limit - load)
        moves = _best_moves(problem, machine_of, candidates, room, least_gain=-np.inf)
        moves = moves.only(_that_relieve(problem, machine_of, moves, load - limit))
        moves = moves.only(_that_fit(problem, moves, room))
        after = machine_of.copy()
        after[moves.tasks] = moves.to
        if overload(loads(problem, after), limit) >= overload(load, limit):
            break
        machine_of = after
    return machine_of


def boundary(problem: PlacementProblem, machine_of: Ints) -> Ints:
    """The tasks that have a neighbour on another machine."""
    graph = problem.graph
    outside = np.zeros(graph.tasks, np.bool_)
    for _, entries, sources in graph.blocks():
        outside[sources[machine_of[sources] != machine_of[graph.adjacent[entries]]]] = True
    return np.flatnonzero(outside)


def _best_moves(problem: PlacementProblem, machine_of: Ints, tasks: Ints, room: Floats, *, least_gain: float) -> _Moves:
    """The best move of each task to a machine with room for it, if it gains more than `least_gain`."""
    rows = max(1, _CELLS_A_BLOCK // problem.machines.count)
    found = [_best_of_block(problem, machine_of, tasks[i : i + rows], room) for i in range(0, len(tasks), rows)]
    if not found:
        return _Moves(tasks=tasks, to=tasks, gains=np.zeros(0))
    moves = _Moves(
        tasks=np.concatenate([m.tasks for m in found]),
        to=np.concatenate([m.to for m in found]),
        gains=np.concatenate([m.gains for m in found]),
    )
    return moves.only(moves.gains > least_gain)


def _best_of_block(problem: PlacementProblem, machine_of: Ints, tasks: Ints, room: Floats) -> _Moves:
    pulls = pull(problem, machine_of, tasks)
    each = np.arange(len(tasks))
    own = machine_of[tasks]
    stay = pulls[each, own]
    for column, free in zip(problem.graph.weights.T, room.T, strict=True):
        pulls[column[tasks][:, None] > free[None, :]] = -np.inf
    pulls[each, own] = -np.inf
    to = pulls.argmax(axis=1)
    return _Moves(tasks=tasks, to=to, gains=pulls[each, to] - stay)


def _independent(problem: PlacementProblem, moves: _Moves) -> _Moves:
    """Of each pair of neighbours that want to move, only the one that gains more."""
    rank = np.full(problem.graph.tasks, -1, np.int64)
    rank[moves.tasks[np.argsort(moves.gains, kind="stable")]] = np.arange(len(moves.tasks))
    rows, entries = entries_of(problem.graph, moves.tasks)
    beaten = rank[problem.graph.adjacent[entries]] > rank[moves.tasks[rows]]
    loses = np.zeros(len(moves.tasks), np.bool_)
    loses[rows[beaten]] = True
    return moves.only(~loses)


def _that_fit(problem: PlacementProblem, moves: _Moves, room: Floats) -> Ints:
    """The moves that fit into the room of the machines they go to, best first."""
    order = np.lexsort((-moves.gains, moves.to))
    arriving = _running_sums(problem.graph.weights[moves.tasks[order]], moves.to[order])
    return order[(arriving <= room[moves.to[order]]).all(axis=1)]


def _that_relieve(problem: PlacementProblem, machine_of: Ints, moves: _Moves, excess: Floats) -> Ints:
    """Of each overloaded machine the moves that cost least for what they relieve, just enough of them."""
    weights = problem.graph.weights[moves.tasks]
    own = machine_of[moves.tasks]
    relief = (weights * (excess[own] > 0)).sum(axis=1)
    useful = np.flatnonzero(relief > 0)
    order = useful[np.lexsort((-moves.gains[useful] / relief[useful], own[useful]))]
    gone_before = _running_sums(weights[order], own[order]) - weights[order]
    return order[(gone_before < excess[own[order]]).any(axis=1)]


def _running_sums(rows: Floats, groups: Ints) -> Floats:
    """Sums from the start of each group on; the groups stand one after another."""
    sums = np.cumsum(rows, axis=0)
    if not len(rows):
        return sums
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    lengths = np.diff(np.r_[starts, len(rows)])
    return np.asarray(sums - np.repeat((sums - rows)[starts], lengths, axis=0))
