"""Macro decisions: jobs that no node takes are left out, in time, however many they are."""

from __future__ import annotations

from penstock.base.deadline import Deadline
from penstock.bench.workloads.admission_shapes import connected_jobs
from penstock.scheduler.macro import decide
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
