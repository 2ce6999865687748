"""Refinement for the communication volume: steepest descent.

Introduction:
    METIS's other objective counts, for each task, the other machines that hold a neighbour of it, times the task's
    volume: the right measure where a task sends the same tuple once to each machine, however many tasks there want it.

Formulation:
    Minimize `measure.volume` from a given placement, subject to `limits`.

Example:
    Task 0 sends to 1 and 2, each alone on another machine: volume 4. Bringing 1 over to 2 makes it 2.

When it does not apply:
    Graphs with more than some millions of cells (edges x machines) are returned as they are: a step looks at all cells.

Algorithm:
    needs[u, p] counts the neighbours of u on machine p. Moving v from a to b frees each neighbour u with
    needs[u, a] = 1 from sending to a, makes each with needs[u, b] = 0 send to b, and changes what v itself sends. All
    gains at once are two products of the adjacency matrix with a dense matrix. Make the best move that fits; repeat
    while one gains. A step costs O(edges x K).

Preserves:
    The volume falls with every step and no limit that held is broken.

Reference:
    Ours; METIS 5.1.0 manual, section 5.7, for the objective (METIS_OBJTYPE_VOL).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from penstock.base.deadline import Deadline
from penstock.placement.measure import loads
from penstock.placement.problem import Floats, Ints, Matrix, PlacementProblem

_MOST_CELLS = 4_000_000


def lower_volume(problem: PlacementProblem, machine_of: Ints, limit: Floats, deadline: Deadline) -> Ints:
    """Move one task at a time, each time the one that lowers the volume most.

    Example:
        >>> from penstock.placement.problem import communication_graph, equal_machines
        >>> graph = communication_graph([1, 1, 1], [0, 0], [1, 2], [5, 5])
        >>> problem = PlacementProblem(graph=graph, machines=equal_machines(3))
        >>> lower_volume(problem, np.array([0, 1, 2]), np.full((3, 1), 2.0), Deadline.after(None)).tolist()
        [1, 1, 2]
    """
    graph, count = problem.graph, problem.machines.count
    machine_of = machine_of.copy()
    if len(graph.adjacent) * count > _MOST_CELLS:
        return machine_of
    ones: Matrix = sparse.csr_array(
        (np.ones(len(graph.adjacent)), graph.adjacent, graph.starts), shape=(graph.tasks, graph.tasks)
    )
    for _ in range(graph.tasks):
        if deadline.has_passed():
            break
        gains = _gains(problem, ones, machine_of)
        room = limit - loads(problem, machine_of)
        for column, free in zip(graph.weights.T, room.T, strict=True):
            gains[column[:, None] > free[None, :]] = -np.inf
        task, machine = divmod(int(gains.argmax()), count)
        if gains[task, machine] <= 0:
            break
        machine_of[task] = machine
    return machine_of


def _gains(problem: PlacementProblem, ones: Matrix, machine_of: Ints) -> Floats:
    """By how much each move of one task to one machine lowers the volume."""
    each, volumes = np.arange(problem.graph.tasks), problem.graph.volumes[:, None]
    here = np.zeros((problem.graph.tasks, problem.machines.count))
    here[each, machine_of] = 1.0
    needs = np.asarray(ones @ here)
    elsewhere = 1.0 - here
    freed = np.asarray(ones @ (volumes * (needs == 1) * elsewhere))[each, machine_of]
    burdened = ones @ (volumes * (needs == 0) * elsewhere)
    # Of its own, a task no longer sends to where it goes, and sends back to where it was if a neighbour stays there.
    own = volumes * ((needs > 0).astype(np.float64) - (needs[each, machine_of] > 0)[:, None])
    gains = np.asarray(freed[:, None] - burdened + own)
    gains[each, machine_of] = 0.0
    return gains
