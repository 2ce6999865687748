"""The call of METIS: our arrays to what pymetis takes, and back.

METIS wants integers and pymetis hands it a single weight a task and no vertex sizes, so several weights go in as the
sum of their shares. METIS aims at the limit on imbalance but does not promise it; `relief.relieve` sees to that.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pymetis

from penstock.base.metis import part_graph
from penstock.placement.problem import CommunicationGraph, Floats, Ints, PlacementProblem

Objective = Literal["cut", "volume"]

# METIS takes integers; so many steps for the heaviest edge or the whole load lose nothing that matters.
_STEPS = 1_000_000


def partition(problem: PlacementProblem, objective: Objective, seed: int | None, *, recursive: bool = False) -> Ints:
    """The placement that METIS alone finds.

    Args:
        problem: The tasks and the machines.
        objective: The measure that METIS minimizes; recursive bisection knows the cut alone.
        seed: The seed of its random choices; None for METIS as it comes, with its own seed and, in recursive
            bisection, its own tolerance of one thousandth at each step.
        recursive: By bisection instead of k-way.

    Example:
        >>> from penstock.placement.problem import communication_graph, equal_machines
        >>> graph = communication_graph([1, 1, 1, 1], [0, 2], [1, 3], [9, 9])
        >>> machine_of = partition(PlacementProblem(graph=graph, machines=equal_machines(2)), "cut", 1)
        >>> bool(machine_of[0] == machine_of[1] != machine_of[2] == machine_of[3])
        True
    """
    return _run_metis(
        problem.graph, problem.machines.shares.mean(axis=1), problem.imbalance, objective, seed, recursive
    )


def _run_metis(
    graph: CommunicationGraph, shares: Floats, imbalance: float, objective: Objective, seed: int | None, recursive: bool
) -> Ints:
    options = pymetis.Options()
    if seed is not None:
        options.seed = seed
    if seed is not None or not recursive:
        options.ufactor = max(1, round((imbalance - 1.0) * 1000))
    if not recursive:
        kind = pymetis.ObjType.VOL if objective == "volume" else pymetis.ObjType.CUT
        options.objtype = int(kind)
    return part_graph(
        len(shares),
        graph.starts,
        graph.adjacent,
        vertex_weights=_integer_weights(graph),
        edge_weights=_integer_traffic(graph),
        shares=shares.tolist(),
        recursive=recursive,
        options=options,
    )


def _integer_traffic(graph: CommunicationGraph) -> Ints:
    """The traffic as METIS wants it: positive integers."""
    traffic = graph.traffic
    largest = traffic.max(initial=0.0)
    if largest > _STEPS or (traffic % 1.0).any():
        traffic = traffic * (_STEPS / largest)
    return np.maximum(np.rint(traffic), 1.0).astype(np.int64)


def _integer_weights(graph: CommunicationGraph) -> Ints:
    """One integer weight a task: where it has several, the sum of its shares of the totals."""
    totals = graph.weights.sum(axis=0)
    if not totals.any():
        return np.ones(graph.tasks, np.int64)
    if graph.resources == 1 and totals[0] < 2**40 and not (graph.weights % 1.0).any():
        return graph.weights[:, 0].astype(np.int64)
    shares = (graph.weights / np.where(totals > 0, totals, 1.0)).sum(axis=1)
    return np.asarray(np.rint(shares * (_STEPS * graph.tasks)), np.int64)


def partition_by_rack(problem: PlacementProblem, objective: Objective, seed: int) -> Ints:
    """The placement that METIS alone finds when it partitions into racks first, then each rack's tasks into machines.

    Example:
        >>> from penstock.placement.problem import communication_graph, sized_machines
        >>> graph = communication_graph([1, 1, 1, 1], [0, 2, 1], [1, 3, 2], [9, 9, 1])
        >>> machines = sized_machines([1, 1, 1, 1], racks=["n", "n", "s", "s"])
        >>> machine_of = partition_by_rack(PlacementProblem(graph=graph, machines=machines), "cut", 1)
        >>> machines.racks[machine_of[0]] == machines.racks[machine_of[1]] != machines.racks[machine_of[2]]
        np.True_
    """
    machines = problem.machines
    shares = machines.shares.mean(axis=1)
    rack_shares = np.asarray(np.bincount(machines.racks, weights=shares), np.float64)
    # Imbalance multiplies over the two levels.
    bound = float(np.sqrt(problem.imbalance))
    rack_of = _run_metis(problem.graph, rack_shares, bound, objective, seed, False)
    machine_of = np.zeros(problem.graph.tasks, np.int64)
    for rack in range(len(rack_shares)):
        tasks, members = np.flatnonzero(rack_of == rack), np.flatnonzero(machines.racks == rack)
        machine_of[tasks] = members[_partition_some(problem.graph, tasks, shares[members], bound, objective, seed)]
    return machine_of


def _partition_some(
    graph: CommunicationGraph, tasks: Ints, shares: Floats, bound: float, objective: Objective, seed: int
) -> Ints:
    inner = graph.matrix()[tasks][:, tasks]
    if len(shares) == 1 or len(tasks) <= len(shares) or not inner.nnz:
        return np.arange(len(tasks)) % len(shares)
    part = CommunicationGraph(
        starts=inner.indptr.astype(np.int64),
        adjacent=inner.indices.astype(np.int64),
        traffic=inner.data,
        weights=graph.weights[tasks],
        volumes=graph.volumes[tasks],
    )
    return _run_metis(part, shares, bound, objective, seed, False)
