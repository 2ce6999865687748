from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from placement_strategies import cost_by_definition, placed_problems, volume_by_definition

from penstock.placement import PlacementProblem, communication_graph, equal_machines, sized_machines
from penstock.placement.measure import cost, imbalance, is_within, limits, loads, overload, volume
from penstock.placement.pull import pull


@given(placed_problems())
@settings(max_examples=150, deadline=None)
def test_the_cost_is_the_papers_double_sum(placed):
    problem, machine_of = placed
    assert cost(problem, machine_of) == pytest.approx(cost_by_definition(problem, machine_of))


@given(placed_problems())
@settings(max_examples=150, deadline=None)
def test_the_volume_counts_the_other_machines_of_each_tasks_neighbours(placed):
    problem, machine_of = placed
    assert volume(problem, machine_of) == pytest.approx(volume_by_definition(problem, machine_of))


@given(placed_problems())
@settings(max_examples=100, deadline=None)
def test_the_difference_of_pulls_is_what_a_move_gains(placed):
    problem, machine_of = placed
    task = problem.graph.tasks // 2
    pulls = pull(problem, machine_of, np.array([task]))[0]
    for machine in range(problem.machines.count):
        moved = machine_of.copy()
        moved[task] = machine
        gain = cost(problem, machine_of) - cost(problem, moved)
        assert pulls[machine] - pulls[machine_of[task]] == pytest.approx(gain)


@given(placed_problems())
@settings(max_examples=100, deadline=None)
def test_loads_add_up_to_the_weights_and_overload_is_zero_exactly_within_limits(placed):
    problem, machine_of = placed
    assert loads(problem, machine_of).sum(axis=0) == pytest.approx(problem.graph.weights.sum(axis=0))
    limit = limits(problem, problem.imbalance)
    assert (overload(loads(problem, machine_of), limit) == 0.0) == is_within(problem, machine_of, problem.imbalance)


def test_imbalance_is_the_worst_over_machines_and_resources():
    graph = communication_graph([[1, 4], [1, 0], [1, 0], [1, 0]], [], [], [])
    problem = PlacementProblem(graph=graph, machines=equal_machines(2, resources=2))
    assert imbalance(problem, np.array([0, 0, 1, 1])) == 2.0


def test_imbalance_is_measured_against_the_share_of_a_machine():
    graph = communication_graph([1, 1, 1, 1], [], [], [])
    problem = PlacementProblem(graph=graph, machines=sized_machines([3, 1]))
    assert imbalance(problem, np.array([0, 0, 0, 1])) == 1.0
    assert imbalance(problem, np.array([0, 0, 1, 1])) == 2.0


def test_traffic_between_racks_counts_more():
    graph = communication_graph([1, 1, 1], [0, 1], [1, 2], [10, 10])
    machines = sized_machines([1, 1, 1], racks=["a", "a", "b"], rack_factor=4.0)
    problem = PlacementProblem(graph=graph, machines=machines)
    assert cost(problem, np.array([0, 1, 2])) == 10 + 40


def test_edges_in_both_directions_add_up():
    graph = communication_graph([1, 1], [0, 1], [1, 0], [10, 5])
    assert cost(PlacementProblem(graph=graph, machines=equal_machines(2)), np.array([0, 1])) == 15
