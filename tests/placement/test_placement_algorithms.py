from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from placement_strategies import all_placements, problems

from penstock.base.diagnostics import Infeasible
from penstock.bench.scheduling import random_graph
from penstock.placement import (
    ALGORITHMS,
    MetisSettings,
    PlacementProblem,
    communication_graph,
    equal_machines,
    place,
    present_placement,
    sized_machines,
)
from penstock.placement.greedy import place_greedily
from penstock.placement.measure import cost, imbalance, is_within, loads, volume
from penstock.placement.packing import attainable_bound
from penstock.placement.partition import partition

QUICK = MetisSettings(starts=1, shakes=2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(problem=problems())
@settings(max_examples=40, deadline=None)
def test_every_task_is_placed_and_the_answer_measures_itself_right(algorithm, problem):
    answer = place(problem, algorithm, settings=QUICK)
    assert answer.machine_of.shape == (problem.graph.tasks,)
    assert ((answer.machine_of >= 0) & (answer.machine_of < problem.machines.count)).all()
    assert answer.cost == cost(problem, answer.machine_of)
    assert answer.imbalance == imbalance(problem, answer.machine_of)
    assert answer.within_limit == is_within(problem, answer.machine_of, problem.imbalance)


@given(problem=problems())
@settings(max_examples=40, deadline=None)
def test_metis_keeps_every_limit_that_packing_can_keep(problem):
    bound = attainable_bound(problem).bound
    assert is_within(problem, place(problem, "metis", settings=QUICK).machine_of, bound)


@given(problem=problems())
@settings(max_examples=40, deadline=None)
def test_metis_never_costs_more_than_greedy_within_the_same_limit(problem):
    metis, greedy = place(problem, "metis", settings=QUICK), place(problem, "greedy")
    bound = attainable_bound(problem).bound
    assert not is_within(problem, greedy.machine_of, bound) or metis.cost <= greedy.cost * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_metis_finds_the_optimum_of_small_problems(seed):
    rng = np.random.default_rng(seed)
    tasks, count = 8, 2 + seed % 2
    ends = rng.integers(0, tasks, (2, 14))
    graph = communication_graph(rng.integers(1, 4, tasks), *ends, rng.integers(1, 20, 14))
    problem = PlacementProblem(graph=graph, machines=equal_machines(count), imbalance=1.2)
    bound = attainable_bound(problem).bound
    best = min(cost(problem, p) for p in all_placements(problem) if is_within(problem, p, bound))
    assert place(problem, "metis").cost == best


@pytest.mark.parametrize("seed", range(6))
def test_metis_finds_the_least_volume_of_small_problems_or_comes_near(seed):
    rng = np.random.default_rng(seed)
    graph = communication_graph(np.ones(8), *rng.integers(0, 8, (2, 12)), np.ones(12))
    problem = PlacementProblem(graph=graph, machines=equal_machines(2), imbalance=1.0)
    best = min(volume(problem, p) for p in all_placements(problem) if is_within(problem, p, 1.0))
    answer = place(problem, "metis", settings=MetisSettings(objective="volume"))
    assert answer.within_limit
    assert volume(problem, answer.machine_of) <= best + 1


def test_the_volume_objective_follows_the_volumes_of_the_tasks():
    # A path 0-1-2-3-4-5 can be halved at its middle only; the volumes say which of two equal cuts of a ring is better.
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
    sources, targets = zip(*ring, strict=True)
    graph = communication_graph(np.ones(6), sources, targets, np.ones(6), volumes=[9, 1, 1, 9, 1, 1])
    problem = PlacementProblem(graph=graph, machines=equal_machines(2))
    answer = place(problem, "metis", settings=MetisSettings(objective="volume"))
    # Cutting 1-2 and 4-5 leaves both heavy senders inside: only the tasks 1, 2, 4 and 5 send across.
    assert volume(problem, answer.machine_of) == 4


def test_even_deals_the_tasks_out():
    graph = communication_graph(np.ones(7), [], [], [])
    assert place(PlacementProblem(graph=graph, machines=equal_machines(3)), "even").machine_of.tolist() == [
        0, 1, 2, 0, 1, 2, 0,
    ]  # fmt: skip


def _greedy(weights, edges, count, bound):
    sources, targets, traffic = zip(*edges, strict=True)
    graph = communication_graph(weights, sources, targets, traffic)
    return place_greedily(PlacementProblem(graph=graph, machines=equal_machines(count), imbalance=bound)).tolist()


def test_greedy_puts_the_heaviest_pair_together_first():
    a, b, c, d = _greedy([1, 1, 1, 1], [(0, 1, 1), (1, 2, 9), (2, 3, 1)], 2, 1.0)
    assert b == c
    assert a == d != b


def test_greedy_brings_a_new_task_to_its_partner_where_there_is_room():
    assert len(set(_greedy([1, 1, 1, 1, 1, 1], [(0, 1, 9), (1, 2, 8), (3, 4, 7), (4, 5, 6)], 2, 1.0)[:3])) == 1


def test_greedy_leaves_a_pair_alone_when_joining_would_overload():
    a, b, c = _greedy([1, 1, 1], [(0, 1, 10), (1, 2, 9)], 2, 1.4)
    assert a == b != c


def test_greedy_moves_a_placed_task_over_to_its_partner_when_that_pays():
    # 0-1 (10) and 2-3 (9) are placed apart; then 1-2 (8) may move 1 over to 2 only by giving up 10: it must not.
    a, b, c, d = _greedy([1, 1, 1, 1], [(0, 1, 10), (2, 3, 9), (1, 2, 8)], 2, 1.5)
    assert a == b
    assert c == d
    # Task 0 is heavy and 1 is drawn to 2 and 3 with 8 + 7 against 10: when 1-3 comes up, moving over pays.
    a, b, c, d = _greedy([1, 1, 1, 1], [(0, 1, 10), (2, 3, 9), (1, 2, 8), (1, 3, 7)], 2, 1.5)
    assert b == c == d != a


def test_greedy_places_workers_that_communicate_on_one_large_machine():
    graph = communication_graph([4, 4, 4, 4], [0, 1, 2], [1, 2, 3], [1, 9, 1])
    machines = sized_machines([8, 4, 4], hard=True)
    machine_of = place_greedily(PlacementProblem(graph=graph, machines=machines))
    assert machine_of[1] == machine_of[2] == 0


def test_greedy_prefers_a_machine_in_the_rack_of_the_partner():
    graph = communication_graph([1, 1, 1, 1], [0, 2], [1, 3], [9, 9])
    machines = sized_machines([1, 1, 1, 1], racks=["n", "s", "n", "s"])
    machine_of = place_greedily(PlacementProblem(graph=graph, machines=machines))
    assert machines.racks[machine_of[0]] == machines.racks[machine_of[1]]
    assert machines.racks[machine_of[2]] == machines.racks[machine_of[3]]


def test_metis_keeps_chatting_tasks_in_one_rack():
    groups = np.arange(24).reshape(6, 4)
    inner = [(g[i], g[j], 50) for g in groups for i in range(4) for j in range(i)]
    outer = [(groups[i, 0], groups[i + 1, 0], 20) for i in (0, 1, 3, 4)] + [(groups[2, 0], groups[3, 0], 1)]
    sources, targets, traffic = zip(*inner, *outer, strict=True)
    machines = sized_machines(np.ones(6), hard=False, racks=["n", "s"] * 3, rack_factor=10.0)
    graph = communication_graph(np.ones(24), sources, targets, traffic)
    problem = PlacementProblem(graph=graph, machines=machines)
    answer = place(problem, "metis")
    assert answer.cost == 4 * 20 + 10 * 1


def test_metis_fills_machines_in_proportion_to_their_size():
    graph, _ = random_graph(1)
    problem = PlacementProblem(graph=graph, machines=sized_machines([1, 2, 5], hard=False), imbalance=1.05)
    answer = place(problem, "metis", settings=QUICK)
    assert answer.within_limit
    load = loads(problem, answer.machine_of).ravel()
    assert load[2] > load[1] > load[0]


def test_metis_balances_every_resource():
    rng = np.random.default_rng(5)
    graph, _ = random_graph(4)
    weights = np.column_stack([rng.integers(1, 10, graph.tasks), rng.permutation(np.arange(graph.tasks))])
    both = communication_graph(weights, *graph.matrix().nonzero(), graph.traffic / 2)
    problem = PlacementProblem(graph=both, machines=equal_machines(5, resources=2))
    assert not is_within(problem, partition(problem, "cut", 1), 1.03)
    assert place(problem, "metis", settings=QUICK).within_limit


def test_hard_capacities_hold_even_where_the_shares_would_allow_more():
    graph = communication_graph([3, 3, 3, 1], [0, 0, 0], [1, 2, 3], [9, 9, 9])
    problem = PlacementProblem(graph=graph, machines=sized_machines([6, 6]), imbalance=3.0)
    answer = place(problem, "metis")
    assert (loads(problem, answer.machine_of) <= 6).all()


def test_a_task_larger_than_every_machine_is_infeasible_and_named():
    graph = communication_graph([1, 7], [0], [1], [1], ids=["small", "huge"])
    problem = PlacementProblem(graph=graph, machines=sized_machines([5, 5]))
    for algorithm in ALGORITHMS:
        with pytest.raises(Infeasible, match="task `huge` of weight 7 is larger than every machine; the largest has 5"):
            place(problem, algorithm)


def test_more_load_than_all_machines_together_is_infeasible():
    graph = communication_graph([4, 4, 4], [], [], [])
    with pytest.raises(Infeasible, match="the tasks need 12 of resource 0 and all machines have 10"):
        place(PlacementProblem(graph=graph, machines=sized_machines([5, 5])), "metis")


def test_tasks_that_cannot_be_packed_are_infeasible():
    graph = communication_graph([3, 3, 3], [], [], [])
    with pytest.raises(Infeasible, match="no placement was found that keeps every machine within its capacity"):
        place(PlacementProblem(graph=graph, machines=sized_machines([5, 5])), "metis")


def test_where_the_limit_is_out_of_reach_the_most_even_placement_is_kept():
    graph = communication_graph([1, 1, 1, 1], [0, 1, 2], [1, 2, 3], [1, 5, 1])
    answer = place(PlacementProblem(graph=graph, machines=equal_machines(3)), "metis")
    assert answer.imbalance == 1.5
    assert not answer.within_limit
    assert answer.cost == 2


def test_the_same_seed_gives_the_same_answer():
    graph, machines = random_graph(9)
    problem = PlacementProblem(graph=graph, machines=equal_machines(machines))
    first, second = (place(problem, "metis", settings=MetisSettings(seed=3, shakes=3)).machine_of for _ in range(2))
    assert (first == second).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_deadline_that_has_passed_still_gives_an_answer(algorithm):
    graph, machines = random_graph(9)
    problem = PlacementProblem(graph=graph, machines=equal_machines(machines))
    answer = place(problem, algorithm, deadline_seconds=0.0)
    assert set(answer.machine_of.tolist()) <= set(range(machines))


@pytest.mark.parametrize("seed", range(8))
def test_the_answer_is_not_worse_than_the_present_placement(seed):
    graph, machines = random_graph(seed)
    problem = PlacementProblem(graph=graph, machines=equal_machines(machines))
    present = place(problem, "metis", settings=MetisSettings(seed=100 + seed, shakes=2))
    again = place(
        problem, "metis", present=present_placement(problem, present.machine_of, move_cost=0.0), settings=QUICK
    )
    assert again.cost <= present.cost


def test_progress_names_the_starts():
    graph, machines = random_graph(2)
    lines: list[str] = []
    problem = PlacementProblem(graph=graph, machines=equal_machines(machines))
    place(problem, "metis", settings=QUICK, progress=lines.append)
    assert any("greedy" in line for line in lines)
    assert any("metis, seed 1" in line for line in lines)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1, 10**9])
