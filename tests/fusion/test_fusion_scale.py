"""Large problems: deadlines, memory, and answers that are never worse than the simple ones."""

from __future__ import annotations

import itertools
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial import cKDTree

from penstock.base.deadline import Deadline
from penstock.base.metis import part_graph
from penstock.bench.workloads.solver_shapes import SHAPES, shaped_problem
from penstock.fusion import Algorithm, Settings, fuse, fusion_problem
from penstock.fusion.algorithms.greedy_fuse import fuse_greedily
from penstock.fusion.algorithms.unfused import leave_unfused
from penstock.fusion.cola.basic_cola import fuse_by_cola
from penstock.fusion.cola.lemma import heavy_pairs
from penstock.fusion.graph.merging import Merger
from penstock.fusion.graph.super_graph import SuperGraph, super_graph
from penstock.fusion.problem.conflicts import valid_graph
from penstock.fusion.problem.costs import measure
from penstock.fusion.problem.fusion_problem import Assignment, FusionProblem, numbered
from penstock.fusion.problem.random_problems import random_problem
from penstock.ir.constraints import Constraint, ConstraintKind


def _nearby(operators: int, hosts: int, slack: float, seed: int = 1) -> FusionProblem:
    """Operators in a plane, connected with their neighbours."""
    rng = np.random.default_rng(seed)
    _, near = cKDTree(points := rng.random((operators, 2))).query(points, k=4)
    edges = {(min(v, u), max(v, u)) for v, row in enumerate(near.tolist()) for u in row[1:]}
    costs = rng.integers(5, 20, operators).astype(float)
    streams = [(u, v, float(rng.integers(1, 10))) for u, v in sorted(edges)]
    return fusion_problem(costs, streams, [costs.sum() * slack / hosts] * hosts)


def _plain_metis(problem: FusionProblem) -> Assignment:
    ends = np.r_[problem.sources, problem.targets], np.r_[problem.targets, problem.sources]
    shape = (problem.operators, problem.operators)
    matrix = sparse.coo_array((np.tile(problem.stream_costs, 2), ends), shape=shape).tocsr()
    weights = {"edge_weights": matrix.data.astype(int), "vertex_weights": problem.costs.astype(int)}
    parts = numbered(part_graph(problem.hosts.count, matrix.indptr, matrix.indices, **weights))
    return Assignment(pe_of=parts, host_of=np.arange(int(parts.max()) + 1))


@pytest.mark.parametrize(("operators", "hosts", "slack"), [(250, 8, 1.3), (300, 12, 2.0)])
def test_cola_cuts_no_more_than_plain_metis_nor_greedy(operators: int, hosts: int, slack: float) -> None:
    problem = _nearby(operators, hosts, slack)
    cola, greedy = fuse(problem, "cola", deadline_seconds=10), fuse(problem, "greedy")
    metis = measure(problem, _plain_metis(problem))
    assert cola.feasible
    assert metis.fits
    assert cola.cut <= metis.cut
    assert not greedy.feasible or cola.cut <= greedy.cut


@pytest.mark.parametrize("seed", range(4))
def test_cola_cuts_no_more_than_plain_metis_without_any_time(seed: int) -> None:
    problem = _nearby(260, 9, 1.6, seed)
    metis = measure(problem, _plain_metis(problem))
    assert metis.fits
    assert fuse(problem, "cola", deadline_seconds=0.0).cut <= metis.cut


@pytest.mark.parametrize("parts", [2_200, 6_600])
def test_cola_cuts_no_more_than_greedy_on_a_machine_that_is_too_slow(parts: int) -> None:
    """Every look at the clock takes a part of the time, so that it does not depend on this machine."""
    problem = shaped_problem("random", operators=1_100, hosts=12, is_constrained=False)
    graph = valid_graph(problem, acyclic=True, deadline=Deadline.after(None))

    def is_due() -> Deadline:
        looks = itertools.count()
        return Deadline(1.0, 0.0, clock=lambda: next(looks) / parts)

    cola, greedy = (measure(problem, run(graph, Settings(), is_due())) for run in (fuse_by_cola, fuse_greedily))
    assert cola.fits
    assert greedy.fits
    assert cola.cut <= greedy.cut


def test_cola_fits_a_tight_problem() -> None:
    problem = random_problem(0, operators=200, hosts=10, slack=1.6)
    assert fuse(problem, "cola", deadline_seconds=15).feasible


@pytest.mark.parametrize("seed", range(2))
def test_advanced_cola_fits_where_cola_fits(seed: int) -> None:
    problem = _nearby(60, 6, 1.25, seed)
    basic, advanced = (
        fuse(problem, a, Settings(threshold=0.0), deadline_seconds=10) for a in ("cola", "advanced-cola")
    )
    assert basic.feasible
    assert advanced.feasible
    assert advanced.cut <= 1.5 * basic.cut


