"""The cost and the evenness of a placement: the functions of section III-C of the paper, and related ones.

Every algorithm is judged by these, whatever it counted on its way.

Example:
    >>> from penstock.placement.problem import PlacementProblem, communication_graph, equal_machines
    >>> graph = communication_graph([1, 1, 1, 1], [0, 1, 2], [1, 2, 3], [10, 1, 10])
    >>> problem = PlacementProblem(graph=graph, machines=equal_machines(2))
    >>> halves = np.array([0, 0, 1, 1])
    >>> cost(problem, halves), imbalance(problem, halves), volume(problem, halves)
    (1.0, 1.0, 2.0)
"""

from __future__ import annotations

import numpy as np

from penstock.placement.problem import CommunicationGraph, Floats, Ints, PlacementProblem

# Sums of floating-point weights in another order differ in their last digits; a limit is not broken by that.
_ROUNDING = 1e-9


def cost(problem: PlacementProblem, machine_of: Ints) -> float:
    """The paper's cost(G, P): traffic between machines, counted once, that between racks times the rack factor."""
    machines = problem.machines
    between_machines = cut(problem.graph, machine_of)
    if not machines.has_racks:
        return between_machines
    between_racks = cut(problem.graph, machines.racks[machine_of])
    return between_machines + (machines.rack_factor - 1.0) * between_racks


def cut(graph: CommunicationGraph, group_of: Ints) -> float:
    """The traffic between groups of tasks (machines, racks), counted once."""
    total = 0.0
    for _, entries, sources in graph.blocks():
        apart = group_of[sources] != group_of[graph.adjacent[entries]]
        total += float(graph.traffic[entries] @ apart)
    return total / 2.0


def volume(problem: PlacementProblem, machine_of: Ints) -> float:
    """The total communication volume of METIS: each task's volume times the other machines that hold a neighbour."""
    graph, count = problem.graph, problem.machines.count
    total = 0.0
    for _, entries, sources in graph.blocks():
        places = machine_of[graph.adjacent[entries]]
        apart = places != machine_of[sources]
        reached = np.unique(sources[apart] * count + places[apart])
        total += float(graph.volumes[reached // count].sum())
    return total


def loads(problem: PlacementProblem, machine_of: Ints) -> Floats:
    """The load of each machine, one row a machine, one column a resource."""
    columns = problem.graph.weights.T
    count = problem.machines.count
    return np.stack([np.bincount(machine_of, weights=column, minlength=count) for column in columns], axis=1)


def fair_loads(problem: PlacementProblem) -> Floats:
    """The load of each machine if the load could be divided at will."""
    return np.asarray(problem.machines.shares * problem.graph.weights.sum(axis=0))


def imbalance(problem: PlacementProblem, machine_of: Ints) -> float:
    """The paper's loadImba(G, P), the largest over the resources; infinite where a machine without a share has load."""
    is_stray = (fair_loads(problem) == 0) & (loads(problem, machine_of) > 0)
    return np.inf if is_stray.any() else largest_ratio(problem, machine_of)


def largest_ratio(problem: PlacementProblem, machine_of: Ints) -> float:
    """The largest ratio of a machine's load to its share, machines without a share left out."""
    fair = fair_loads(problem)
    with np.errstate(over="ignore"):
        ratios = loads(problem, machine_of)[fair > 0] / fair[fair > 0]
    return float(ratios.max()) if ratios.size else 1.0


def limits(problem: PlacementProblem, bound: float) -> Floats:
    """The most that each machine may carry under a bound on the imbalance, with a tolerance for rounding."""
    capacities = problem.machines.capacities
    most = capacities if bound == np.inf else np.minimum(bound * fair_loads(problem), capacities)
    return np.asarray(most * (1.0 + _ROUNDING))


def overload(load: Floats, limit: Floats) -> float:
    """By how much the machines together exceed their limits, each resource in units of a machine's mean limit.

    Example:
        >>> overload(np.array([[12.0], [8.0]]), np.array([[10.0], [10.0]]))
        0.2
    """
    unit = limit.mean(axis=0)
    excess = np.maximum(load - limit, 0.0).sum(axis=0)
    return float((excess[unit > 0] / unit[unit > 0]).sum())


def is_within(problem: PlacementProblem, machine_of: Ints, bound: float) -> bool:
    """Whether a placement keeps every machine within its limits."""
    return bool((loads(problem, machine_of) <= limits(problem, bound)).all())
