"""What cannot be placed is left out with its reason, and the rest goes on."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from penstock.base.deadline import Deadline
from penstock.scheduler.problem.nodes import Cluster, Node
from penstock.service.decide.plan import Plan
from penstock.service.decide.possible import decide_possible
from penstock.service.decide.snapshot import Snapshot
from service.decide.test_decide import carried_out, job, template, world, worlds


def after(snapshot: Snapshot) -> Plan:
    return decide_possible(snapshot, Deadline.after(3.0))


def test_a_job_that_no_cluster_has_room_for_keeps_nobody_of_a_worse_rank_out() -> None:
    plan = after(world(job("huge", 1, template(least=5000.0, most=5000.0)), job("small", 2, template(least=300.0))))
    assert set(plan.grants) == {"small"}
    assert plan.refusals["huge"] == "rejected: rank 1, needs 4,000 mips more"


def test_of_required_jobs_that_do_not_fit_the_best_run_and_the_rest_goes_on() -> None:
    middle = template(least=600.0, most=700.0)
    jobs = [
        job("late", 2, middle, required=True),
        job("first", 1, middle, required=True),
        job("small", 3, template(least=200.0, most=250.0)),
    ]
    plan = after(world(*jobs))
    assert set(plan.grants) == {"first", "small"}
    assert plan.refusals["late"] == "rejected: required, needs 200 mips more beside first"
    running = replace(jobs[0], rank=1, running="t", placed_seconds=600.0)
    assert set(after(world(running, *jobs[1:])).grants) == {"late", "small"}


def test_without_capacity_required_jobs_stop_too() -> None:
    full = world(job("a", 1, required=True), job("b", 2))
    plan = after(full)
    assert set(plan.grants) == {"a", "b"}
    nothing = replace(carried_out(full, plan), cluster=Cluster(nodes=(Node(id="local", mips=0.0, up=False),)))
    assert after(nothing).grants == {}
    assert set(after(nothing).refusals) == {"a", "b"}


def test_a_required_job_whose_hardware_is_missing_keeps_nobody_waiting() -> None:
    plan = after(world(job("a", 1, required=True, tags=frozenset({"gpu"})), job("b", 2)))
    assert set(plan.grants) == {"b"}
    assert plan.refusals["a"] == "rejected: required, no node that is up has gpu"


def test_who_waits_for_a_better_rank_is_told_for_whom() -> None:
    jobs = [
        job("must", 1, template(least=600.0, most=600.0), required=True),
        job("better", 1, template(least=500.0, most=500.0)),
        job("worse", 2, template(least=200.0, most=200.0)),
    ]
    plan = after(world(*jobs))
    assert set(plan.grants) == {"must"}
    assert plan.refusals["worse"] == "rejected: rank 2, waits for better of rank 1, which has no place"


@settings(max_examples=40, deadline=None)
@given(worlds())
def test_there_is_always_a_plan_and_it_keeps_the_capacity_of_nodes_and_limits(snapshot: Snapshot) -> None:
    plan = after(snapshot)
    assert plan.grants.keys() | plan.refusals.keys() == {view.id for view in snapshot.jobs}
    assert not plan.grants.keys() & plan.refusals.keys()
    views = {view.id: view for view in snapshot.jobs}
    capacity = {node.id: node.mips for node in snapshot.cluster.live_nodes}
    for node, mips in capacity.items():
        assert sum(grant.nodes.get(node, 0.0) for grant in plan.grants.values()) <= mips * (1 + 1e-6)
    prices = {name: views[name].template(grant.template).mips_per_tps for name, grant in plan.grants.items()}
    allowed = sum(grant.ingest_tps * prices[name] for name, grant in plan.grants.items())
    assert allowed <= snapshot.mips * (1 + 1e-6)