@pytest.mark.parametrize("seed", range(2))
def test_pairs_on_different_hosts_are_cut_like_pairs_in_different_pes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = random_problem(seed, operators=40, hosts=6, slack=4.0)
    pairs = [tuple(f"o{i}" for i in rng.choice(40, 2, replace=False)) for _ in range(6)]
    cuts = []
    for kind in (ConstraintKind.PE_EXLOCATION, ConstraintKind.HOST_EXLOCATION):
        problem = replace(base, constraints=tuple(Constraint(kind=kind, operators=pair) for pair in pairs))
        cuts.append(fuse(problem, "advanced-cola", Settings(threshold=0.0), deadline_seconds=10).cut)
    assert cuts[1] <= 1.2 * cuts[0]


def test_a_hub_with_many_leaves_is_merged_in_linear_time_and_space() -> None:
    leaves = 4000
    problem = fusion_problem([5.0] * (leaves + 1), [(0, v, 1.0) for v in range(1, leaves + 1)], [1e6] * 3)
    graph = super_graph(problem)
    tracemalloc.start()
    began = time.process_time()
    merger = Merger(graph)
    merger.merge_by_benefit(lambda one, other: True, Deadline.after(None))
    heavy_pairs(graph)
    assert len(merger.groups) == 1
    assert time.process_time() - began < 12
    assert tracemalloc.get_traced_memory()[1] < 60 * 2**20
    tracemalloc.stop()


@pytest.mark.parametrize("acyclic", [False, True])
def test_isomorphic_replicas_keep_the_deadline(acyclic: bool) -> None:
    size = 500
    chains = [(r * size + i, r * size + i + 1, 3.0) for r in range(2) for i in range(size - 1)]
    replicas = tuple(tuple(f"o{r * size + i}" for i in range(size)) for r in range(2))
    alike = Constraint(kind=ConstraintKind.HIGH_AVAILABILITY, replicas=replicas, isomorphic=True)
    problem = fusion_problem([5.0] * (2 * size), chains, [2000.0] * 8, constraints=[alike])
    for algorithm in ("greedy", "all"):
        began = time.monotonic()
        assert fuse(problem, algorithm, Settings(acyclic=acyclic), deadline_seconds=3).assignment.pes
        assert time.monotonic() - began < 6


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_with_all_constraints_is_answered_in_time(shape: str) -> None:
    problem = shaped_problem(shape, operators=1500, hosts=20)
    began = time.monotonic()
    assert fuse(problem, "cola", deadline_seconds=2).assignment.pes
    assert time.monotonic() - began < 5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-250, 1e-9, 1e9, 1e99])
def test_cuts_are_the_same_in_any_unit(unit: float) -> None:
    base = random_problem(3, operators=24, hosts=3, slack=1.8)
    hosts = replace(base.hosts, capacities=base.hosts.capacities * unit)
    scaled = replace(base, costs=base.costs * unit, stream_costs=base.stream_costs * unit, hosts=hosts)
    cuts = [fuse(problem, "cola").cut for problem in (base, scaled)]
    assert cuts[1] / unit == pytest.approx(cuts[0])


def test_exact_uses_all_of_its_time_where_it_cannot_search_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def start(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
        given.append(deadline.left())
        return leave_unfused(graph, settings, deadline)

    monkeypatch.setattr("penstock.fusion.algorithms.exact.fuse_for_throughput", start)
    problem = fusion_problem([1.0] * 300, [(v, v + 1, 0.1) for v in range(299)], [200.0] * 4)
    fuse(problem, "exact", deadline_seconds=10)
    assert given[0] > 5


@pytest.mark.parametrize("algorithm", ["cola", "throughput"])
@pytest.mark.parametrize("capacity", [1e-90, 1e90])
def test_hosts_may_differ_by_any_factor(algorithm: Algorithm, capacity: float) -> None:
    problem = fusion_problem([4, 4, 4, 4], [(0, 1, 9), (1, 2, 1), (2, 3, 9)], [12, 12, capacity])
    assert fuse(problem, algorithm).feasible


@pytest.mark.parametrize("algorithm", ["greedy", "cola"])
def test_thousands_of_isomorphic_constraints_keep_the_deadline(algorithm: Algorithm) -> None:
    pairs = [((f"o{2 * i}",), (f"o{2 * i + 1}",)) for i in range(3000)]
    alike = [Constraint(kind=ConstraintKind.HIGH_AVAILABILITY, replicas=pair, isomorphic=True) for pair in pairs]
    problem = fusion_problem([1.0] * 6000, [(0, 1, 1.0)], [1e4] * 2, constraints=alike)
    began = time.process_time()
    assert fuse(problem, algorithm, deadline_seconds=1).feasible
    assert time.process_time() - began < 4


def test_as_many_replicas_as_hosts_keep_the_deadline() -> None:
    replicas = tuple(tuple(f"o{3 * r + i}" for i in range(3)) for r in range(2500))
    alike = Constraint(kind=ConstraintKind.HIGH_AVAILABILITY, replicas=replicas, isomorphic=True)
    problem = fusion_problem([1.0] * 7500, [(0, 1, 1.0)], [9.0] * 2500, constraints=[alike])
    began = time.process_time()
    assert fuse(problem, "cola", deadline_seconds=1).feasible
    assert time.process_time() - began < 4
