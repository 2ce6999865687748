from __future__ import annotations

from dataclasses import replace

import numpy as np
import pymetis
import pytest
from hypothesis import given, settings
from placement_strategies import placed_problems

import penstock.placement.climb as climb_module
from penstock.base.deadline import Deadline
from penstock.bench.scheduling import random_graph
from penstock.placement import MetisSettings, PlacementProblem, communication_graph, equal_machines, place
from penstock.placement.climb import climb
from penstock.placement.exchange import relieve_by_exchange
from penstock.placement.measure import cost, imbalance, is_within, limits, loads, overload, volume
from penstock.placement.metis import refine
from penstock.placement.packing import attainable_bound, pack_longest_first
from penstock.placement.partition import partition
from penstock.placement.relief import relieve
from penstock.placement.sweep import improve
from penstock.placement.volume import lower_volume

NEVER = Deadline.after(None)


def _rng():
    return np.random.default_rng(1)


def _excess(problem, machine_of, limit):
    return overload(loads(problem, machine_of), limit)


def test_refinement_is_never_worse_than_metis_alone_and_often_better_over_200_graphs():
    better = 0
    for seed in range(200):
        graph, machines = random_graph(seed)
        problem = PlacementProblem(graph=graph, machines=equal_machines(machines))
        limit = limits(problem, problem.imbalance)
        alone = partition(problem, "cut", seed)
        after = refine(problem, alone, limit, MetisSettings(), np.random.default_rng(seed), NEVER)
        before_it, after_it = ((_excess(problem, m, limit), cost(problem, m)) for m in (alone, after))
        assert after_it <= before_it, f"graph {seed}"
        better += after_it < before_it
    assert better >= 200 / 3


@pytest.mark.parametrize("recursive", [False, True])
def test_the_answer_is_never_worse_than_a_plain_call_of_metis_at_the_imbalance_that_it_has(recursive):
    for seed in range(25):
        graph, machines = random_graph(seed)
        found = pymetis.part_graph(
            machines,
            pymetis.CSRAdjacency(graph.starts, graph.adjacent),
            vweights=graph.weights[:, 0].astype(int),
            eweights=graph.traffic.astype(int),
            recursive=recursive,
        )
        problem = PlacementProblem(graph=graph, machines=equal_machines(machines))
        plain = np.asarray(found.vertex_part)
        problem = replace(problem, imbalance=max(1.03, imbalance(problem, plain)))
        answer = place(problem, "metis", settings=MetisSettings(starts=1, shakes=0))
        assert answer.within_limit
        assert answer.cost <= cost(problem, plain), f"graph {seed}"


@given(placed_problems())
@settings(max_examples=150, deadline=None)
def test_sweeps_never_raise_the_cost_nor_break_a_limit_that_held(placed):
    problem, start = placed
    limit = limits(problem, problem.imbalance)
    after = improve(problem, start, limit, NEVER)
    assert cost(problem, after) <= cost(problem, start) + 1e-9
    held = (loads(problem, start) <= limit).all(axis=1)
    assert (loads(problem, after)[held] <= limit[held] + 1e-9).all()


@given(placed_problems())
@settings(max_examples=150, deadline=None)
def test_relief_never_adds_to_the_overload(placed):
    problem, start = placed
    limit = limits(problem, problem.imbalance)
    moved = relieve(problem, start, limit, NEVER)
    exchanged = relieve_by_exchange(problem, moved, limit, _rng(), NEVER)
    assert _excess(problem, exchanged, limit) <= _excess(problem, moved, limit) + 1e-12
    assert _excess(problem, moved, limit) <= _excess(problem, start, limit) + 1e-12


@given(placed_problems())
@settings(max_examples=100, deadline=None)
def test_a_climb_is_never_worse_by_overload_and_then_cost(placed):
    problem, start = placed
    limit = limits(problem, problem.imbalance)
    after = climb(problem, start, limit, _rng(), NEVER)
    excess_before, excess_after = _excess(problem, start, limit), _excess(problem, after, limit)
    assert excess_after <= excess_before + 1e-12
    assert excess_after < excess_before or cost(problem, after) <= cost(problem, start) + 1e-9


