"""Dividing the mips among the jobs that run: microQ's goals, microW's nodes, and the limits that follow from them.

A micro decision looks at the jobs of the last macro decision alone, with the rates and weights of now. What is left
over when every job has what it could use is dealt out in proportion, so that a job is not held back without need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.base.deadline import Deadline
from penstock.scheduler.microq.microq import refine_goals
from penstock.scheduler.microw.microw import assign
from penstock.scheduler.problem.admission_problem import Pe
from penstock.scheduler.problem.answer import Answer
from penstock.scheduler.problem.composition import compose
from penstock.service.decide.plan import Grant, Plan
from penstock.service.decide.problem_of import cluster_of, problem_of
from penstock.service.decide.snapshot import JobView, Snapshot

_KEEPS, _LEAST_SHARE, _ROUNDING = 0.15, 0.1, 1e-9
"""Of a core: what counts for who has it, and what it must be worth to anybody."""

MOST_HEADROOM = 4.0
"""How many times what a job could use it may get of what is left over."""


def decide_micro(snapshot: Snapshot, last: Plan, deadline: Deadline) -> Plan:
    """The last plan with mips and limits for the rates and weights of now; jobs that have ended are gone."""
    here = {job.id: job for job in snapshot.jobs}
    templates = {job: grant.template for job, grant in last.grants.items() if job in here}
    nodes = [node.id for node in snapshot.cluster.live_nodes]
    grants = divide(snapshot, templates, dict.fromkeys(templates, nodes), deadline, None) if nodes else {}
    reasoned = {
        job: replace(grant, reason=last.grants[job].reason, cores=last.grants[job].cores)
        for job, grant in grants.items()
    }
    return replace(
        last,
        grants=reasoned,
        refusals={job: reason for job, reason in last.refusals.items() if job in here},
        importance=sum(grant.importance for grant in reasoned.values()),
        mips=snapshot.mips,
        note="mips divided anew",
        seconds=deadline.elapsed(),
    )


def deal_cores(
    jobs: Sequence[JobView], mips: Mapping[str, float], most: Mapping[str, int], snapshot: Snapshot
) -> dict[str, int]:
    """How many whole cores each job gets for its mips: one at least, and no more in all than there are.

    What is left of the cores goes to those whose mips are worth most of one more; who has a core keeps it rather than
    that somebody else gets it.

    Example:
        >>> from penstock.scheduler.problem.nodes import Cluster, Node
        >>> jobs = [JobView(id=name, templates=(), cores=had) for name, had in (("a", 0), ("b", 2))]
        >>> four = Snapshot(cluster=Cluster(nodes=(Node(id="n", mips=4000.0),)), jobs=())
        >>> deal_cores(jobs, {"a": 2450.0, "b": 1550.0}, {"a": 4, "b": 4}, four)
        {'a': 2, 'b': 2}
        >>> deal_cores(jobs, {"a": 2550.0, "b": 1450.0}, {"a": 4, "b": 4}, four)
        {'a': 2, 'b': 2}
        >>> deal_cores(jobs, {"a": 2700.0, "b": 1300.0}, {"a": 4, "b": 4}, four)
        {'a': 3, 'b': 1}
    """
    worth = {job.id: mips.get(job.id, 0.0) / snapshot.core_mips + _ROUNDING for job in jobs}
    dealt = {job.id: min(most[job.id], max(1, int(worth[job.id]))) for job in jobs}
    had = {job.id: job.cores for job in jobs}
    for _ in range(int(snapshot.mips / snapshot.core_mips + _ROUNDING) - sum(dealt.values())):
        more = {
            job: worth[job] - n + _KEEPS * (n < had[job]) for job, n in dealt.items() if n < min(most[job], worth[job])
        }
        best = max(more, key=more.__getitem__, default=None)
        if best is None or more[best] < _LEAST_SHARE:
            break
        dealt[best] += 1
    return dealt


def divide(
    snapshot: Snapshot,
    templates: Mapping[str, str],
    candidates: Mapping[str, Sequence[str]],
    deadline: Deadline,
    answer: Answer | None,
) -> dict[str, Grant]:
    """What each job that runs gets.

    Args:
        snapshot: The world.
        templates: Of the jobs that run.
        candidates: The nodes that each may use.
        deadline: When the answer is due.
        answer: macroQ's mips, if it was asked.
    """
    if not templates:
        return {}
    cluster = cluster_of(snapshot)
    problem = problem_of([job for job in snapshot.jobs if job.id in templates], snapshot.mips, templates)
    pes: list[Pe] = [pe for job in problem.jobs for pe in job.choices[0].pes]
    planned = None if answer is None else {pe: m for v in answer.jobs.values() for pe, m in v.pes.items()}
    goals = refine_goals(pes, candidates, cluster, planned=planned, deadline=deadline.share(0.5))
    assignment = assign(pes, goals.mips, candidates, cluster, deadline=deadline)
    mips = assignment.total_mips()
    earned = compose(pes, mips).importance
    used = sum(mips.values())
    headroom = min(MOST_HEADROOM, snapshot.mips / used) if used > 0 else 1.0
    grants: dict[str, Grant] = {}
    running = [job for job in snapshot.jobs if job.id in templates]
    most = {
        job.id: max(1, math.ceil(min(job.template(templates[job.id]).max_mips, snapshot.mips) / snapshot.core_mips))
        for job in running
    }
    cores = deal_cores(running, mips, most, snapshot)
    for job in running:
        view = job.template(templates[job.id])
        grants[job.id] = Grant(
            template=view.id,
            mips=mips.get(job.id, 0.0),
            ingest_tps=min(view.max_mips, headroom * mips.get(job.id, 0.0)) / view.mips_per_tps,
            cores=cores[job.id],
            most_cores=most[job.id],
            nodes={node: share for node, share in assignment.mips.get(job.id, {}).items() if share > 0},
            importance=float(earned.get(job.id, 0.0)),
        )
    return grants
