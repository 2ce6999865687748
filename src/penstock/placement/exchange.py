"""Relief by exchange: bring overloaded machines within tight limits by swapping tasks.

Introduction:
    With a few heavy tasks on each machine no single move fits anywhere, and `relief.relieve` gives up. Exchanging a
    task of an overloaded machine for a lighter one elsewhere still works.

Formulation:
    Lower the overload (`measure.overload`) to nothing, at the least cost that the steps find.

Example:
    Machines that take 10 carry 6 + 5 and 4 + 5: no task fits on the other one; exchanging 5 for 4 (or 6 for 5) does it.

When it does not apply:
    A placement within its limits is returned as it is.

Algorithm:
    Take the most overloaded machine that can be helped. For each of its tasks and each task elsewhere, or none, compute
    how the exchange changes the overload and the cost. Make the one that costs least for what it relieves; repeat until
    nothing relieves. A step costs O(tasks of the machine x tasks); where that is too much, a random sample of the tasks
    elsewhere is used.

Preserves:
    The overload falls with every step.

Reference:
    Ours.
"""

from __future__ import annotations

import numpy as np

from penstock.base.deadline import Deadline
from penstock.placement.measure import loads
from penstock.placement.problem import Floats, Ints, PlacementProblem
from penstock.placement.pull import pull

_MOST_CELLS = 1 << 20
_CELLS_IN_ALL = 1 << 28
_NO_RELIEF = 1e-12


def relieve_by_exchange(
    problem: PlacementProblem, machine_of: Ints, limit: Floats, rng: np.random.Generator, deadline: Deadline
) -> Ints:
    """Exchange tasks until no machine is overloaded or no exchange relieves one.

    Example:
        >>> from penstock.placement.problem import communication_graph, equal_machines
        >>> graph = communication_graph([6, 5, 4, 5], [], [], [])
        >>> problem = PlacementProblem(graph=graph, machines=equal_machines(2))
        >>> start, limit = np.array([0, 0, 1, 1]), np.array([[10.0], [10.0]])
        >>> after = relieve_by_exchange(problem, start, limit, np.random.default_rng(1), Deadline.after(None))
        >>> loads(problem, after).ravel().tolist()
        [10.0, 10.0]
    """
    machine_of = machine_of.copy()
    unit = np.where(limit.mean(axis=0) > 0, limit.mean(axis=0), 1.0)
    for _ in range(_most_steps(problem)):
        load = loads(problem, machine_of)
        excess = (np.maximum(load - limit, 0.0) / unit).sum(axis=1)
        worst_first = np.argsort(-excess, kind="stable")[: np.count_nonzero(excess)].tolist()
        over = (load - limit) / unit
        relieved = any(_relieve_one(problem, machine_of, crowded, over, unit, rng) for crowded in worst_first)
        if not relieved or deadline.has_passed():
            break
    return machine_of


def _most_steps(problem: PlacementProblem) -> int:
    tasks = problem.graph.tasks
    cells_a_step = min(_MOST_CELLS, tasks * tasks // problem.machines.count + 1)
    return min(tasks, _CELLS_IN_ALL // cells_a_step)


def _relieve_one(
    problem: PlacementProblem, machine_of: Ints, crowded: int, over: Floats, unit: Floats, rng: np.random.Generator
) -> bool:
    found = _best_exchange(problem, machine_of, crowded, over, unit, rng)
    if found is None:
        return False
    task, partner, machine = found
    machine_of[task] = machine
    if partner is not None:
        machine_of[partner] = crowded
    return True


def _best_exchange(
    problem: PlacementProblem, machine_of: Ints, crowded: int, over: Floats, unit: Floats, rng: np.random.Generator
) -> tuple[int, int | None, int] | None:
    """The task to move away, the one that comes for it, if any, and the machine where the first one goes."""
    mine = np.flatnonzero(machine_of == crowded)
    others = _sample(np.flatnonzero(machine_of != crowded), max(1, _MOST_CELLS // len(mine)), rng)
    machines = np.delete(np.arange(problem.machines.count), crowded)
    # A partner of weight nothing on each other machine stands for a move without an exchange.
    homes = np.concatenate([machine_of[others], machines])
    light = np.concatenate([problem.graph.weights[others] / unit, np.zeros((len(machines), problem.graph.resources))])
    relief = _relief(problem.graph.weights[mine] / unit, light, over[crowded], over[homes])
    cost = _cost(problem, machine_of, crowded, mine, others, homes)
    useful = relief > _NO_RELIEF
    if not useful.any():
        return None
    price = np.where(useful, cost / np.where(useful, relief, 1.0), np.inf)
    row, column = divmod(int(price.argmin()), len(homes))
    partner = int(others[column]) if column < len(others) else None
    return int(mine[row]), partner, int(homes[column])


def _relief(heavy: Floats, light: Floats, over_here: Floats, over_there: Floats) -> Floats:
    """By how much each exchange lowers the overload of the two machines, all resources together."""
    relief = np.zeros((len(heavy), len(light)))
    for resource in range(heavy.shape[1]):
        shift = heavy[:, resource][:, None] - light[:, resource][None, :]
        here, there = over_here[resource], over_there[:, resource][None, :]
        relief += max(here, 0.0) - np.maximum(here - shift, 0.0)
        relief += np.maximum(there, 0.0) - np.maximum(there + shift, 0.0)
    return relief


def _cost(problem: PlacementProblem, machine_of: Ints, crowded: int, mine: Ints, others: Ints, homes: Ints) -> Floats:
    """By how much each exchange raises the cost; traffic between the two, which stays cut, is left aside."""
    leaving = pull(problem, machine_of, mine)
    coming = pull(problem, machine_of, others)
    away = leaving[:, [crowded]] - leaving[:, homes]
    hither = np.zeros(len(homes))
    hither[: len(others)] = coming[np.arange(len(others)), machine_of[others]] - coming[:, crowded]
    return np.asarray(away + hither[None, :])


def _sample(tasks: Ints, most: int, rng: np.random.Generator) -> Ints:
    return tasks if len(tasks) <= most else rng.choice(tasks, most, replace=False)
