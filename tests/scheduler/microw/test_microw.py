"""microW: the nearest assignment on small cases, and every limit kept whatever vanishes."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.scheduler.microw.microw import Assignment, assign
from penstock.scheduler.problem.admission_problem import Pe
from penstock.scheduler.problem.nodes import Cluster, Constraint, Needs, Node, Rules
from penstock.scheduler.simulation.audit import audit

NODES = ("n0", "n1", "n2")
PES = tuple(Pe(id=name, max_mips=100.0) for name in ("a", "b", "c"))


def nearest_by_brute_force(goals: dict[str, float], candidates: dict[str, list[str]], cluster: Cluster) -> float:
    """The least total miss over every choice of nodes, each settled by a maximum flow."""
    live = {node.id: node.mips for node in cluster.live_nodes}
    choices = []
    for pe in PES:
        mine = [node for node in candidates[pe.id] if node in live]
        most = min(cluster.needs_of(pe.id).max_nodes, len(mine))
        choices.append([set(some) for count in range(most + 1) for some in combinations(mine, count)])
    best = sum(goals.values())
    for used in product(*choices):
        if _moves_are_legal(dict(zip(goals, used, strict=True)), cluster):
            best = min(best, sum(goals.values()) - _flow(goals, used, live))
    return best


def _moves_are_legal(used: dict[str, set[str]], cluster: Cluster) -> bool:
    started = [node for pe, nodes in used.items() if pe in cluster.current for node in nodes - set(cluster.current[pe])]
    limit, each = cluster.rules.max_moves, cluster.rules.max_moves_per_node
    return (limit is None or len(started) <= limit) and (
        each is None or all(started.count(node) <= each for node in NODES)
    )


def _flow(goals: dict[str, float], used: tuple[set[str], ...], live: dict[str, float]) -> float:
    graph = nx.DiGraph()
    graph.add_nodes_from(["source", "sink"])
    for (pe, goal), nodes in zip(goals.items(), used, strict=True):
        graph.add_edge("source", pe, capacity=goal)
        for node in nodes:
            graph.add_edge(pe, node, capacity=goal)
    for node, mips in live.items():
        graph.add_edge(node, "sink", capacity=mips)
    return float(nx.maximum_flow_value(graph, "source", "sink"))


situations = st.fixed_dictionaries(
    {
        "mips": st.lists(st.integers(20, 100), min_size=3, max_size=3),
        "goals": st.lists(st.integers(0, 100), min_size=3, max_size=3),
        "home": st.lists(st.sampled_from([None, *NODES]), min_size=3, max_size=3),
        "out": st.lists(st.sampled_from(NODES), min_size=3, max_size=3),
        "degree": st.lists(st.integers(1, 2), min_size=3, max_size=3),
        "down": st.sampled_from([(), ("n0",), ("n1", "n2")]),
        "moves": st.sampled_from([None, 0, 1, 2]),
        "each": st.sampled_from([None, 1]),
    }
)


def build(situation: dict) -> tuple[dict[str, float], dict[str, list[str]], Cluster]:  # type: ignore[type-arg]
    ids = [pe.id for pe in PES]
    current = {pe: {home: 1.0} for pe, home in zip(ids, situation["home"], strict=True) if home}
    cluster = Cluster(
        nodes=tuple(Node(id=n, mips=float(m)) for n, m in zip(NODES, situation["mips"], strict=True)),
        needs={pe: Needs(max_nodes=d) for pe, d in zip(ids, situation["degree"], strict=True)},
        rules=Rules(max_moves=situation["moves"], max_moves_per_node=situation["each"], min_fraction=0.0),
        current=current,
    ).with_down(frozenset(situation["down"]))
    candidates = {pe: [n for n in NODES if n != out] for pe, out in zip(ids, situation["out"], strict=True)}
    return dict(zip(ids, map(float, situation["goals"]), strict=True)), candidates, cluster


def missed(goals: dict[str, float], answer: Assignment) -> float:
    return sum(goals.values()) - sum(answer.total_mips().values())


@settings(max_examples=120, deadline=None)
@given(situations)
def test_the_assignment_is_the_nearest_to_the_goals(situation: dict) -> None:  # type: ignore[type-arg]
    goals, candidates, cluster = build(situation)
    answer = assign(PES, goals, candidates, cluster)
    assert answer.is_optimal
    assert missed(goals, answer) == pytest.approx(nearest_by_brute_force(goals, candidates, cluster), abs=0.05)
    assert list(audit(PES, candidates, answer.mips, cluster)) == []


@settings(max_examples=120, deadline=None)
@given(situations, st.booleans(), st.sampled_from([0.0, 0.2]))
def test_the_quick_assignment_keeps_every_limit(situation: dict, colocate: bool, fraction: float) -> None:  # type: ignore[type-arg]
    goals, candidates, cluster = build(situation)
    if colocate:
        candidates["b"] = candidates["a"]
        cluster = replace(cluster, constraints=(Constraint(kind="colocation", pes=("a", "b")),))
        cluster = replace(cluster, current={pe: at for pe, at in cluster.current.items() if pe == "c"})
    cluster = replace(cluster, rules=replace(cluster.rules, min_fraction=fraction))
    answer = assign(PES, goals, candidates, cluster, exact=False)
    assert list(audit(PES, candidates, answer.mips, cluster)) == []
    assert missed(goals, answer) >= -1e-6
    for shares in answer.mips.values():
        assert all(mips >= fraction * sum(shares.values()) - 1e-6 for mips in shares.values())


def test_a_node_that_vanishes_is_left_within_the_limit_on_moves() -> None:
    now = {"a": {"n0": 40.0}, "b": {"n0": 40.0}, "c": {"n1": 10.0}}
    cluster = Cluster(nodes=tuple(Node(id=n, mips=100.0) for n in NODES), rules=Rules(max_moves=1), current=now)
    goals = {"a": 40.0, "b": 30.0, "c": 10.0}
    candidates = {name: list(NODES) for name in goals}
    answer = assign(PES, goals, candidates, cluster.with_down(frozenset({"n0"})))
    assert answer.moves == 1
    assert answer.missed_mips == pytest.approx({"b": 30.0})
    assert answer.mips["b"] == {}


def test_a_new_pe_starts_although_no_move_is_left() -> None:
    cluster = Cluster(nodes=(Node(id="n0", mips=100.0),), rules=Rules(max_moves=0))
    assert assign(PES[:1], {"a": 50.0}, {"a": ["n0"]}, cluster).mips == {"a": {"n0": 50.0}}


def test_minimums_are_met_before_goals() -> None:
    pes = [Pe(id="a", max_mips=100.0, min_mips=30.0), Pe(id="b", max_mips=100.0)]
    cluster = Cluster(nodes=(Node(id="n0", mips=50.0),))
    got = assign(pes, {"a": 60.0, "b": 60.0}, {"a": ["n0"], "b": ["n0"]}, cluster).total_mips()
    assert got["a"] >= 30.0 - 1e-6
    assert sum(got.values()) == pytest.approx(50.0)


def test_colocated_pes_use_the_same_nodes() -> None:
    together = Constraint(kind="colocation", pes=("a", "b"))
    cluster = Cluster(nodes=tuple(Node(id=n, mips=60.0) for n in NODES), constraints=(together,))
    candidates = {"a": ["n0", "n1"], "b": ["n0", "n1"], "c": ["n0"]}
    answer = assign(PES, {"a": 30.0, "b": 30.0, "c": 60.0}, candidates, cluster)
    assert set(answer.mips["a"]) == set(answer.mips["b"]) == {"n1"}
    assert answer.missed_mips == {}


def test_a_move_is_counted_for_each_colocated_pe_that_makes_it() -> None:
    together = Constraint(kind="colocation", pes=("a", "b"))
    now = {"a": {"n0": 10.0}, "b": {"n1": 10.0}}
    cluster = Cluster(nodes=tuple(Node(id=n, mips=100.0) for n in NODES), constraints=(together,), current=now)
    candidates = {name: list(NODES) for name in "ab"}
    goals = {"a": 20.0, "b": 20.0}
    assert assign(PES[:2], goals, candidates, cluster).moves == 1
    stuck = replace(cluster, rules=Rules(max_moves=0))
    assert assign(PES[:2], goals, candidates, stuck).mips == {"a": {}, "b": {}}


def test_nothing_moves_when_every_goal_is_met_where_it_is() -> None:
    now = {"a": {"n0": 10.0}, "b": {"n1": 10.0}, "c": {"n2": 10.0}}
    cluster = Cluster(nodes=tuple(Node(id=n, mips=100.0) for n in NODES), current=now)
    answer = assign(PES, dict.fromkeys("abc", 90.0), {name: list(NODES) for name in "abc"}, cluster)
    assert answer.moves == 0
    assert {pe: list(shares) for pe, shares in answer.mips.items()} == {"a": ["n0"], "b": ["n1"], "c": ["n2"]}
