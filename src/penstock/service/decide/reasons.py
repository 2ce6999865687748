"""The reasons of a plan, in words that a user can act on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.service.decide.plan import Grant, Plan
from penstock.service.decide.snapshot import JobView, Snapshot

_NOTHING = 1e-6


def explain(snapshot: Snapshot, plan: Plan, left_out: Mapping[str, str]) -> Plan:
    """The plan with a reason for each job.

    Args:
        snapshot: What it was made for.
        plan: Without reasons.
        left_out: Why jobs cannot be placed on any node.
    """
    grants = {job.id: _granted(job, plan.grants[job.id]) for job in snapshot.jobs if job.id in plan.grants}
    refused = [job for job in snapshot.jobs if job.id not in plan.grants]
    refusals = {job.id: _refused(job, snapshot, plan, left_out.get(job.id)) for job in refused}
    return replace(plan, grants=grants, refusals=refusals)


def _granted(job: JobView, grant: Grant) -> Grant:
    view = job.template(grant.template)
    useful = min(view.max_mips, view.mips_per_tps * view.offered_tps)
    rank = "required" if job.required else f"rank {job.rank}"
    words = [f"admitted: {rank}"]
    if len(job.templates) > 1:
        words.append(f"template {grant.template}")
    if grant.mips < useful * 0.99:
        words.append(f"{grant.mips:,.0f} of the {useful:,.0f} mips that it could use")
    else:
        words.append(f"all {grant.mips:,.0f} mips that it can use")
    return replace(grant, reason=", ".join(words))


def _refused(job: JobView, snapshot: Snapshot, plan: Plan, cannot: str | None) -> str:
    if cannot is not None:
        return f"rejected: {cannot}"
    least = min(template.min_mips for template in job.templates)
    # What those of a worse rank hold would be taken from them.
    better = [other for other in snapshot.jobs if other.id in plan.grants and _rank(other) <= _rank(job)]
    held = sum(max(other.template(plan.grants[other.id].template).min_mips, 0.0) for other in better)
    used = sum(plan.grants[other.id].mips for other in better)
    missing = least - (plan.mips - used)
    by_minimum = least - (plan.mips - held)
    if by_minimum > _NOTHING:
        return f"rejected: rank {job.rank}, needs {_rounded(by_minimum)} mips more"
    if missing > _NOTHING:
        text = f"rejected: rank {job.rank}, would earn less than the jobs whose {_rounded(missing)} mips it needs"
        return text
    first = [other for other in snapshot.jobs if other.id not in plan.grants and _rank(other) < _rank(job)]
    if first:
        return f"rejected: rank {job.rank}, waits for {first[0].id} of rank {first[0].rank}, which has no place"
    return f"rejected: rank {job.rank}, a place would not pay: {plan.note}"


def _rank(job: JobView) -> int:
    return 1 if job.required else job.rank


def _rounded(mips: float) -> str:
    return f"{max(1.0, mips):,.0f}"
