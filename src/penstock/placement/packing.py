"""Which limits can be kept at all: packing by weight alone, the traffic left aside.

Introduction:
    A limit on imbalance may be out of reach (four equal tasks on three machines), and capacities may not hold the
    tasks. Refinement needs limits that can be kept, and a user needs to hear that there is no solution.

Formulation:
    Minimize the imbalance subject to the capacities. `attainable_bound` returns the paper's I where it can be reached,
    the smallest imbalance found where it cannot, and raises `Infeasible` where the capacities cannot be kept.

Example:
    Four tasks of weight 1 on three machines: some machine carries two, so the bound is 1.5 and not 1.03.

When it does not apply:
    Light tasks always pack: where no task weighs more than the play that the limit leaves, and nothing has a hard
    capacity, the limit is taken as it is.

Algorithm:
    Necessary conditions first (each task fits some machine, the sum fits the sum). Then longest processing time first:
    tasks by falling weight, each to the machine that stays emptiest, O(tasks x K). If that misses the limit and the
    problem is small, an integer program (HiGHS) decides, or does its best in a bounded number of
    steps.

Preserves:
    Nothing is placed here; the packing is a start that the algorithms may use.

Reference:
    Graham, 1969, for the heuristic. The paper takes for granted that its limit can be kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.base.diagnostics import Infeasible
from penstock.base.integer_program import IntegerProgram
from penstock.placement.measure import fair_loads, is_within, largest_ratio, limits, loads
from penstock.placement.problem import Floats, Ints, PlacementProblem

_NEXT_TO_NOTHING = 1e-100
_LEAST_UNIT = 1e-6
_EXACT_CELLS = 600
# The nodes bound the work in the same way on every machine; the seconds are for the rare hard node.
_EXACT_NODES, _EXACT_SECONDS, _EXACT_GAP = 500, 5.0, 0.005


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Packing:
    """An imbalance that some placement keeps.

    Attributes:
        bound: The imbalance that the placement will be held to.
        machine_of: A placement that keeps it, where one had to be made.
    """

    bound: float
    machine_of: Ints | None = None


def attainable_bound(problem: PlacementProblem) -> Packing:
    """The limit on imbalance that can be kept, the problem's own wherever possible.

    Raises:
        Infeasible: The capacities cannot hold the tasks, or no way to keep them was found.

    Example:
        >>> from penstock.placement.problem import communication_graph, equal_machines
        >>> graph = communication_graph([1, 1, 1, 1], [], [], [])
        >>> attainable_bound(PlacementProblem(graph=graph, machines=equal_machines(3))).bound
        1.5
    """
    check_capacities(problem)
    if _is_light(problem):
        return Packing(bound=problem.imbalance)
    packed = pack_longest_first(problem)
    if is_within(problem, packed, problem.imbalance):
        return Packing(bound=problem.imbalance, machine_of=packed)
    packed = _pack_exactly(problem, packed)
    if not is_within(problem, packed, np.inf):
        raise Infeasible(
            f"no placement was found that keeps every machine within its capacity; {_worst(problem, packed)}"
        )
    return Packing(bound=max(problem.imbalance, largest_ratio(problem, packed)), machine_of=packed)


def check_capacities(problem: PlacementProblem) -> None:
    """Refuse a problem whose capacities cannot hold its tasks, whatever the placement.

    Raises:
        Infeasible: A task is larger than every machine, or all tasks together than all machines.
    """
    graph, capacities = problem.graph, problem.machines.capacities
    if not np.isfinite(capacities).any():
        return
    total, room = graph.weights.sum(axis=0), capacities.sum(axis=0)
    for resource in np.flatnonzero(total > room * (1 + 1e-9)):
        raise Infeasible(
            f"the tasks need {total[resource]:g} of resource {resource} and all machines have {room[resource]:g}",
            conflicts=[f"resource {resource}"],
        )
    shapes, first = np.unique(graph.weights, axis=0, return_index=True)
    for weights, task in zip(shapes, first.tolist(), strict=True):
        if not (weights <= capacities).all(axis=1).any():
            raise Infeasible(
                f"task `{graph.task_id(task)}` of weight {_numbers(weights)} is larger than every machine; "
                f"the largest has {_numbers(capacities[capacities.sum(axis=1).argmax()])}",
                conflicts=[graph.task_id(task)],
            )


def pack_longest_first(problem: PlacementProblem) -> Ints:
    """Place tasks by falling weight, each where the fullest resource stays emptiest.

    Example:
        >>> from penstock.placement.problem import communication_graph, equal_machines
        >>> graph = communication_graph([3, 1, 2, 2], [], [], [])
        >>> pack_longest_first(PlacementProblem(graph=graph, machines=equal_machines(2))).tolist()
        [0, 0, 1, 1]
    """
    weights = problem.graph.weights
    total = np.where(weights.sum(axis=0) > 0, weights.sum(axis=0), 1.0)
    # A machine without room is one with next to none: ratios to it are large, and still numbers.
    unit = np.maximum(np.minimum(fair_loads(problem), problem.machines.capacities), _NEXT_TO_NOTHING * total)
    order = np.argsort(-(weights / total).max(axis=1), kind="stable")
    load = np.zeros_like(unit)
    machine_of = np.zeros(problem.graph.tasks, np.int64)
    for task in order.tolist():
        machine = int(((load + weights[task]) / unit).max(axis=1).argmin())
        load[machine] += weights[task]
        machine_of[task] = machine
    return machine_of


def _is_light(problem: PlacementProblem) -> bool:
    if np.isfinite(problem.machines.capacities).any() or problem.graph.resources > 1:
        return False
    play = (problem.imbalance - 1.0) * fair_loads(problem).min()
    return bool(problem.graph.weights.max() <= play)


def _pack_exactly(problem: PlacementProblem, packed: Ints) -> Ints:
    """The packing of least imbalance within the capacities, by integer programming, where the problem is small."""
    tasks, count = problem.graph.tasks, problem.machines.count
    if tasks * count > _EXACT_CELLS:
        return packed
    program = IntegerProgram()
    is_on = np.array(program.binaries(tasks * count)).reshape(tasks, count).tolist()
    worst = program.column(lower=problem.imbalance, cost=1.0)
    program.rows((dict.fromkeys(machines, 1.0) for machines in is_on), least=1.0, most=1.0)
    fair, room = fair_loads(problem), limits(problem, np.inf)
    for resource, weights in enumerate(problem.graph.weights.T.tolist()):
        least_unit = _LEAST_UNIT * (sum(weights) or 1.0)
        for machine in range(count):
            share, most = float(fair[machine, resource]), float(room[machine, resource])
            load = {is_on[task][machine]: weight for task, weight in enumerate(weights)}
            # Each row in units of what the load is held to, because the solver's tolerances have none.
            program.row(_in_units(load | {worst: -share}, max(share, least_unit)), most=0.0)
            if most < np.inf:
                unit = max(most, least_unit)
                program.row(_in_units(load, unit), most=most / unit)
    values = program.solve(seconds=_EXACT_SECONDS, nodes=_EXACT_NODES, gap=_EXACT_GAP).values
    if values is None:
        return packed
    exact = values[:worst].reshape(tasks, count).argmax(axis=1).astype(np.int64)
    return _better(problem, exact, packed)


def _in_units(terms: dict[int, float], unit: float) -> dict[int, float]:
    return {column: factor / unit for column, factor in terms.items()}


def _better(problem: PlacementProblem, one: Ints, other: Ints) -> Ints:
    def badness(machine_of: Ints) -> tuple[bool, float]:
        return not is_within(problem, machine_of, np.inf), largest_ratio(problem, machine_of)

    return min(one, other, key=badness)


def _worst(problem: PlacementProblem, packed: Ints) -> str:
    excess = loads(problem, packed) - problem.machines.capacities
    machine, resource = np.unravel_index(int(excess.argmax()), excess.shape)
    return (
        f"packed as evenly as we can, machine `{problem.machines.ids[machine]}` would carry "
        f"{loads(problem, packed)[machine, resource]:g} of resource {resource} and has "
        f"{problem.machines.capacities[machine, resource]:g}"
    )


def _numbers(values: Floats) -> str:
    return ", ".join(f"{value:g}" for value in values)
