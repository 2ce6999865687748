"""The plan for the jobs that can be placed at all; the others are left out with their reasons, and keep nobody waiting.

A job that takes more than the cluster has would, by its rank, keep everybody of a worse one out; required jobs that do
not fit beside each other would leave no plan at all. So both are left out before anything is decided: of the required
jobs, the best ranks stay, then those that run, then those that came first.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.base.deadline import Deadline
from penstock.service.decide.decide import decide
from penstock.service.decide.plan import Plan
from penstock.service.decide.snapshot import JobView, Snapshot

_ROUNDING = 1e-9


def decide_possible(snapshot: Snapshot, deadline: Deadline) -> Plan:
    """The plan for the jobs of a snapshot that can be placed.

    Raises:
        Infeasible: The rules of nodes leave no place for the required jobs, or there was no time to find one.

    Example:
        >>> from penstock.scheduler.problem.nodes import Cluster, Node
        >>> from penstock.service.decide.snapshot import TemplateView
        >>> def job(name, mips, **more):
        ...     only = TemplateView(id="t", mips_per_tps=1.0, offered_tps=mips, min_mips=mips, max_mips=mips)
        ...     return JobView(id=name, templates=(only,), **more)
        >>> world = Snapshot(
        ...     cluster=Cluster(nodes=(Node(id="n", mips=1000.0),)),
        ...     jobs=(job("huge", 9000.0), job("a", 600.0, required=True), job("b", 600.0, required=True)))
        >>> plan = decide_possible(world, Deadline.after(5.0))
        >>> for name, reason in plan.refusals.items():
        ...     print(f"{name}: {reason}")
        huge: rejected: rank 1, needs 8,000 mips more
        b: rejected: required, needs 200 mips more beside a
        >>> list(plan.grants)
        ['a']
    """
    refusals = _impossible(snapshot)
    kept = [job for job in snapshot.jobs if job.id not in refusals]
    if snapshot.mips <= 0:
        kept = [replace(job, required=False) for job in kept]
    plan = decide(replace(snapshot, jobs=tuple(kept)), deadline)
    return replace(plan, refusals={**refusals, **plan.refusals})


def _impossible(snapshot: Snapshot) -> dict[str, str]:
    """The jobs that cannot be placed, with the reasons."""
    refusals: dict[str, str] = {}
    for job in snapshot.jobs if snapshot.mips > 0 else ():
        nodes = [node for node in snapshot.cluster.live_nodes if job.tags <= node.tags]
        if not nodes and job.required:
            refusals[job.id] = f"rejected: required, no node that is up has {', '.join(sorted(job.tags))}"
        missing = _least(job) - sum(node.mips for node in nodes)
        if nodes and missing > _ROUNDING * _least(job):
            rank = "required" if job.required else f"rank {job.rank}"
            refusals[job.id] = f"rejected: {rank}, needs {_shown(missing)} mips more"
    places = {job.id: place for place, job in enumerate(snapshot.jobs)}
    required = [job for job in snapshot.jobs if job.required and job.id not in refusals and snapshot.mips > 0]
    kept: list[str] = []
    held = 0.0
    for job in sorted(required, key=lambda job: (job.rank, job.running is None, places[job.id])):
        missing = held + _least(job) - snapshot.mips
        if missing > _ROUNDING * snapshot.mips:
            beside = ", ".join(kept[:3]) + (", ..." if len(kept) > 3 else "")
            refusals[job.id] = f"rejected: required, needs {_shown(missing)} mips more beside {beside}"
            continue
        held += _least(job)
        kept.append(job.id)
    return refusals


def _least(job: JobView) -> float:
    return min(template.min_mips for template in job.templates)


def _shown(mips: float) -> str:
    return f"{max(1.0, mips):,.0f}"
