"""Hypothesis strategies for placement problems, and the paper's definitions written out the slow way."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from penstock.placement import Machines, PlacementProblem, communication_graph, equal_machines, sized_machines


@st.composite
def machine_sets(draw: st.DrawFn, count: int, resources: int) -> Machines:
    if draw(st.booleans()):
        return equal_machines(count, resources=resources)
    sizes = draw(st.lists(st.integers(1, 4), min_size=count * resources, max_size=count * resources))
    racks = draw(st.lists(st.sampled_from(["north", "south"]), min_size=count, max_size=count))
    factor = draw(st.sampled_from([1.0, 2.0, 5.0]))
    return sized_machines(np.reshape(sizes, (count, resources)), hard=False, racks=racks, rack_factor=factor)


@st.composite
def problems(draw: st.DrawFn, most_tasks: int = 24, most_machines: int = 5) -> PlacementProblem:
    count = draw(st.integers(1, most_machines))
    tasks = draw(st.integers(count, most_tasks))
    resources = draw(st.integers(1, 2))
    weights = draw(st.lists(st.integers(0, 9), min_size=tasks * resources, max_size=tasks * resources))
    ends = st.integers(0, tasks - 1)
    edges = draw(st.lists(st.tuples(ends, ends, st.integers(0, 50)), max_size=3 * tasks))
    sources, targets, traffic = zip(*edges, strict=True) if edges else ((), (), ())
    graph = communication_graph(np.reshape(weights, (tasks, resources)), sources, targets, traffic)
    bound = draw(st.sampled_from([1.0, 1.03, 1.2, 2.0]))
    return PlacementProblem(graph=graph, machines=draw(machine_sets(count, resources)), imbalance=bound)


@st.composite
def placed_problems(draw: st.DrawFn) -> tuple[PlacementProblem, np.ndarray]:
    problem = draw(problems())
    machine = st.integers(0, problem.machines.count - 1)
    return problem, np.array(draw(st.lists(machine, min_size=problem.graph.tasks, max_size=problem.graph.tasks)))


def cost_by_definition(problem: PlacementProblem, machine_of: np.ndarray) -> float:
    """The double sum of section III-C, on the upper half of the symmetric matrix, with racks."""
    traffic, machines = problem.graph.matrix().toarray(), problem.machines
    total = 0.0
    for i, j in itertools.combinations(range(problem.graph.tasks), 2):
        p, q = machine_of[i], machine_of[j]
        if p != q:
            total += traffic[i, j] * (machines.rack_factor if machines.racks[p] != machines.racks[q] else 1.0)
    return total


def volume_by_definition(problem: PlacementProblem, machine_of: np.ndarray) -> float:
    graph = problem.graph
    return float(
        sum(
            graph.volumes[task] * len({int(machine_of[n]) for n in graph.neighbours(task)} - {int(machine_of[task])})
            for task in range(graph.tasks)
        )
    )


def all_placements(problem: PlacementProblem) -> list[np.ndarray]:
    return [np.array(p) for p in itertools.product(range(problem.machines.count), repeat=problem.graph.tasks)]
