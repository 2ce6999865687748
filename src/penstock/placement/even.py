"""Even placement: Storm's default scheduler.

Introduction:
    Deals the tasks out to the machines one after another, as cards are dealt. It looks at no measurement; it is the
    baseline that the paper calls Default.

Example:
    Five tasks on two machines go to 0, 1, 0, 1, 0.

When it does not apply:
    Always applies, but knows neither weights nor capacities: where tasks differ in weight the loads do too, and a
    machine may be given more than its capacity. The answer says so (`within_limit`).

Algorithm:
    Task i goes to machine i mod K. O(tasks).

Preserves:
    The numbers of tasks on two machines differ by one at most.

Reference:
    Fischer and Bernstein, BigData 2015, section IV-B1; Storm's `EvenScheduler`.
"""

from __future__ import annotations

import numpy as np

from penstock.placement.problem import Ints, PlacementProblem


def place_evenly(problem: PlacementProblem) -> Ints:
    """Deal the tasks out to the machines.

    Example:
        >>> from penstock.placement.problem import communication_graph, equal_machines
        >>> graph = communication_graph([1, 1, 1, 1, 1], [], [], [])
        >>> place_evenly(PlacementProblem(graph=graph, machines=equal_machines(2))).tolist()
        [0, 1, 0, 1, 0]
    """
    return np.arange(problem.graph.tasks) % problem.machines.count
