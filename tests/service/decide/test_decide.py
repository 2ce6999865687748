"""Properties of decisions: capacity, ranks, required jobs, no churn, the same for the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.scheduler.problem.admission_problem import Linear, Table, ValueFunction
from penstock.scheduler.problem.nodes import Cluster, Node
from penstock.scheduler.problem.ranks import is_rank_legal
from penstock.service.decide.decide import decide
from penstock.service.decide.micro import deal_cores, decide_micro
from penstock.service.decide.plan import Plan
from penstock.service.decide.problem_of import problem_of
from penstock.service.decide.snapshot import JobView, Snapshot, StreamView, TemplateView

SECONDS = 3.0


def after(snapshot: Snapshot) -> Plan:
    return decide(snapshot, Deadline.after(SECONDS))


def template(
    name: str = "t",
    *,
    price: float = 1.0,
    offered: float = 500.0,
    least: float = 100.0,
    most: float = 600.0,
    value: ValueFunction | None = None,
    weight: float = 1.0,
    imports: tuple[str, ...] = (),
) -> TemplateView:
    stream = StreamView(name="S", value=value or Linear(slope=1.0), weight=weight)
    return TemplateView(
        id=name,
        mips_per_tps=price,
        offered_tps=offered,
        streams=(stream,),
        imports=imports,
        min_mips=least,
        max_mips=most,
    )


def job(name: str, rank: int = 1, *templates: TemplateView, **more: object) -> JobView:
    return JobView(id=name, rank=rank, templates=templates or (template(),), **more)  # type: ignore[arg-type]


def world(*jobs: JobView, mips: float = 1000.0) -> Snapshot:
    return Snapshot(cluster=Cluster(nodes=(Node(id="local", mips=mips, up=mips > 0),)), jobs=jobs)


def carried_out(snapshot: Snapshot, plan: Plan, seconds: float = 600.0) -> Snapshot:
    """The world when a plan was carried out a while ago."""

    def placed(view: JobView) -> JobView:
        grant = plan.grants.get(view.id)
        if grant is None:
            return replace(view, running=None, placed_seconds=0.0, mips=0.0)
        return replace(view, running=grant.template, placed_seconds=seconds, mips=grant.mips)

    return replace(snapshot, jobs=tuple(map(placed, snapshot.jobs)))


AMOUNT = st.integers(1, 20).map(lambda n: n * 50.0)
VALUES: st.SearchStrategy[ValueFunction] = st.one_of(
    st.floats(0.1, 5).map(lambda slope: Linear(slope=slope)),
    st.tuples(st.floats(10, 300), st.floats(1, 500)).map(
        lambda p: Table(points=((0.0, 0.0), (p[0], p[1]), (p[0] * 2, p[1] * 1.3)))
    ),
)


@st.composite
def worlds(draw: st.DrawFn) -> Snapshot:
    jobs = []
    for number in range(draw(st.integers(1, 6))):
        templates = []
        imports = tuple(f"j{n}/S" for n in range(number) if draw(st.integers(0, 4)) == 0)
        for t in range(draw(st.integers(1, 2))):
            least = draw(AMOUNT)
            templates.append(
                template(
                    f"t{t}",
                    price=draw(st.floats(0.1, 3)),
                    offered=draw(AMOUNT),
                    least=least,
                    most=least + draw(AMOUNT),
                    value=draw(VALUES),
                    weight=draw(st.floats(0.1, 4)),
                    imports=imports,
                )
            )
        running = draw(st.sampled_from([None, *(t.id for t in templates)]))
        seconds = draw(st.sampled_from([0.0, 30.0, 600.0])) if running else 0.0
        required = draw(st.integers(0, 7)) == 0
        jobs.append(
            job(
                f"j{number}",
                draw(st.integers(1, 3)),
                *templates,
                running=running,
                placed_seconds=seconds,
                required=required,
            )
        )
    return world(*jobs, mips=draw(AMOUNT) * 2)


def test_a_required_job_is_not_left_out_for_the_template_that_another_one_runs_with() -> None:
    large, small = template("t0", least=100.0, most=150.0), template("t1", least=50.0, most=100.0)
    old = job("old", 1, large, small, running="t0", required=True, placed_seconds=600.0)
    plan = after(world(old, job("new", 1, template("t", least=50.0), required=True), mips=100.0))
    assert {name: grant.template for name, grant in plan.grants.items()} == {"old": "t1", "new": "t"}


@settings(max_examples=60)
@given(worlds())
def test_a_plan_keeps_capacity_ranks_and_required_jobs(snapshot: Snapshot) -> None:
    least = sum(min(t.min_mips for t in view.templates) for view in snapshot.jobs if view.required)
    try:
        plan = after(snapshot)
    except Infeasible:
        assert least > snapshot.mips * (1 - 1e-9)
        return
    assert plan.mips_used <= snapshot.mips * (1 + 1e-6)
    assert plan.grants.keys() | plan.refusals.keys() == {view.id for view in snapshot.jobs}
    assert not plan.grants.keys() & plan.refusals.keys()
    for view in snapshot.jobs:
        assert not view.required or view.id in plan.grants
        if view.id in plan.grants:
            grant, chosen = plan.grants[view.id], view.template(plan.grants[view.id].template)
            assert chosen.min_mips * (1 - 1e-6) <= grant.mips <= chosen.max_mips * (1 + 1e-6)
            assert grant.ingest_tps <= chosen.max_mips / chosen.mips_per_tps * (1 + 1e-6)
            assert grant.reason.startswith("admitted: ")
        else:
            assert plan.refusals[view.id].startswith("rejected: ")
    problem = problem_of(snapshot.jobs, snapshot.mips)
    choice = {name: problem.job(name).template(grant.template) for name, grant in plan.grants.items()}
    assert is_rank_legal(problem.jobs, choice)


@settings(max_examples=40)
@given(worlds())
def test_nobody_comes_or_goes_in_a_world_that_does_not_change(snapshot: Snapshot) -> None:
    # Nobody is about to lose the protection of having just been started.
    snapshot = replace(snapshot, jobs=tuple(replace(view, placed_seconds=600.0) for view in snapshot.jobs))
    try:
        first = after(snapshot)
    except Infeasible:
        return
    world_now, before = carried_out(snapshot, first), first
    for _ in range(2):
        plan = after(world_now)
        assert {n: g.template for n, g in plan.grants.items()} == {n: g.template for n, g in before.grants.items()}
        world_now, before = carried_out(world_now, plan), plan


@settings(max_examples=20)
@given(worlds())
def test_the_same_snapshot_gives_the_same_plan(snapshot: Snapshot) -> None:
    try:
        first = after(snapshot)
    except Infeasible:
        return
    assert replace(after(snapshot), seconds=0.0) == replace(first, seconds=0.0)


@settings(max_examples=30)
@given(worlds(), st.floats(0.2, 1.5))
def test_a_micro_decision_keeps_the_jobs_and_the_capacity_of_the_moment(snapshot: Snapshot, factor: float) -> None:
    try:
        plan = after(snapshot)
    except Infeasible:
        return
    smaller = replace(snapshot, cluster=Cluster(nodes=(Node(id="local", mips=snapshot.mips * factor),)))
    adjusted = decide_micro(carried_out(smaller, plan), plan, Deadline.after(SECONDS))
    assert adjusted.grants.keys() == plan.grants.keys()
    assert adjusted.mips_used <= smaller.mips * (1 + 1e-6)


def test_a_job_that_is_slightly_better_does_not_push_one_out() -> None:
    a, b = job("a", 1, template(least=600.0, weight=1.0)), job("b", 1, template(least=600.0, weight=1.04))
    fresh = after(world(a, b))
    assert set(fresh.grants) == {"b"}
    now = world(replace(a, running="t", placed_seconds=600.0), b)
    plan = after(now)
    assert set(plan.grants) == {"a"}
    assert "too little to change" in plan.note
    much_better = replace(b, templates=(template(least=600.0, weight=3.0),))
    assert set(after(world(replace(a, running="t", placed_seconds=600.0), much_better)).grants) == {"b"}


def test_a_job_that_has_just_been_started_stays_for_its_own_rank_but_not_for_a_better_one() -> None:
    a = job("a", 2, template(least=600.0), running="t", placed_seconds=5.0)
    b = job("b", 2, template(least=600.0, weight=9.0))
    assert set(after(world(a, b)).grants) == {"a"}
    assert set(after(world(a, replace(b, rank=1))).grants) == {"b"}


def test_when_capacity_goes_the_right_job_goes_and_comes_back() -> None:
    jobs = [job("one", 1), job("two", 2), job("three", 3)]
    full = world(*jobs, mips=2000.0)
    plan = after(full)
    assert set(plan.grants) == {"one", "two", "three"}
    small = replace(carried_out(full, plan), cluster=Cluster(nodes=(Node(id="local", mips=250.0),)))
    squeezed = after(small)
    assert set(squeezed.grants) == {"one", "two"}
    assert squeezed.refusals["three"] == "rejected: rank 3, needs 50 mips more"
    again = replace(carried_out(small, squeezed), cluster=full.cluster)
    assert set(after(again).grants) == {"one", "two", "three"}


def test_the_light_template_is_taken_when_mips_are_short_and_left_when_they_are_not() -> None:
    templates = (
        template("full", price=4.0, offered=500.0, least=100.0, most=2000.0, weight=2.0),
        template("light", price=1.0, offered=500.0, least=100.0, most=500.0, weight=1.0),
    )
    many = world(job("a", 1, *templates), mips=2000.0)
    plan = after(many)
    assert plan.grants["a"].template == "full"
    few = replace(carried_out(many, plan), cluster=Cluster(nodes=(Node(id="local", mips=500.0),)))
    squeezed = after(few)
    assert squeezed.grants["a"].template == "light"
    assert after(replace(carried_out(few, squeezed), cluster=many.cluster)).grants["a"].template == "full"


def test_a_higher_weight_moves_mips_in_a_micro_decision() -> None:
    concave = Table(points=((0.0, 0.0), (200.0, 200.0), (500.0, 320.0)))
    jobs = [job(name, 1, template(offered=500.0, value=concave)) for name in "ab"]
    plan = after(world(*jobs, mips=700.0))
    heavier = [jobs[0], job("b", 1, template(offered=500.0, value=concave, weight=5.0))]
    adjusted = decide_micro(carried_out(world(*heavier, mips=700.0), plan), plan, Deadline.after(SECONDS))
    assert adjusted.grants["b"].mips > adjusted.grants["a"].mips
    assert adjusted.grants["b"].ingest_tps == pytest.approx(500.0)


def test_a_job_that_feeds_a_better_rank_comes_in_with_it() -> None:
    feeder = job("feeder", 3, template(least=200.0, most=400.0, weight=0.001))
    reader = job("reader", 1, template(least=200.0, offered=0.0, weight=50.0, imports=("feeder/S",)))
    other = job("other", 2, template(least=500.0, most=600.0))
    plan = after(world(feeder, reader, other, mips=900.0))
    assert {"feeder", "reader"} <= set(plan.grants)


def test_required_jobs_that_do_not_fit_are_said_to() -> None:
    with pytest.raises(Infeasible, match="a"):
        after(world(job("a", 1, template(least=2000.0, most=3000.0), required=True)))
    with pytest.raises(Infeasible, match="there is no node for the required jobs a"):
        after(world(job("a", 1, required=True), mips=0.0))


def test_without_any_node_everybody_waits() -> None:
    plan = after(world(job("a"), mips=0.0))
    assert (dict(plan.grants), dict(plan.refusals)) == ({}, {"a": "rejected: there is no node that is up"})


def test_a_job_whose_hardware_is_missing_waits_and_says_so() -> None:
    plan = after(world(job("a", 1, tags=frozenset({"gpu"})), job("b", 2)))
    assert set(plan.grants) == {"b"}
    assert "gpu" in plan.refusals["a"]


def test_a_thousand_jobs_have_a_plan() -> None:
    jobs = [
        job(f"j{n}", 1 + n % 5, template(price=0.5 + n % 7, offered=100.0 + n % 13, weight=1 + n % 3), required=n < 5)
        for n in range(1000)
    ]
    plan = decide(world(*jobs, mips=60_000.0), Deadline.after(6.0))
    assert plan.mips_used <= 60_000.0 * (1 + 1e-6)
    assert all(f"j{n}" in plan.grants for n in range(5))
    assert plan.importance > 0
    assert len(plan.grants) + len(plan.refusals) == 1000


def test_who_stays_and_starts_others_does_not_give_way_at_the_next_decision() -> None:
    """The price of what both would start counts for neither."""
    kept = template(least=300.0, most=300.0, offered=300.0)
    better = template("better", least=300.0, most=300.0, offered=300.0, weight=1.43)
    shared = template(least=400.0, most=400.0, offered=400.0, weight=2.5)
    first = world(
        job("a", 1, kept, better, running="t", placed_seconds=600.0),
        job("b", 1, shared),
        mips=700.0,
    )
    plan = after(first)
    again = after(carried_out(first, plan))
    assert again.templates == plan.templates


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.floats(1000, 5000), st.integers(0, 6), st.integers(1, 8)), min_size=1, max_size=8),
    st.floats(0, 3000),
)
def test_cores_are_whole_and_no_more_than_there_are(shares: list[tuple[float, int, int]], spare: float) -> None:
    jobs = [JobView(id=str(i), templates=(), cores=had) for i, (_, had, _) in enumerate(shares)]
    mips = {str(i): share for i, (share, _, _) in enumerate(shares)}
    most = {str(i): n for i, (_, _, n) in enumerate(shares)}
    snapshot = world(mips=sum(mips.values()) + spare)
    dealt = deal_cores(jobs, mips, most, snapshot)
    assert sum(dealt.values()) <= snapshot.mips / 1000 + 1e-6
    for name, cores in dealt.items():
        assert 1 <= cores <= most[name]
        assert min(int(mips[name] / 1000), most[name]) <= cores <= mips[name] / 1000 + 1
    # The same again, once they have what was dealt.
    again = [JobView(id=name, templates=(), cores=cores) for name, cores in dealt.items()]
    assert deal_cores(again, mips, most, snapshot) == dealt