@pytest.mark.parametrize("algorithm", ["greedy", "metis"])
def test_a_machine_without_any_capacity_gets_nothing_that_weighs(algorithm, unit):
    graph = communication_graph([2 * unit] * 4, [0, 1, 2], [1, 2, 3], [5, 1, 5])
    problem = PlacementProblem(graph=graph, machines=sized_machines([0, 4 * unit, 4 * unit]))
    answer = place(problem, algorithm)
    assert loads(problem, answer.machine_of).ravel().tolist() == [0, 4 * unit, 4 * unit]
    assert answer.cost == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_tasks_without_weight_can_be_placed(algorithm):
    graph = communication_graph([0, 0, 0], [0, 1], [1, 2], [5, 1])
    answer = place(PlacementProblem(graph=graph, machines=equal_machines(2)), algorithm)
    assert answer.imbalance == 1.0


@pytest.mark.parametrize("algorithm", ["greedy", "metis"])
def test_hard_capacities_hold_where_neither_moves_nor_exchanges_of_two_tasks_help(algorithm):
    pairs = [(0, 3, 2), (1, 3, 5), (2, 1, 0.5), (3, 1, 2), (3, 2, 9), (3, 4, 9), (4, 3, 1)]
    graph = communication_graph([2, 5, 2, 3, 3], *zip(*pairs, strict=True))
    problem = PlacementProblem(graph=graph, machines=sized_machines([4.125, 8.25, 4.125]), imbalance=1.03)
    assert is_within(problem, place(problem, algorithm).machine_of, np.inf)


@pytest.mark.parametrize("unit", [1e-90, 1e-9, 1.0, 1e9, 1e90])
@pytest.mark.parametrize("algorithm", ["greedy", "metis"])
def test_a_packing_that_is_hard_to_find_is_found_in_any_unit(algorithm, unit):
    weights = np.array([[3, 1], [0, 2], [5, 5], [5, 2], [4, 2], [2, 4]]) * [unit, 1.0]
    graph = communication_graph(weights, [0, 4], [2, 5], [1.0, 1.0])
    machines = sized_machines(np.array([[8, 11], [8, 5], [8, 5]]) * [unit, 1.0])
    problem = PlacementProblem(graph=graph, machines=machines)
    assert is_within(problem, place(problem, algorithm).machine_of, np.inf)
