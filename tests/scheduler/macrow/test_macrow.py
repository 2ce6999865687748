"""macroW: exact on small cases, every rule kept, and reasons where nothing fits."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.scheduler.macrow.exact_placement import solve
from penstock.scheduler.macrow.greedy_placement import place_greedily
from penstock.scheduler.macrow.macrow import choose_candidates, overallocate
from penstock.scheduler.macrow.metrics import broken_rules, metrics, objective
from penstock.scheduler.macrow.tally import Tally
from penstock.scheduler.macrow.task import Task, build_task
from penstock.scheduler.problem.admission_problem import Flow, Output, Pe
from penstock.scheduler.problem.nodes import Cluster, Constraint, Link, MetricWeights, Needs, Node, Rules

ONE = Flow(mips_per_tps=1.0, selectivity=1.0)


def chain(goals: list[float], *, floor: float = 0.0) -> tuple[list[Pe], dict[str, float]]:
    """PEs p0 -> p1 -> ..., each with its goal."""
    pes = []
    for i, goal in enumerate(goals):
        inputs = (f"s{i - 1}",) if i else ()
        offered = 0.0 if i else 1000.0
        out = Output(stream=f"s{i}", rate=ONE)
        pes.append(
            Pe(id=f"p{i}", min_mips=floor * goal, max_mips=goal, inputs=inputs, offered_tps=offered, outputs=(out,))
        )
    return pes, {f"p{i}": goal for i, goal in enumerate(goals)}


def nodes(*mips: float, **more: float) -> tuple[Node, ...]:
    return tuple(Node(id=f"n{i}", mips=m, bandwidth_mbps=10.0, **more) for i, m in enumerate(mips))  # type: ignore[arg-type]


def brute_force(task: Task) -> float | None:
    """The best objective over every way to put each unit whole on one node."""
    best = None
    for where in product(range(len(task.nodes)), repeat=len(task.units)):
        fractions = np.zeros(task.allowed.shape)
        fractions[range(len(task.units)), where] = 1.0
        if not broken_rules(task, fractions > 0, fractions):
            value = objective(task, fractions)
            best = value if best is None else min(best, value)
    return best


def small_cluster(mips: list[int], memory: float, places: int | None, weights: dict[str, float]) -> Cluster:
    return Cluster(
        nodes=tuple(
            Node(id=f"n{i}", mips=float(m), memory_mb=memory, max_pes=places, bandwidth_mbps=0.5)
            for i, m in enumerate(mips)
        ),
        links=(Link(id="rack", nodes=frozenset({"n0"}), capacity_mbps=0.25),),
        rules=Rules(weights=MetricWeights(**weights), min_fraction=0.2),
    )


TOGETHER = Constraint(kind="colocation", pes=("p1", "p2"))
ALL_APART = Constraint(kind="exlocation", pes=("p0", "p1", "p2"))

small_clusters = st.builds(
    small_cluster,
    st.lists(st.integers(100, 200), min_size=2, max_size=3),
    st.sampled_from([2000.0, 3000.0]),
    st.sampled_from([2, 3, None]),
    st.fixed_dictionaries(
        {
            name: st.sampled_from([0.0, 1.0, 3.0])
            for name in ("maximum_utilization", "average_traffic", "maximum_traffic", "maximum_bandwidth")
        }
    ),
)

constraint_sets = st.lists(
    st.one_of(
        st.builds(lambda a, b: Constraint(kind="exlocation", pes=(a, b)), st.just("p0"), st.sampled_from(["p1", "p2"])),
        st.just(ALL_APART),
        st.just(TOGETHER),
        st.just(Constraint(kind="exclusive", pes=("p0",))),
        st.just(Constraint(kind="resource_match", pes=("p0", "p3"), nodes=("n0", "n1"))),
        st.just(Constraint(kind="fixed", pes=("p3",), nodes=("n1",))),
    ),
    max_size=3,
)


NO_AVERAGES = {"maximum_utilization": 3.0, "average_traffic": 0.0, "maximum_traffic": 1.0, "maximum_bandwidth": 0.0}


# A solver once proved another answer to be the best of this one.
@example(small_cluster([117, 100, 108], 2000.0, 2, NO_AVERAGES), [TOGETHER], [10, 10, 34, 21], 0)
@settings(max_examples=500, deadline=None)
@given(small_clusters, constraint_sets, st.lists(st.integers(10, 60), min_size=4, max_size=4), st.integers(0, 9))
def test_the_program_matches_brute_force_on_small_cases(
    cluster: Cluster, constraints: list[Constraint], goals: list[int], seed: int
) -> None:
    pes, wanted = chain([float(goal) for goal in goals], floor=1.0)
    current = {f"p{i}": {f"n{(seed + i) % 2}": 1.0} for i in range(seed % 4)}
    rules = replace(cluster.rules, max_moves=seed % 3 + 1)
    needs = {pe.id: Needs(memory_mb=900.0) for pe in pes}
    cluster = replace(cluster, constraints=tuple(constraints), current=current, rules=rules, needs=needs)
    task = build_task(pes, wanted, cluster)
    best, found = brute_force(task), solve(task)
    if best is None:
        assert found.is_infeasible
        with pytest.raises(Infeasible):
            choose_candidates(pes, wanted, cluster)
        return
    assert found.used is not None
    assert found.fractions is not None
    assert broken_rules(task, found.used, found.fractions) == []
    assert objective(task, found.fractions) == pytest.approx(best, abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(small_clusters, constraint_sets, st.lists(st.integers(10, 90), min_size=4, max_size=6), st.integers(1, 3))
def test_the_quick_search_keeps_every_rule_and_never_beats_the_program(
    cluster: Cluster, constraints: list[Constraint], goals: list[int], degree: int
) -> None:
    pes, wanted = chain([float(goal) for goal in goals])
    needs = {pe.id: Needs(memory_mb=400.0, max_nodes=degree) for pe in pes}
    task = build_task(pes, wanted, replace(cluster, constraints=tuple(constraints), needs=needs))
    quick = place_greedily(task, Deadline.after(None))
    if quick is not None:
        best = solve(task)
        assert broken_rules(task, *quick) == []
        assert best.fractions is not None
        assert objective(task, best.fractions) <= objective(task, quick[1]) + 1e-5


@settings(max_examples=60, deadline=None)
@given(small_clusters, constraint_sets, st.lists(st.integers(10, 60), min_size=4, max_size=5))
def test_candidates_keep_every_rule_as_if_all_of_them_were_used(
    cluster: Cluster, constraints: list[Constraint], goals: list[int]
) -> None:
    pes, wanted = chain([float(goal) for goal in goals])
    needs = {pe.id: Needs(memory_mb=400.0) for pe in pes}
    task = build_task(pes, wanted, replace(cluster, constraints=tuple(constraints), needs=needs))
    found = place_greedily(task, Deadline.after(None))
    if found is not None:
        candidates = overallocate(task, found[0], 2.0)
        assert broken_rules(task, candidates) == []
        assert (candidates | ~found[0]).all()


@settings(max_examples=30, deadline=None)
@given(small_clusters, st.integers(0, 10_000))
def test_the_tally_agrees_with_the_metrics_after_any_changes(cluster: Cluster, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pes, wanted = chain(list(rng.uniform(10, 60, 5)))
    task = build_task(pes, wanted, cluster)
    fractions = rng.dirichlet(np.ones(len(task.nodes)), 5)
    tally = Tally(task, fractions)
    for unit in rng.integers(0, 5, 8):
        tally.set(int(unit), rng.dirichlet(np.ones(len(task.nodes))) * rng.uniform(0.5, 1.0))
    assert tally.objective() == pytest.approx(objective(task, tally.fractions))


def test_a_greedy_plan_is_near_the_best_on_average() -> None:
    ratios = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        pes, wanted = chain(list(rng.uniform(10, 60, 7)))
        task = build_task(pes, wanted, Cluster(nodes=nodes(120.0, 150.0, 180.0)))
        quick, best = place_greedily(task, Deadline.after(None)), solve(task)
        assert quick is not None
        assert best.fractions is not None
        ratios.append(objective(task, quick[1]) / objective(task, best.fractions))
    assert np.mean(ratios) <= 1.15


def test_traffic_pulls_together_and_utilization_pulls_apart() -> None:
    pes, goals = chain([50.0, 50.0])
    apart = Rules(weights=MetricWeights(average_traffic=0.0, maximum_traffic=0.0, average_bandwidth=0.0))
    together = Rules(weights=MetricWeights(maximum_utilization=0.0))
    spread = choose_candidates(pes, goals, Cluster(nodes=nodes(100.0, 100.0), rules=apart))
    joined = choose_candidates(pes, goals, Cluster(nodes=nodes(100.0, 100.0), rules=together))
    assert spread.nodes["p0"][0] != spread.nodes["p1"][0]
    assert joined.nodes["p0"][0] == joined.nodes["p1"][0]


def test_the_six_metrics_of_a_known_placement() -> None:
    pes, goals = chain([1000.0, 500.0])
    rack = Link(id="rack", nodes=frozenset({"n0"}), capacity_mbps=4.0)
    cluster = Cluster(nodes=nodes(2000.0, 1000.0), links=(rack,), tuple_bytes={"s0": 125.0})
    found = metrics(build_task(pes, goals, cluster), np.eye(2))
    assert found.average_utilization == pytest.approx(0.5)
    assert found.maximum_utilization == pytest.approx(0.5)
    # 1000 tuples/s of 125 bytes are 1 Mbit/s, one way through each card (10 each way) and through the rack's link (4).
    assert found.average_bandwidth == pytest.approx(0.05)
    assert found.maximum_bandwidth == pytest.approx(0.05)
    assert found.average_traffic == pytest.approx(0.125)


def test_a_parallel_pe_is_split_where_no_node_is_large_enough() -> None:
    pes, goals = chain([150.0])
    wide = {"p0": Needs(max_nodes=2)}
    chosen = choose_candidates(pes, goals, Cluster(nodes=nodes(100.0, 100.0), needs=wide))
    assert sum(chosen.planned["p0"].values()) == pytest.approx(1.0)
    assert len(chosen.planned["p0"]) == 2


def test_a_goal_that_does_not_fit_is_cut_but_never_below_the_minimum() -> None:
    pes, goals = chain([150.0], floor=0.5)
    chosen = choose_candidates(pes, goals, Cluster(nodes=nodes(100.0, 90.0)))
    assert chosen.planned["p0"] == pytest.approx({"n0": 100 / 150})
    assert chosen.shortfall == pytest.approx(1 / 3)


def test_running_pes_stay_when_no_move_is_left() -> None:
    pes, goals = chain([50.0, 50.0])
    now = {"p0": {"n0": 50.0}, "p1": {"n0": 50.0}}
    weights = MetricWeights(average_traffic=0.0, maximum_traffic=0.0, average_bandwidth=0.0)
    cluster = Cluster(nodes=nodes(100.0, 100.0), current=now, rules=Rules(weights=weights, max_moves=0))
    assert {pe: list(at) for pe, at in choose_candidates(pes, goals, cluster).planned.items()} == {
        "p0": ["n0"],
        "p1": ["n0"],
    }
    freed = replace(cluster, rules=replace(cluster.rules, max_moves=1))
    plan = choose_candidates(pes, goals, freed).planned
    assert sorted(node for at in plan.values() for node in at) == ["n0", "n1"]


def test_an_exclusive_pe_shares_none_of_its_candidates() -> None:
    pes, goals = chain([10.0, 10.0, 10.0])
    alone = Constraint(kind="exclusive", pes=("p1",))
    chosen = choose_candidates(pes, goals, Cluster(nodes=nodes(100.0, 100.0, 100.0), constraints=(alone,)))
    assert not set(chosen.nodes["p1"]) & (set(chosen.nodes["p0"]) | set(chosen.nodes["p2"]))


def test_licences_are_not_overbooked() -> None:
    pes, goals = chain([10.0, 10.0, 10.0])
    seats = tuple(Node(id=f"n{i}", mips=100.0, licences={"matlab": i}) for i in range(3))
    needs = {pe.id: Needs(licences=frozenset({"matlab"})) for pe in pes}
    chosen = choose_candidates(pes, goals, Cluster(nodes=seats, needs=needs))
    homes = [node for pe in pes for node in chosen.nodes[pe.id]]
    assert (homes.count("n0"), homes.count("n1"), homes.count("n2")) == (0, 1, 2)


def test_overallocation_gives_every_pe_as_many_more_candidates() -> None:
    pes, goals = chain([10.0] * 4)
    for share in (0, 1, 2):
        cluster = Cluster(nodes=nodes(100.0, 100.0, 100.0, 100.0), rules=Rules(overallocation=float(share)))
        assert {len(at) for at in choose_candidates(pes, goals, cluster).nodes.values()} == {1 + share}


@pytest.mark.parametrize(
    ("constraints", "named"),
    [
        (
            [Constraint(kind="colocation", pes=("p0", "p1")), Constraint(kind="exlocation", pes=("p0", "p1"))],
            {"colocation of p0, p1", "exlocation of p0, p1"},
        ),
        (
            [
                Constraint(kind="fixed", pes=("p0",), nodes=("n0",)),
                Constraint(kind="resource_match", pes=("p0",), nodes=("n1",)),
                Constraint(kind="exlocation", pes=("p1", "p2")),
            ],
            {"fixed of p0 on n0", "resource_match of p0 on n1"},
        ),
        ([ALL_APART], {"exlocation of p0, p1, p2"}),
        ([ALL_APART, TOGETHER], {"exlocation of p0, p1, p2"}),
        (
            [
                Constraint(kind="exlocation", pes=("p0", "p1")),
                TOGETHER,
                Constraint(kind="exlocation", pes=("p1", "p2")),
            ],
            {"colocation of p1, p2", "exlocation of p1, p2"},
        ),
    ],
)
def test_constraints_in_conflict_are_named_and_no_others(constraints: list[Constraint], named: set[str]) -> None:
    pes, goals = chain([10.0, 10.0, 10.0])
    with pytest.raises(Infeasible) as error:
        choose_candidates(pes, goals, Cluster(nodes=nodes(100.0, 100.0), constraints=tuple(constraints)))
    assert set(error.value.conflicts) == named
    assert error.value.reason.startswith("no placement keeps all of: ")


def test_minimums_that_do_not_fit_are_named_with_the_nodes() -> None:
    pes, goals = chain([80.0, 80.0], floor=1.0)
    with pytest.raises(Infeasible) as error:
        choose_candidates(pes, goals, Cluster(nodes=nodes(100.0)))
    assert set(error.value.conflicts) == {
        "the nodes' mips",
        "the 80 mips that `p0` must get",
        "the 80 mips that `p1` must get",
    }


def test_a_pe_whose_tags_no_node_has_is_named() -> None:
    pes, goals = chain([10.0, 10.0])
    with pytest.raises(Infeasible) as error:
        choose_candidates(pes, goals, Cluster(nodes=nodes(100.0), needs={"p1": Needs(tags=frozenset({"gpu"}))}))
    assert error.value.conflicts == ("what `p1` needs (gpu)",)


def test_a_cluster_that_is_down_says_so() -> None:
    pes, goals = chain([10.0])
    with pytest.raises(Infeasible, match="no node is up"):
        choose_candidates(pes, goals, Cluster(nodes=nodes(100.0)).with_down(frozenset({"n0"})))


def test_a_large_problem_with_a_short_deadline_still_gets_a_placement() -> None:
    rng = np.random.default_rng(1)
    pes, goals = chain(list(rng.uniform(1, 40, 400)))
    cluster = Cluster(nodes=nodes(*rng.uniform(300, 500, 40)))
    chosen = choose_candidates(pes, goals, cluster, deadline=Deadline.after(0.05))
    task = build_task(pes, goals, cluster)
    fractions = np.array([[chosen.planned[unit[0]].get(node, 0.0) for node in task.nodes] for unit in task.units])
    assert broken_rules(task, fractions > 0, fractions) == []
    assert chosen.shortfall == pytest.approx(0.0, abs=1e-9)
