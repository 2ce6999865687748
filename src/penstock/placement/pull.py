"""How strongly each machine draws a task: the gain of every possible move at once.

`pull[v, p]` is what task `v` sends to machine `p`, plus, where there are racks, `rack_factor - 1` times what it sends
to the rack of `p`. Moving `v` from `a` to `b` while all others stay lowers the cost by exactly
`pull[v, b] - pull[v, a]`: the refinements are built on that difference.

Example:
    >>> from penstock.placement.problem import PlacementProblem, communication_graph, equal_machines
    >>> graph = communication_graph([1, 1, 1, 1], [0, 0, 0], [1, 2, 3], [5, 2, 1])
    >>> problem = PlacementProblem(graph=graph, machines=equal_machines(2))
    >>> pull(problem, np.array([0, 1, 1, 0]), np.array([0])).tolist()
    [[1.0, 7.0]]
"""

from __future__ import annotations

import numpy as np

from penstock.placement.problem import CommunicationGraph, Floats, Ints, Machines, PlacementProblem


def pull(problem: PlacementProblem, machine_of: Ints, tasks: Ints) -> Floats:
    """The pull of all machines on some tasks, one row a task."""
    graph, machines = problem.graph, problem.machines
    rows, entries = entries_of(graph, tasks)
    there, traffic = machine_of[graph.adjacent[entries]], graph.traffic[entries]
    pulls = _sums(rows, there, traffic, (len(tasks), machines.count))
    if machines.has_racks:
        to_rack = _sums(rows, machines.racks[there], traffic, (len(tasks), len(machines.rack_ids)))
        pulls += (machines.rack_factor - 1.0) * to_rack[:, machines.racks]
    return pulls


def nearness(machines: Machines, some: Ints) -> Floats:
    """The pull of one machine for a unit of traffic to another, for each pair of some machines: a square matrix."""
    near = np.eye(len(some))
    if machines.has_racks:
        racks = machines.racks[some]
        near += (machines.rack_factor - 1.0) * (racks[:, None] == racks[None, :])
    return near


def entries_of(graph: CommunicationGraph, tasks: Ints) -> tuple[Ints, Ints]:
    """The positions in `graph.adjacent` of some tasks' neighbours, and for each the position of its task in `tasks`."""
    degrees = graph.starts[tasks + 1] - graph.starts[tasks]
    rows = np.repeat(np.arange(len(tasks)), degrees)
    before = np.cumsum(degrees) - degrees
    return rows, np.arange(len(rows)) - np.repeat(before - graph.starts[tasks], degrees)


def _sums(rows: Ints, columns: Ints, weights: Floats, shape: tuple[int, int]) -> Floats:
    flat = np.bincount(rows * shape[1] + columns, weights=weights, minlength=shape[0] * shape[1])
    return np.asarray(flat, np.float64).reshape(shape)
