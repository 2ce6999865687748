"""Macro decisions: jobs that no node takes are left out, in time, however many they are."""

from __future__ import annotations

import pytest

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.bench.workloads.admission_shapes import connected_jobs
from penstock.scheduler.macro import decide
from penstock.scheduler.problem.admission_problem import Flow, Job, Linear, Output, Pe, Problem, Template
from penstock.scheduler.problem.nodes import Cluster, Constraint, Needs, Node


def nodes(count: int, mips: float) -> tuple[Node, ...]:
    return tuple(Node(id=f"n{i}", mips=mips / count) for i in range(count))


def test_many_jobs_without_a_node_are_left_out_at_once_each_with_its_reason() -> None:
    problem = connected_jobs(40, least_mips=0.5)
    stuck = [job for i, job in enumerate(problem.jobs) if i % 2]
    needs = {job.templates[0].pes[0].id: Needs(tags=frozenset({"gpu"})) for job in stuck}
    deadline = Deadline.after(2.0)
    made = decide(problem, Cluster(nodes=nodes(10, problem.mips), needs=needs), deadline)
    # One at a time took half a minute; three times the deadline leaves room for a busy machine.
    assert deadline.elapsed() < 6.0
    assert set(made.left_out) == {job.id for job in stuck}
    assert all(f"`{job.templates[0].pes[0].id}`" in made.left_out[job.id] for job in stuck)
    assert made.answer.importance > 0.0
    assert all(made.answer.jobs[job.id].admitted != (job in stuck) for job in problem.jobs)


def test_when_time_is_up_those_that_have_nodes_run_and_the_others_wait() -> None:
    problem = connected_jobs(40, least_mips=0.5)
    first = tuple(job.templates[0].pes[0].id for job in problem.jobs)
    cluster = Cluster(nodes=nodes(5, problem.mips), constraints=(Constraint(kind="exlocation", pes=first),))
    deadline = Deadline.after(1.0)
    made = decide(problem, cluster, deadline)
    assert deadline.elapsed() < 6.0
    admitted = [job for job, verdict in made.answer.jobs.items() if verdict.admitted]
    assert len(admitted) <= 5
    assert made.left_out
    assert set(made.left_out).isdisjoint(admitted)
    used = [made.candidates.planned[f"{job}.t0.p0"] for job in admitted]
    assert sum(map(len, used)) == len({node for planned in used for node in planned})


def _template(name: str, mips: float) -> Template:
    flow = Flow(mips_per_tps=1.0, selectivity=1.0)
    out = Output(stream=name.partition(".")[0], rate=flow, value=Linear(slope=1.0))
    return Template(id=name, pes=(Pe(id=name, min_mips=mips / 2, max_mips=mips, offered_tps=mips, outputs=(out,)),))


def _job(name: str, *mips: float, required: bool = False) -> Job:
    """A job with a template for each amount; the stream is worth what its PE gets."""
    return Job(id=name, required=required, templates=tuple(_template(f"{name}.t{i}", m) for i, m in enumerate(mips)))


@pytest.mark.parametrize("required", [False, True])
def test_a_job_whose_best_template_no_node_takes_runs_with_another(required: bool) -> None:
    problem = Problem(mips=100.0, jobs=(_job("a", 60.0, 20.0, required=required), _job("b", 30.0)))
    cluster = Cluster(nodes=nodes(2, 100.0), needs={"a.t0": Needs(tags=frozenset({"gpu"}))})
    made = decide(problem, cluster, Deadline.after(5.0))
    assert made.answer.jobs["a"].template == "a.t1"
    assert made.answer.importance == pytest.approx(50.0)
    assert not made.left_out


@pytest.mark.parametrize("required", [False, True])
def test_a_job_whose_best_template_clashes_with_another_job_runs_with_another(required: bool) -> None:
    problem = Problem(mips=100.0, jobs=(_job("a", 30.0, required=True), _job("b", 40.0, 20.0, required=required)))
    cluster = Cluster(nodes=nodes(1, 100.0), constraints=(Constraint(kind="exlocation", pes=("a.t0", "b.t0")),))
    made = decide(problem, cluster, Deadline.after(5.0))
    assert {job: verdict.template for job, verdict in made.answer.jobs.items()} == {"a": "a.t0", "b": "b.t1"}
    assert made.answer.importance == pytest.approx(50.0)
    # That no other template of `a` or `b` could be placed for 70 is not proven.
    assert not made.answer.exact
    assert made.answer.bound == pytest.approx(70.0)


def test_the_first_of_two_required_jobs_gives_way_where_the_second_has_one_template_only() -> None:
    problem = Problem(mips=100.0, jobs=(_job("a", 40.0, 20.0, required=True), _job("b", 30.0, required=True)))
    cluster = Cluster(nodes=nodes(1, 100.0), constraints=(Constraint(kind="exlocation", pes=("a.t0", "b.t0")),))
    made = decide(problem, cluster, Deadline.after(5.0))
    assert {job: verdict.template for job, verdict in made.answer.jobs.items()} == {"a": "a.t1", "b": "b.t0"}


def test_required_jobs_that_no_templates_allow_to_place_are_refused_with_the_reason() -> None:
    problem = Problem(mips=100.0, jobs=(_job("a", 40.0, 20.0, required=True), _job("b", 30.0, required=True)))
    apart = tuple(Constraint(kind="exlocation", pes=(pe, "b.t0")) for pe in ("a.t0", "a.t1"))
    with pytest.raises(Infeasible, match=r"exlocation of .*; nor can the required jobs be placed with other templates"):
        decide(problem, Cluster(nodes=nodes(1, 100.0), constraints=apart), Deadline.after(5.0))
