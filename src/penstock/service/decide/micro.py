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
from penstock.service.decide.snapshot import Snapshot

_SLACK, _ROUNDING = 0.1, 1e-9

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


def cores_for(mips: float, core_mips: float, had: int, most: int) -> int:
    """How many cores a job gets for its mips: enough at once, and fewer only if it has clearly too many.

    Args:
        mips: Its share.
        core_mips: What a core gives.
        had: How many it has; 0 if it does not run.
        most: How many it can have.

    Example:
        >>> [cores_for(mips, 1000.0, 2, 4) for mips in (2100.0, 1950.0, 950.0, 850.0, 9000.0)]
        [3, 2, 2, 1, 4]
    """
    needed = max(1, math.ceil(mips / core_mips - _ROUNDING))
    if needed < had and mips > (had - 1) * core_mips * (1 - _SLACK):
        needed = had
    return min(most, needed)


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
    for job in (job for job in snapshot.jobs if job.id in templates):
        view = job.template(templates[job.id])
        most = max(1, math.ceil(min(view.max_mips, snapshot.mips) / snapshot.core_mips))
        grants[job.id] = Grant(
            template=view.id,
            mips=mips.get(job.id, 0.0),
            ingest_tps=min(view.max_mips, headroom * mips.get(job.id, 0.0)) / view.mips_per_tps,
            cores=cores_for(mips.get(job.id, 0.0), snapshot.core_mips, job.cores, most),
            most_cores=most,
            nodes={node: share for node, share in assignment.mips.get(job.id, {}).items() if share > 0},
            importance=float(earned.get(job.id, 0.0)),
        )
    return grants
