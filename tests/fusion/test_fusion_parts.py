"""The pieces that the algorithms are made of, each against its definition or its theorem."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from fusion_instances import partitions, size_by_definition, valid_fusions, varied_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.bench.workloads.solver_shapes import shaped_problem
from penstock.fusion import fuse
from penstock.fusion.algorithms.unfused import leave_unfused
from penstock.fusion.cola.lemma import fuse_by_lemma
from penstock.fusion.cola.lpt import schedule_by_lpt
from penstock.fusion.cola.pe_scheduler import schedule
from penstock.fusion.cuts.cut_graph import CutGraph, cut_graph
from penstock.fusion.cuts.improvement import improve_cut
from penstock.fusion.cuts.leighton_rao import cut_by_flow, ratio_bound
from penstock.fusion.cuts.ratio_cut import minimum_ratio_cut
from penstock.fusion.cuts.spectral import cut_by_spectrum
from penstock.fusion.graph import pe_order
from penstock.fusion.graph.coarsest import coarsest_groups
from penstock.fusion.graph.pe_order import Order
from penstock.fusion.graph.splitting import Splitter
from penstock.fusion.graph.super_graph import Contradiction, super_graph
from penstock.fusion.problem.conflicts import valid_graph
from penstock.fusion.problem.costs import measure
from penstock.fusion.problem.fusion_problem import Assignment, fusion_problem
from penstock.fusion.problem.random_problems import random_problem
from penstock.fusion.problem.settings import Settings
from penstock.fusion.problem.validity import is_acyclic, violations
from penstock.fusion.search.descent import Descent
from penstock.fusion.search.live import Live

SEEDS = st.integers(0, 100_000)
QUICK = settings(max_examples=40, deadline=None)


def _random_cut_graph(seed: int, most: int, *, directed: bool = False) -> CutGraph:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, most + 1))
    edges = [(int(rng.integers(v)), v, float(rng.integers(1, 20))) for v in range(1, count)]
    edges += [(*sorted(rng.choice(count, 2, replace=False).tolist()), float(rng.integers(1, 20))) for _ in range(count)]
    before = [edge[:2] for edge in edges] if directed else ()
    return cut_graph(rng.integers(1, 10, count), edges, before=before)


def _least_ratio(graph: CutGraph) -> float:
    sides = itertools.product([False, True], repeat=graph.vertices)
    return min(graph.sparsity(np.array(side)) for side in sides if graph.is_legal(np.array(side)))


@given(SEEDS)
@QUICK
def test_sizes_cut_and_loads_follow_equation_1(seed):
    problem, _ = varied_problem(seed, most_operators=8, most_hosts=3)
    rng = np.random.default_rng(seed)
    labels = np.unique(rng.integers(0, 4, problem.operators), return_inverse=True)[1]
    fusion = Assignment(pe_of=labels, host_of=rng.integers(0, problem.hosts.count, labels.max() + 1))
    measures = measure(problem, fusion)
    sizes = [size_by_definition(problem, set(pe)) for pe in fusion.members()]
    assert measures.sizes == pytest.approx(sizes)
    # Every stream that is cut is paid for by both of its ends.
    assert measures.sizes.sum() == pytest.approx(problem.costs.sum() + 2 * measures.cut)
    assert measures.loads.sum() == pytest.approx(measures.sizes.sum())


def test_a_pe_uses_one_core_unless_it_is_parallel():
    one = Assignment(pe_of=np.array([0]), host_of=np.array([0]))
    for channels, scale in ((1, 1.0), (2, 2.0), (9, 4.0)):
        problem = fusion_problem([10], [], [40], cores=[4], channels=[channels])
        assert measure(problem, one).throughput_scale == pytest.approx(scale)


def test_a_full_link_limits_the_rates():
    problem = fusion_problem([1, 1], [(0, 1, 0)], [100, 100], stream_bytes=[500], link_bytes=[1000, 250])
    apart = Assignment(pe_of=np.array([0, 1]), host_of=np.array([0, 1]))
    here = Assignment(pe_of=np.array([0, 1]), host_of=np.array([0, 0]))
    assert measure(problem, apart).throughput_scale == pytest.approx(0.5)
    assert measure(problem, here).throughput_scale == pytest.approx(50.0)


@pytest.mark.parametrize("seed", range(25))
def test_lemma_1_keeps_an_optimum_solution(seed):
    problem = random_problem(seed, operators=5, hosts=2, is_dag=seed % 2 == 0, slack=2.0)
    acyclic = seed % 4 == 0
    graph = super_graph(problem, acyclic=acyclic)
    members = fuse_by_lemma(graph).members
    fitting = [
        (measured.cut, measured.bottleneck, all(len({*fusion.pe_of[list(group)]}) == 1 for group in members))
        for fusion in valid_fusions(problem, acyclic)
        if (measured := measure(problem, fusion)).fits
    ]
    for value in (0, 1):
        best = min((found[value] for found in fitting), default=0.0)
        glued = min((found[value] for found in fitting if found[2]), default=0.0)
        assert glued == pytest.approx(best)


def test_lemma_1_finds_something_to_glue():
    found = [random_problem(seed, operators=8, hosts=2) for seed in range(20)]
    assert sum(fuse_by_lemma(super_graph(problem)).vertices < 8 for problem in found) > 5


@given(SEEDS)
@QUICK
def test_validity_persists_under_splitting(seed):
    problem, acyclic = varied_problem(seed, most_operators=10, most_hosts=3)
    try:
        graph = valid_graph(problem, acyclic=acyclic)
    except Infeasible:
        return
    splitter = Splitter(graph, coarsest_groups(graph))
    plan = None
    while (number := splitter.largest(splitter.broken() or None)) is not None:
        before = {v: host for pe, host in zip(splitter.pes(), plan, strict=True) for v in pe.vertices} if plan else {}
        splitter.split(number, apart=True)
        pes = [pe.vertices for pe in splitter.pes()]
        fusion = graph.assignment(pes, [before.get(pe[0], 0) for pe in pes])
        assert not acyclic or is_acyclic(problem, fusion)
        if plan:
            assert list(violations(problem, fusion, acyclic=acyclic)) == []
        plan = schedule(graph, splitter.pes()).host_of if not splitter.broken() else None


@given(st.lists(st.integers(1, 50), min_size=1, max_size=9), st.integers(1, 3))
@QUICK
def test_lpt_meets_its_bound(sizes, hosts):
    graph = super_graph(fusion_problem(sizes, [], [100.0] * hosts))
    host_of = schedule_by_lpt(graph, [graph.pe((v,)) for v in range(len(sizes))])
    largest = max(sum(size for size, h in zip(sizes, host_of, strict=True) if h == host) for host in range(hosts))
    least = min(
        max(sum(size for size, h in zip(sizes, chosen, strict=True) if h == host) for host in range(hosts))
        for chosen in itertools.product(range(hosts), repeat=len(sizes))
    )
    assert largest <= least * (4 / 3 - 1 / (3 * hosts)) + 1e-9


@given(SEEDS)
@settings(max_examples=25, deadline=None)
def test_the_program_schedules_no_worse_than_lpt(seed):
    problem, _ = varied_problem(seed, most_operators=9, most_hosts=3)
    try:
        graph = super_graph(problem)
    except Contradiction:
        return
    pes = [graph.pe((v,)) for v in range(graph.vertices)]
    greedy, best = schedule_by_lpt(graph, pes), schedule(graph, pes)
    if greedy is not None:
        loads = np.bincount(greedy, [pe.size for pe in pes], problem.hosts.count)
        assert best.utilization <= (loads / problem.hosts.capacities).max() + 1e-9


@given(SEEDS)
@QUICK
def test_the_ratio_cut_is_within_the_logarithmic_factor(seed):
    graph = _random_cut_graph(seed, 9)
    least, bound = _least_ratio(graph), ratio_bound(graph)
    found, side = cut_by_flow(graph)
    assert graph.is_legal(side)
    assert bound <= least * (1 + 1e-9) <= found * (1 + 1e-6)
    assert found <= least * 2 * math.log(graph.vertices)


def test_the_ratio_cut_is_nearly_always_the_best_one():
    graphs = [_random_cut_graph(seed, 10) for seed in range(60)]
    best = [graph.sparsity(minimum_ratio_cut(graph)) <= _least_ratio(graph) * (1 + 1e-6) for graph in graphs]
    assert sum(best) >= 57


@given(SEEDS, st.booleans())
@QUICK
def test_the_chosen_cut_is_legal_and_not_worse_than_either_method(seed, directed):
    graph = _random_cut_graph(seed, 40, directed=directed)
    side = minimum_ratio_cut(graph)
    assert graph.is_legal(side)
    assert graph.sparsity(side) <= cut_by_flow(graph)[0] * (1 + 1e-6)
    if graph.vertices >= 24:
        assert graph.sparsity(side) <= cut_by_spectrum(graph)[0] * (1 + 1e-6)


@given(SEEDS, st.booleans())
@QUICK
def test_improvement_keeps_a_cut_legal_and_never_worse(seed, directed):
    graph = _random_cut_graph(seed, 30, directed=directed)
    order = graph.ordered(np.random.default_rng(seed).random(graph.vertices))
    side = np.zeros(graph.vertices, bool)
    side[order[: graph.vertices // 2]] = True
    ratio, after = improve_cut(graph, side)
    assert graph.is_legal(after)
    assert ratio == pytest.approx(graph.sparsity(after))
    assert ratio <= graph.sparsity(side) * (1 + 1e-9)


def test_pairs_that_should_be_apart_are_cut_apart():
    weights, edges = [9, 1, 1, 9], [(0, 1, 4), (1, 2, 5), (2, 3, 4)]
    usual = minimum_ratio_cut(cut_graph(weights, edges))
    assert usual[1] == usual[2]
    added = minimum_ratio_cut(cut_graph(weights, edges, apart=[(1, 2)]))
    assert added[1] != added[2]


@given(SEEDS)
@QUICK
def test_the_order_refuses_exactly_the_merges_that_close_a_cycle(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, operators=8, hosts=1)
    graph = super_graph(problem, acyclic=True)
    order = Order(graph.successors, graph.predecessors)
    label = np.arange(8)
    for _ in range(12):
        one, other = rng.choice(np.unique(label), 2, replace=False).tolist() if len(np.unique(label)) > 1 else (0, 0)
        if one == other:
            return
        merged = np.where(label == other, one, label)
        numbers = np.unique(merged, return_inverse=True)[1]
        fusion = Assignment(pe_of=numbers, host_of=np.zeros(numbers.max() + 1, int))
        assert order.may_merge(one, other) == is_acyclic(problem, fusion)
        if order.may_merge(one, other):
            order.merge(one, other)
            label = merged


@pytest.mark.parametrize("seed", range(2, 8))
def test_top_down_fusion_starts_without_cycles_whatever_flows_between_replicas(seed):
    problem = shaped_problem("tree", operators=300, hosts=20, seed=seed)
    graph = super_graph(problem, acyclic=True)
    pes = [pe for group in coarsest_groups(graph) for pe in graph.real(group)]
    assert is_acyclic(problem, graph.assignment(pes, [0] * len(pes)))
    if seed == 2:
        assert fuse(problem, "cola", Settings(acyclic=True), deadline_seconds=2.0).feasible


@pytest.mark.parametrize("closest", [pe_order._CLOSEST, 0.9])
def test_an_order_of_many_nodes_stays_one_while_they_are_merged(monkeypatch, closest):
    monkeypatch.setattr(pe_order, "_CLOSEST", closest)
    rng = np.random.default_rng(1)
    for seed in range(12):
        graph = super_graph(random_problem(seed, operators=40, hosts=1), acyclic=True)
        order, whole = Order(graph.successors, graph.predecessors), nx.DiGraph()
        whole.add_nodes_from(range(40))
        whole.add_edges_from((u, v) for u in range(40) for v in graph.successors[u])
        for _ in range(120):
            one, other = rng.choice(list(whole), 2, replace=False).tolist()
            merged = nx.contracted_nodes(whole, one, other, self_loops=False)
            assert order.may_merge(one, other) == nx.is_directed_acyclic_graph(merged)
            if order.may_merge(one, other) and len(whole) > 3:
                order.merge(one, other)
                whole = merged
            assert all(order.rank[u] < order.rank[v] for u, v in whole.edges)


@given(SEEDS)
@QUICK
def test_local_search_never_makes_a_fusion_worse_or_invalid(seed):
    problem, acyclic = varied_problem(seed, most_operators=10, most_hosts=3)
    try:
        graph = valid_graph(problem, acyclic=acyclic)
    except Infeasible:
        return
    start = leave_unfused(graph, Settings(), Deadline.after(None))
    live = Live(graph, graph.pes_of(start), start.host_of.tolist())
    Descent(live, np.random.default_rng(seed), Deadline.after(2.0)).run()
    after = graph.assignment(*live.pes())
    assert list(violations(problem, after, acyclic=acyclic)) == []
    before, now = measure(problem, start), measure(problem, after)
    assert live.cut == pytest.approx(now.cut, abs=1e-6)
    assert live.loads == pytest.approx(now.loads.tolist(), abs=1e-6)
    assert now.bottleneck <= before.bottleneck * (1 + 1e-9) if before.fits else True


def test_there_are_as_many_partitions_as_bell_numbers():
    assert [sum(1 for _ in partitions(n)) for n in range(1, 6)] == [1, 2, 5, 15, 52]
