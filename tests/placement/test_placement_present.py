"""Placements from where tasks already run."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import UserError
from penstock.placement import (
    MetisSettings,
    PlacementProblem,
    communication_graph,
    equal_machines,
    place,
    present_placement,
    sized_machines,
)
from penstock.placement.json_format import read_present
from penstock.placement.measure import cost, is_within, limits
from penstock.placement.packing import attainable_bound
from penstock.placement.stay import NOWHERE, match_labels, place_from

_QUICK = MetisSettings(starts=2, shakes=4)


def _problem(seed: int, tasks: int, machines: int, imbalance: float = 1.1) -> PlacementProblem:
    rng = np.random.default_rng(seed)
    sources = rng.integers(0, tasks, 3 * tasks)
    targets = (sources + rng.integers(1, max(2, tasks // machines), 3 * tasks)) % tasks
    keep = sources != targets
    weights = rng.integers(1, 4, tasks)
    graph = communication_graph(weights, sources[keep], targets[keep], rng.integers(1, 9, int(keep.sum())))
    return PlacementProblem(graph=graph, machines=equal_machines(machines), imbalance=imbalance)


def _few_changed(problem: PlacementProblem, seed: int, changed: int) -> np.ndarray:
    """A good placement of which some tasks have been exchanged."""
    rng = np.random.default_rng(seed)
    machine_of = place(problem, "metis", settings=_QUICK).machine_of.copy()
    some = rng.choice(len(machine_of), changed, replace=False)
    machine_of[some] = machine_of[rng.permutation(some)]
    return machine_of


def test_the_same_partition_under_other_labels_moves_nothing() -> None:
    problem = _problem(1, 60, 4)
    found = place(problem, "metis", settings=_QUICK).machine_of
    present = present_placement(problem, (found + 1) % 4, move_cost=1.0)
    assert match_labels(problem, found, present).tolist() == ((found + 1) % 4).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_a_small_gain_is_no_reason_to_move_nearly_everything(seed: int) -> None:
    problem = _problem(seed, 240, 6)
    here = _few_changed(problem, seed, 6)
    free = place(problem, "metis", settings=MetisSettings(seed=seed + 7, starts=2, shakes=4))
    present = present_placement(problem, here)
    kept = place(problem, "metis", settings=MetisSettings(seed=seed + 7, starts=2, shakes=4), present=present)
    paid = kept.cost + float(present.prices[present.moved(kept.machine_of)].sum())
    assert len(present.moved(kept.machine_of)) <= 40 < len(present.moved(free.machine_of)) or free.cost < 0.7 * paid
    if is_within(problem, here, problem.imbalance):
        assert paid <= cost(problem, here) * (1 + 1e-9)


@pytest.mark.parametrize("most", [0, 1, 5])
def test_no_more_tasks_move_than_may(most: int) -> None:
    problem = _problem(3, 80, 4, imbalance=1.4)
    here = np.arange(80) % 4
    present = present_placement(problem, here, move_cost=0.0, max_moves=most)
    after = place(problem, "metis", settings=_QUICK, present=present).machine_of
    assert len(present.moved(after)) <= most
    assert cost(problem, after) < cost(problem, here) if most else cost(problem, after) == cost(problem, here)


def test_moves_that_cost_nothing_are_made_and_dear_ones_are_not() -> None:
    problem = _problem(5, 60, 3, imbalance=1.6)
    here = np.arange(60) % 3
    free = place(problem, "metis", settings=_QUICK, present=present_placement(problem, here, move_cost=0.0))
    dear = place(problem, "metis", settings=_QUICK, present=present_placement(problem, here, move_cost=1e9))
    assert free.cost < cost(problem, here)
    assert dear.machine_of.tolist() == here.tolist()


def test_a_heavy_task_stays_and_a_light_one_moves() -> None:
    graph = communication_graph([1, 1, 1, 1], [0, 1], [2, 3], [5, 5])
    problem = PlacementProblem(graph=graph, machines=equal_machines(2), imbalance=2.0)
    weights = np.array([9.0, 9.0, 1.0, 1.0])
    present = present_placement(problem, np.array([0, 0, 1, 1]), weights=weights, move_cost=1.0)
    assert place(problem, "metis", present=present).machine_of.tolist() == [0, 0, 0, 0]


def test_new_tasks_are_placed_and_an_overloaded_machine_is_relieved() -> None:
    problem = _problem(8, 40, 4)
    here = np.where(np.arange(40) < 30, 0, NOWHERE)
    present = present_placement(problem, here, move_cost=1e6)
    after = place(problem, "metis", settings=_QUICK, present=present)
    assert after.within_limit
    assert (after.machine_of >= 0).all()


def test_small_problems_from_where_they_are_are_never_worse_than_staying_and_near_the_best() -> None:
    """All placements of five tasks on two machines."""
    best_found = 0
    for seed in range(60):
        problem = _problem(seed, 5, 2, imbalance=1.6)
        rng = np.random.default_rng(seed)
        here = rng.integers(0, 2, 5)
        present = present_placement(problem, here, move_cost=float(rng.uniform(0, 4)))
        bound = attainable_bound(problem).bound

        def paid(machine_of: np.ndarray, problem=problem, present=present) -> float:
            return cost(problem, machine_of) + float(present.prices[present.moved(machine_of)].sum())

        every = [np.array(machines) for machines in itertools.product(range(2), repeat=5)]
        least = min(paid(machine_of) for machine_of in every if is_within(problem, machine_of, bound))
        new = place(problem, "metis", settings=_QUICK).machine_of
        after = place_from(problem, new, present, Deadline.after(None))
        assert is_within(problem, after, bound), limits(problem, bound)
        assert paid(after) >= least - 1e-9
        if is_within(problem, here, bound):
            assert paid(after) <= paid(here) + 1e-9
        best_found += paid(after) <= least + 1e-9
    assert best_found >= 48


def test_every_algorithm_measures_itself_right_on_500_small_problems() -> None:
    best_found, settings = 0, MetisSettings(starts=2, shakes=1)
    for seed in range(500):
        rng = np.random.default_rng(seed)
        tasks, machines = int(rng.integers(3, 7)), int(rng.integers(2, 4))
        problem = _problem(seed, tasks, min(machines, tasks), imbalance=float(rng.uniform(1.0, 1.6)))
        every = [np.array(m) for m in itertools.product(range(problem.machines.count), repeat=tasks)]
        within = [cost(problem, m) for m in every if is_within(problem, m, problem.imbalance)]
        for algorithm in ("even", "greedy", "metis"):
            found = place(problem, algorithm, settings=settings)
            assert found.cost == pytest.approx(cost(problem, found.machine_of))
            assert found.within_limit == is_within(problem, found.machine_of, problem.imbalance)
            assert not found.within_limit or found.cost >= min(within) - 1e-9
        assert found.within_limit == bool(within), seed
        best_found += not within or found.cost <= min(within) + 1e-9
    assert best_found >= 490


def _run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock.cli", "place", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_reads_its_own_answer_back(tmp_path: Path) -> None:
    tasks = [{"id": f"t{i}", "move": 2 if i else 1} for i in range(8)]
    edges = [{"from": f"t{i}", "to": f"t{i ^ 1}", "weight": 9} for i in range(8)]
    problem, answer = tmp_path / "p.json", tmp_path / "answer.json"
    problem.write_text(json.dumps({"tasks": tasks, "edges": edges}))
    answer.write_text(_run(problem, "--machines", "4", "--json").stdout)
    again = json.loads(_run(problem, "--machines", "4", "--present", answer, "--seed", "9", "--json").stdout)
    assert (again["moves"], again["moved"], again["move_cost"]) == (0, [], 0)
    assert again["assignment"] == json.loads(answer.read_text())["assignment"]
    answer.write_text(json.dumps({"assignment": {"t0": 7, "x": 0}}))
    refused = _run(problem, "--machines", "4", "--present", answer)
    assert refused.returncode == 1
    assert "the machine of task `t0` is 7; write a number from 0 to 3" in refused.stderr
    assert "names task `x`, which does not exist" in refused.stderr
    assert _run(problem, "--machines", "4", "--max-moves", "1").returncode == 2


def test_a_new_task_goes_where_there_is_room_though_nothing_may_move():
    graph = communication_graph([2, 2, 2], [0], [2], [9])
    problem = PlacementProblem(graph=graph, machines=sized_machines([4, 4]))
    present = present_placement(problem, np.array([0, 0, NOWHERE]), max_moves=0)
    start = np.array([0, 1, 0])
    assert place_from(problem, start, present, Deadline.after(None)).tolist() == [0, 0, 1]


@pytest.mark.parametrize("line", ["\u00b2", "9" * 5000, "-1", "1.0"])
def test_a_partition_file_with_a_line_that_is_no_machine_is_refused_with_it(tmp_path: Path, line: str) -> None:
    parts = tmp_path / "here.part"
    parts.write_text(f"0\n{line}\n", encoding="utf-8")
    problem = PlacementProblem(graph=communication_graph([1, 1], [0], [1], [1.0]), machines=equal_machines(2))
    with pytest.raises(UserError, match=r"line 2 is .*; write a number from 0 to 1"):
        read_present(parts, problem)


@pytest.mark.parametrize("seed", range(20))
def test_labels_are_matched_so_that_the_least_moves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    machines, tasks = int(rng.integers(1, 7)), 12
    problem = _problem(seed, tasks, machines)
    kinds = rng.integers(1, 3, machines)
    problem = replace(problem, machines=sized_machines(kinds * 9))
    here, new = (rng.integers(0, machines, tasks) for _ in range(2))
    here[rng.random(tasks) < 0.2] = NOWHERE
    present = present_placement(problem, here, weights=rng.integers(1, 5, tasks).astype(float), move_cost=1.0)
    least = min(
        float(present.prices[present.moved(np.array(labels)[new])].sum())
        for labels in itertools.permutations(range(machines))
        if (kinds[list(labels)] == kinds).all()
    )
    assert float(present.prices[present.moved(match_labels(problem, new, present))].sum()) == least


@pytest.mark.parametrize("has_racks", [False, True])
def test_nearly_as_many_machines_as_tasks_keep_the_deadline_and_little_memory(has_racks: bool) -> None:
    tasks, count = 12_000, 8_000
    ends = np.arange(tasks - 1)
    racks = [f"r{machine}" for machine in range(count)] if has_racks else None
    problem = PlacementProblem(
        graph=communication_graph(np.ones(tasks), ends, ends + 1, np.ones(tasks - 1)),
        machines=sized_machines(np.full(count, 9.0), racks=racks),
        imbalance=9.0,
    )
    present = present_placement(problem, np.arange(tasks) % count)
    tracemalloc.start()
    began = time.process_time()
    answer = place(problem, "metis", present=present, deadline_seconds=1)
    assert time.process_time() - began < 6
    assert tracemalloc.get_traced_memory()[1] < 400 * 2**20
    tracemalloc.stop()
    assert answer.within_limit
