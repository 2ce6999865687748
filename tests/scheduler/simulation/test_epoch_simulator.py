"""The epoch simulator: rules kept through failures, repeatable, and the micro model worth its place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.scheduler.problem.admission_problem import Flow, Job, Linear, Output, Pe, Template
from penstock.scheduler.problem.nodes import Cluster, Constraint, Needs, Node, Rules
from penstock.scheduler.simulation.audit import audit
from penstock.scheduler.simulation.epoch_simulator import Pace, Record, Simulation, simulate
from penstock.scheduler.simulation.epochs import (
    Climate,
    JobArrives,
    JobLeaves,
    NodeFails,
    NodeReturns,
    PeFails,
    PeReturns,
    WeightsChange,
    random_job,
    random_scenario,
)


def untimed(records: list[Record]) -> list[Record]:
    return [replace(record, seconds=0.0, in_time=True) for record in records]


def small_job(name: str, mips: float = 50.0, **more: object) -> JobArrives:
    rate = Flow(mips_per_tps=1.0, selectivity=1.0)
    out = Output(stream=f"{name}.s", rate=rate, value=Linear(slope=1.0))
    pe = Pe(id=f"{name}.pe", max_mips=mips, offered_tps=mips, outputs=(out,))
    return JobArrives(job=Job(id=name, templates=(Template(id="t", pes=(pe,)),)), **more)  # type: ignore[arg-type]


def two_nodes(**rules: int) -> Cluster:
    return Cluster(nodes=(Node(id="n0", mips=100.0), Node(id="n1", mips=100.0)), rules=Rules(**rules))


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 1000))
def test_no_rule_is_ever_broken_whatever_fails(seed: int) -> None:
    stormy = Climate(nodes=6, failures=0.08, repair=4.0, arrivals=0.3, stay=20.0)
    for record in simulate(random_scenario(seed, 20, stormy)):
        assert record.broken == ()
        assert record.moves <= 6


def test_the_same_seed_gives_the_same_run() -> None:
    scenario = random_scenario(11, 15)
    # No decision is cut short, however busy the machine is.
    pace = Pace(macro_seconds=60.0, micro_seconds=60.0)
    assert untimed(simulate(scenario, pace)) == untimed(simulate(scenario, pace))


def test_the_micro_model_earns_more_than_macro_epochs_alone() -> None:
    scenario = random_scenario(5, 60, Climate(nodes=6, failures=0.02, arrivals=0.3, stay=30.0))
    with_micro = sum(record.importance for record in simulate(scenario))
    without = sum(record.importance for record in simulate(scenario, Pace(micro=False)))
    assert with_micro > 1.02 * without


def test_a_node_that_vanishes_in_an_epoch_costs_that_epoch_and_is_made_good_in_the_next() -> None:
    simulation = Simulation(two_nodes())
    simulation.step([small_job("A")])
    for _ in range(5):
        simulation.step([])
    home = next(iter(simulation.allocation["A.pe"]))
    hit = simulation.step([NodeFails(node_id=home)])
    healed = simulation.step([])
    assert hit.projected == pytest.approx(50.0)
    assert hit.importance == pytest.approx(0.0)
    assert healed.importance == pytest.approx(50.0)
    assert healed.moves == 1


def test_without_a_move_left_a_stranded_pe_waits_until_its_node_returns() -> None:
    simulation = Simulation(two_nodes(max_moves=0))
    simulation.step([small_job("A")])
    for _ in range(5):
        simulation.step([])
    home = next(iter(simulation.allocation["A.pe"]))
    simulation.step([NodeFails(node_id=home)])
    waits = [simulation.step([]) for _ in range(7)]
    assert [record.importance for record in waits] == [0.0] * 7
    simulation.step([NodeReturns(node_id=home)])
    back = simulation.step([])
    assert back.importance == pytest.approx(50.0)
    assert back.moves == 0


def test_a_pe_that_crashes_gives_its_mips_to_others_and_comes_back_to_its_node() -> None:
    simulation = Simulation(Cluster(nodes=(Node(id="n0", mips=80.0),), rules=Rules(max_moves=0)))
    simulation.step([small_job("A", 60.0), small_job("B", 60.0)])
    for _ in range(5):
        simulation.step([])
    home = simulation.allocation["A.pe"]
    simulation.step([PeFails(pe_id="A.pe")])
    assert simulation.step([]).importance == pytest.approx(60.0)
    simulation.step([PeReturns(pe_id="A.pe")])
    back = simulation.step([])
    assert back.importance == pytest.approx(80.0)
    assert simulation.allocation["A.pe"].keys() == home.keys()


def test_a_job_that_arrives_waits_for_the_macro_epoch() -> None:
    simulation = Simulation(two_nodes())
    simulation.step([small_job("A")])
    records = [simulation.step([]) for _ in range(5)]
    assert [record.jobs for record in records] == [0, 0, 0, 0, 1]
    assert [record.waiting for record in records] == [1, 1, 1, 1, 0]


def test_a_job_that_leaves_frees_its_mips_at_once() -> None:
    simulation = Simulation(Cluster(nodes=(Node(id="n0", mips=80.0),)))
    simulation.step([small_job("A", 60.0), small_job("B", 60.0)])
    for _ in range(5):
        simulation.step([])
    simulation.step([JobLeaves(job_id="A")])
    assert simulation.step([]).importance == pytest.approx(60.0)


def test_weights_that_change_move_mips_in_the_next_micro_epoch() -> None:
    simulation = Simulation(Cluster(nodes=(Node(id="n0", mips=60.0),)))
    simulation.step([small_job("A", 60.0), small_job("B", 60.0)])
    for _ in range(5):
        simulation.step([])
    simulation.step([WeightsChange(job_id="B", factor=5.0), WeightsChange(job_id="A", factor=0.5)])
    simulation.step([])
    assert sum(simulation.allocation["B.pe"].values()) == pytest.approx(60.0)


NOWHERE = "no placement keeps all of: resource_match of B.pe on n9"


def records_with(job: JobArrives) -> list[Record]:
    """What follows when a job arrives at a cluster that runs another."""
    simulation = Simulation(two_nodes())
    simulation.step([small_job("A")])
    for _ in range(5):
        simulation.step([])
    simulation.step([job])
    return [simulation.step([]) for _ in range(4)]


def test_a_job_that_cannot_be_placed_is_left_out_and_holds_up_nobody() -> None:
    apart = Constraint(kind="resource_match", pes=("B.pe",), nodes=("n9",))
    last = records_with(small_job("B", constraints=(apart,)))[-1]
    assert (last.reason, last.left_out) == ("", {"B": NOWHERE})
    assert last.importance == pytest.approx(50.0)
    assert last.jobs == 1


def test_a_decision_that_is_infeasible_leaves_everything_as_it_was_and_says_why() -> None:
    apart = Constraint(kind="resource_match", pes=("B.pe",), nodes=("n9",))
    job = small_job("B", constraints=(apart,))
    last = records_with(replace(job, job=replace(job.job, required=True)))[-1]
    assert last.reason == NOWHERE
    assert last.importance == pytest.approx(50.0)
    assert last.jobs == 1


def test_random_jobs_are_made_of_pes_that_can_run() -> None:
    arrived = random_job(np.random.default_rng(1), "J")
    pes = arrived.job.templates[0].pes
    assert all(pe.min_mips <= pe.max_mips for pe in pes)
    assert arrived.needs.keys() == {pe.id for pe in pes}


def test_the_audit_sees_each_kind_of_breach() -> None:
    pes = [Pe(id="a", max_mips=50.0), Pe(id="b", max_mips=50.0)]
    nodes = (
        Node(id="n0", mips=60.0, memory_mb=10.0, max_pes=1, licences={"x": 1}),
        Node(id="n1", mips=60.0),
        Node(id="n2", mips=60.0, up=False),
    )
    needs = {name: Needs(memory_mb=8.0, licences=frozenset({"x"})) for name in "ab"}
    rules = (
        Constraint(kind="exlocation", pes=("a", "b")),
        Constraint(kind="exclusive", pes=("a",)),
        Constraint(kind="fixed", pes=("b",), nodes=("n1",)),
    )
    cluster = Cluster(nodes=nodes, needs=needs, constraints=rules, current={"a": {"n1": 1.0}}, rules=Rules(max_moves=0))
    everywhere = {"a": ["n0"], "b": ["n0", "n1", "n2"]}
    broken = list(audit(pes, everywhere, {"a": {"n0": 40.0}, "b": {"n0": 40.0, "n2": 20.0}}, cluster))
    assert broken == [
        "b is on a node that is down",
        "b is on 2 nodes",
        "b gets more than its maximum",
        "n0 gives 80 of 60 mips",
        "n0 is out of memory",
        "n0 runs 2 PEs",
        "n0 is out of x licences",
        "broken: exlocation of a, b",
        "broken: exclusive of a",
        "broken: fixed of b on n1",
        "1 PEs move",
    ]
