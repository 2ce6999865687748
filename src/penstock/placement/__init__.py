"""Tasks to machines: who runs where, so that little crosses the network and every machine carries its share.

The way in is `place(problem, algorithm)`; `json_format` and `graph_format` read problems.

Example:
    >>> graph = communication_graph([1, 1, 1, 1], [0, 2, 1], [1, 3, 2], [9, 9, 1])
    >>> problem = PlacementProblem(graph=graph, machines=equal_machines(2))
    >>> place(problem, "even").cost, place(problem, "metis").cost
    (19.0, 1.0)
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from penstock.base.deadline import Deadline
from penstock.placement.even import place_evenly
from penstock.placement.exchange import relieve_by_exchange
from penstock.placement.greedy import place_greedily
from penstock.placement.measure import cost, imbalance, is_within, limits
from penstock.placement.metis import MetisSettings, place_by_partitioning
from penstock.placement.packing import attainable_bound, check_capacities
from penstock.placement.problem import (
    CommunicationGraph,
    Ints,
    Machines,
    Placement,
    PlacementProblem,
    Progress,
    communication_graph,
    equal_machines,
    sized_machines,
)
from penstock.placement.relief import relieve
from penstock.placement.stay import NOWHERE, Present, place_from, present_placement

Algorithm = Literal["even", "greedy", "metis"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "CommunicationGraph",
    "Machines",
    "MetisSettings",
    "Placement",
    "PlacementProblem",
    "Present",
    "communication_graph",
    "equal_machines",
    "place",
    "present_placement",
    "sized_machines",
]

_SHARE_FOR_NEW = 0.7


def place(
    problem: PlacementProblem,
    algorithm: Algorithm = "metis",
    *,
    settings: MetisSettings | None = None,
    present: Present | None = None,
    deadline_seconds: float | None = None,
    progress: Progress | None = None,
) -> Placement:
    """Place tasks on machines and measure the result.

    A pure function: call it at every epoch with the graph just measured, and with `present` so that nothing moves which
    is not worth it: the answer is then not worse than leaving everything where it is, moves counted in.

    Args:
        problem: What to place, where, and how evenly.
        algorithm: `even`, `greedy` or `metis`.
        settings: How `metis` searches.
        present: Where the tasks are now, and what moving them costs.
        deadline_seconds: When to return the best found so far.
        progress: Called with a line now and then.

    Raises:
        Infeasible: The capacities cannot be kept.

    Example:
        >>> graph = communication_graph([2, 2, 2], [0, 1], [1, 2], [9, 1])
        >>> place(PlacementProblem(graph=graph, machines=equal_machines(3)), "greedy").imbalance
        1.0
    """
    began = time.perf_counter()
    check_capacities(problem)
    deadline = Deadline.after(deadline_seconds)
    if algorithm == "even":
        machine_of = place_evenly(problem)
    elif algorithm == "greedy":
        machine_of = _greedily_within_limits(problem, deadline, progress)
    else:
        here = present.machine_of if present is not None and (present.machine_of != NOWHERE).all() else None
        in_time = deadline if present is None else deadline.share(_SHARE_FOR_NEW)
        machine_of = place_by_partitioning(problem, settings, present=here, deadline=in_time, progress=progress)
    if present is not None:
        machine_of = place_from(problem, machine_of, present, deadline)
    return Placement(
        algorithm=algorithm,
        machine_of=machine_of,
        cost=cost(problem, machine_of),
        imbalance=imbalance(problem, machine_of),
        within_limit=is_within(problem, machine_of, problem.imbalance),
        seconds=time.perf_counter() - began,
    )


def _greedily_within_limits(problem: PlacementProblem, deadline: Deadline, progress: Progress | None) -> Ints:
    """The greedy placement, its overloaded machines relieved, so that all algorithms are held to one limit.

    Where that is not enough, the packing that keeps it.
    """
    packing = attainable_bound(problem)
    bound, packed = packing.bound, packing.machine_of
    limit = limits(problem, bound)
    greedy = place_greedily(replace(problem, imbalance=bound), deadline=deadline, progress=progress)
    machine_of = relieve(problem, greedy, limit, deadline)
    machine_of = relieve_by_exchange(problem, machine_of, limit, np.random.default_rng(1), deadline)
    return machine_of if packed is None or is_within(problem, machine_of, bound) else packed
