"""The 200 operators of bargain detection, as in table 1 of the COLA paper."""

from __future__ import annotations

import importlib.util
import itertools
import time
from pathlib import Path

import pytest

from penstock.bench.workloads.cola_problems import bargain_problem, bargain_streams, large_problem
from penstock.fusion import Settings, fuse
from penstock.fusion.cola import basic_cola as cola
from penstock.fusion.problem.random_problems import random_problem

EXAMPLE = Path(__file__).parents[2] / "examples" / "bargains" / "bargains.py"


def test_the_graph_is_that_of_the_example():
    spec = importlib.util.spec_from_file_location("bargains_example", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    application = example.app(groups=28).program().application
    edges = [(sender, receiver) for sender, receiver, _, _ in application.edges()]
    assert sorted(edges) == sorted(bargain_streams())
    assert len(application.operators) == 200


@pytest.mark.parametrize(("hosts", "acyclic"), [(4, False), (7, True)])
def test_cola_cuts_less_than_greedy_and_throughput_beats_both(hosts, acyclic):
    problem = bargain_problem(hosts)
    settings = Settings(acyclic=acyclic)
    none, greedy, cola = (fuse(problem, algorithm, settings) for algorithm in ("none", "greedy", "cola"))
    best = fuse(problem, "throughput", settings, deadline_seconds=8)
    assert cola.feasible
    assert cola.cut < greedy.cut < none.cut / 2
    assert best.throughput_scale >= max(none.throughput_scale, greedy.throughput_scale, cola.throughput_scale)


def test_a_deadline_that_has_passed_still_brings_an_answer():
    problem = large_problem(300, 900, 4)
    for algorithm in ("cola", "advanced-cola", "throughput", "exact"):
        assert fuse(problem, algorithm, deadline_seconds=0).assignment.pes > 0


def test_the_same_seed_gives_the_same_fusion_however_busy_the_machine_is(monkeypatch):
    problem = random_problem(7, operators=20, hosts=3)
    one = fuse(problem, "throughput", Settings(seed=5))
    ticks = itertools.count(step=0.05)
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    other = fuse(problem, "throughput", Settings(seed=5))
    assert one.assignment.pe_of.tolist() == other.assignment.pe_of.tolist()


def test_small_pes_are_merged_again_where_splits_have_made_too_much_communication(monkeypatch):
    merged = []

    def watched(graph, groups, deadline):
        found = merge_to_fit(graph, groups, deadline)
        merged.append(found is not None and found is not groups)
        return found

    merge_to_fit = cola.merge_to_fit
    monkeypatch.setattr(cola, "merge_to_fit", watched)
    monkeypatch.setattr(cola, "make_fit", None)
    fusion = fuse(large_problem(300, 900, 3, utilization=0.74, seed=2), "cola", Settings(acyclic=True))
    assert merged == [True]
    assert fusion.feasible
