"""Relief by moves: bring overloaded machines within their limits, many tasks at once.

Introduction:
    METIS aims at a balance of one weight and may miss it; with several weights, machines of many shapes or little play
    it does. This brings a placement within its limits before anything else is refined, for graphs of any size.

Formulation:
    Lower the overload (`measure.overload`) from a given placement, at the least cost that the steps find.

Example:
    A machine has too much CPU load and memory to spare, another too much memory load and CPU to spare: tasks that need
    CPU go one way and tasks that need memory the other.

When it does not apply:
    Where every single move adds as much overload as it takes away: then `exchange.relieve_by_exchange` goes on.

Algorithm:
    Repeat: for each task on an overloaded machine and each other machine compute how the move changes the overload of
    the two, all resources together, and the cost. A task's best move costs least for what it relieves. Of each
    overloaded machine take just enough of them, cheapest first; on each target until its room is full. If all
    together relieve nothing, because they were judged one by one, try the cheaper half of them.
    A round costs O(edges + tasks on overloaded machines x K x resources).

Preserves:
    The overload falls with every round.

Reference:
    Ours.
"""

from __future__ import annotations

import numpy as np

from penstock.base.deadline import Deadline
from penstock.placement.measure import loads, overload
from penstock.placement.moves import Moves, running_sums
from penstock.placement.problem import Floats, Ints, PlacementProblem
from penstock.placement.pull import pull

_CELLS_A_BLOCK = 1 << 22
_MOST_ROUNDS = 200
_NO_RELIEF = 1e-12


def relieve(problem: PlacementProblem, machine_of: Ints, limit: Floats, deadline: Deadline) -> Ints:
    """Move tasks away from overloaded machines until none is overloaded or no move relieves one.

    Example:
        >>> from penstock.placement.problem import communication_graph, equal_machines
        >>> graph = communication_graph([1, 1, 1, 1], [0, 1, 2], [1, 2, 3], [9, 1, 9])
        >>> problem = PlacementProblem(graph=graph, machines=equal_machines(2))
        >>> after = relieve(problem, np.array([0, 0, 0, 0]), np.array([[2.0], [2.0]]), Deadline.after(None))
        >>> loads(problem, after).ravel().tolist()
        [2.0, 2.0]
    """
    unit = np.where(limit.mean(axis=0) > 0, limit.mean(axis=0), 1.0)
    for _ in range(_MOST_ROUNDS):
        over = (loads(problem, machine_of) - limit) / unit
        if not (over > 0).any() or deadline.has_passed():
            break
        moves = _best_moves(problem, machine_of, over, unit)
        moves = moves.only(_just_enough(problem, machine_of, moves, over, unit))
        moves = moves.only(_that_fit(problem, moves, over, unit))
        after = _make_some(problem, machine_of, moves, limit)
        if after is None:
            break
        machine_of = after
    return machine_of.copy()


def _make_some(problem: PlacementProblem, machine_of: Ints, moves: Moves, limit: Floats) -> Ints | None:
    """Make the moves, or the best half of them, or of that, so that the overload falls."""
    before = overload(loads(problem, machine_of), limit)
    moves = moves.only(np.argsort(-moves.gains, kind="stable"))
    count = len(moves.tasks)
    while count:
        after = machine_of.copy()
        after[moves.tasks[:count]] = moves.to[:count]
        if overload(loads(problem, after), limit) < before - _NO_RELIEF:
            return after
        count //= 2
    return None


def _best_moves(problem: PlacementProblem, machine_of: Ints, over: Floats, unit: Floats) -> Moves:
    """Of each task on an overloaded machine the move that costs least for what it relieves, if one relieves."""
    crowded = np.asarray((over > 0).any(axis=1))
    tasks = np.flatnonzero(crowded[machine_of])
    rows = max(1, _CELLS_A_BLOCK // problem.machines.count)
    found = [_best_of_block(problem, machine_of, tasks[i : i + rows], over, unit) for i in range(0, len(tasks), rows)]
    return Moves(
        tasks=np.concatenate([m.tasks for m in found]),
        to=np.concatenate([m.to for m in found]),
        gains=np.concatenate([m.gains for m in found]),
    )


def _best_of_block(problem: PlacementProblem, machine_of: Ints, tasks: Ints, over: Floats, unit: Floats) -> Moves:
    pulls = pull(problem, machine_of, tasks)
    each, own = np.arange(len(tasks)), machine_of[tasks]
    relief = _relief(problem.graph.weights[tasks] / unit, over[own], over)
    relief[each, own] = 0.0
    relieves = relief > _NO_RELIEF
    gains = np.where(relieves, (pulls - pulls[each, own][:, None]) / np.where(relieves, relief, 1.0), -np.inf)
    to = gains.argmax(axis=1)
    found = Moves(tasks=tasks, to=to, gains=gains[each, to])
    return found.only(found.gains > -np.inf)


def _relief(weights: Floats, over_here: Floats, over: Floats) -> Floats:
    """By how much each move of a task to a machine lowers the overload, all resources together."""
    relief = np.zeros((len(weights), len(over)))
    for weight, here, there in zip(weights.T, over_here.T, over.T, strict=True):
        leaving = np.maximum(here, 0.0) - np.maximum(here - weight, 0.0)
        arriving = np.maximum(there[None, :] + weight[:, None], 0.0) - np.maximum(there, 0.0)[None, :]
        relief += leaving[:, None] - arriving
    return relief


def _just_enough(problem: PlacementProblem, machine_of: Ints, moves: Moves, over: Floats, unit: Floats) -> Ints:
    """Of each overloaded machine the best moves until it is overloaded no more."""
    own = machine_of[moves.tasks]
    order = np.lexsort((-moves.gains, own))
    weights = problem.graph.weights[moves.tasks[order]] / unit
    gone_before = running_sums(weights, own[order]) - weights
    return order[(gone_before < over[own[order]]).any(axis=1)]


def _that_fit(problem: PlacementProblem, moves: Moves, over: Floats, unit: Floats) -> Ints:
    """The best moves to each machine until it is full; the last one may overfill it, if it still relieves more."""
    order = np.lexsort((-moves.gains, moves.to))
    to = moves.to[order]
    weights = problem.graph.weights[moves.tasks[order]] / unit
    come_before = running_sums(weights, to) - weights
    room = np.where(over < 0, -over, np.inf)
    return order[(come_before < room[to]).all(axis=1)]