@given(placed_problems())
@settings(max_examples=100, deadline=None)
def test_volume_refinement_never_raises_the_volume(placed):
    problem, start = placed
    limit = limits(problem, problem.imbalance)
    after = lower_volume(problem, start, limit, NEVER)
    assert volume(problem, after) <= volume(problem, start)
    assert _excess(problem, after, limit) <= _excess(problem, start, limit) + 1e-12


@given(placed_problems())
@settings(max_examples=60, deadline=None)
def test_where_volume_refinement_stops_no_single_move_that_fits_lowers_the_volume(placed):
    problem, start = placed
    limit = limits(problem, problem.imbalance)
    after = lower_volume(problem, start, limit, NEVER)
    room = limit - loads(problem, after)
    for task in range(problem.graph.tasks):
        for machine in np.flatnonzero((problem.graph.weights[task] <= room).all(axis=1)):
            moved = after.copy()
            moved[task] = machine
            assert volume(problem, moved) >= volume(problem, after)


def test_a_climb_among_groups_of_machines_improves_too(monkeypatch):
    monkeypatch.setattr(climb_module, "_CELLS_AMONG", 600)
    graph, _ = random_graph(1)
    problem = PlacementProblem(graph=graph, machines=equal_machines(12))
    limit = limits(problem, 1.03)
    start = relieve(problem, np.arange(graph.tasks) % 12, limit, NEVER)
    swept = improve(problem, start, limit, NEVER)
    after = climb(problem, swept, limit, _rng(), NEVER)
    assert cost(problem, after) < cost(problem, swept)
    assert is_within(problem, after, 1.03)


def test_a_climb_finds_a_rotation_of_three_that_no_swap_can_replace():
    # Three pairs, each task beside the wrong partner: 0 belongs to 1, 2 to 3, 4 to 5.
    graph = communication_graph(np.ones(6), [0, 2, 4], [1, 3, 5], [5, 5, 5])
    problem = PlacementProblem(graph=graph, machines=equal_machines(3))
    start = np.array([0, 1, 1, 2, 2, 0])
    after = climb(problem, start, limits(problem, 1.0), _rng(), NEVER)
    assert cost(problem, after) == 0
    assert is_within(problem, after, 1.0)


def test_sweeps_leave_a_placement_alone_that_no_single_move_improves():
    graph = communication_graph(np.ones(4), [0, 2], [1, 3], [5, 5])
    problem = PlacementProblem(graph=graph, machines=equal_machines(2))
    start = np.array([0, 0, 1, 1])
    assert (improve(problem, start, limits(problem, 1.0), NEVER) == start).all()


@pytest.mark.parametrize(
    ("weights", "count", "bound"), [([1, 1, 1, 1], 3, 1.5), ([3, 3, 2, 2, 2], 2, 1.03), ([5, 1], 2, 5 / 3)]
)
def test_the_bound_is_the_least_that_packing_can_keep(weights, count, bound):
    problem = PlacementProblem(graph=communication_graph(weights, [], [], []), machines=equal_machines(count))
    assert attainable_bound(problem).bound == pytest.approx(bound)


def test_packing_longest_first_misses_what_the_integer_program_finds():
    problem = PlacementProblem(graph=communication_graph([3, 3, 2, 2, 2], [], [], []), machines=equal_machines(2))
    assert not is_within(problem, pack_longest_first(problem), 1.03)
    assert is_within(problem, attainable_bound(problem).machine_of, 1.03)


def test_without_time_to_relieve_machines_tasks_are_dealt_out_by_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = communication_graph([1 + i % 7 for i in range(300)], [0] * 299, list(range(1, 300)), [1.0] * 299)
    problem = PlacementProblem(graph=graph, machines=equal_machines(5))
    monkeypatch.setattr("penstock.placement.metis.partition", lambda *_, **__: np.zeros(300, np.int64))
    assert place(problem, deadline_seconds=0.0).within_limit
