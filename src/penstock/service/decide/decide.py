"""A macro decision of the service: who runs, by which template, with how much.

Introduction:
    macroQ and macroW (`penstock.scheduler.macro`) find the best set of jobs for a cluster that nobody uses. A cluster
    in use has one already, and changing it has a price: a job that is started, or goes on with another template, earns
    nothing for a while. So the present set, its mips divided anew, stands against the best one.

Formulation:
    Let F be the best plan and S the best plan with the jobs and templates of now. F is taken if S is not possible, not
    rank-legal, or if

        importance(F) - price(F) > (1 + margin) importance(S),

    where price(F) is the sum, over the jobs that F starts or moves to another template, of their importance in F times
    `start_seconds / horizon_seconds`. S may start jobs as well, where there is room; the price of F is then the less of
    its price from now and from S, so that S, once carried out, is not left for F at the next decision. A job that got
    its place less than `least_seconds` ago keeps it against jobs of its own rank or a worse one.

Example:
    A and B run and earn 100 together. A without B would earn 104: B stays. C arrives, of a better rank, and does not
    fit beside both: S leaves out a better rank than it admits, so it is not legal, and F is taken whatever it earns.

When it does not apply:
    Where the required jobs do not fit, nothing better is known than what there is: `Infeasible`.

Algorithm:
    Two decisions of macroQ and macroW, with a deadline for both; then microQ and microW divide the mips
    (`decide.micro`).

Preserves:
    Never more than the capacity; rank-legal; required jobs in; the same snapshot gives the same plan, as far as the
    searches end before their deadlines.

Reference:
    Wolf et al., JSSPP 2009, sections 3 and 4. There running jobs keep their templates and changes have no price; both
    are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.scheduler.macro import MacroDecision
from penstock.scheduler.macro import decide as decide_macro
from penstock.scheduler.problem.ranks import is_rank_legal
from penstock.service.decide.micro import divide
from penstock.service.decide.plan import Grant, Plan
from penstock.service.decide.problem_of import cluster_of, problem_of
from penstock.service.decide.snapshot import JobView, Snapshot

_MACRO_SHARE = 0.8
"""Of the time there is, for the two macro decisions; dividing the mips has the rest."""

_EXACT_NODES = 8
"""Nodes up to which macroW may look for the best plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Option:
    """A set of jobs that could run.

    Attributes:
        templates: Of the jobs that run.
        decision: What the solvers say of it.
        why: Why it was taken.
    """

    templates: Mapping[str, str]
    decision: MacroDecision
    why: str = ""

    @property
    def importance(self) -> float:
        return self.decision.answer.importance


def decide(snapshot: Snapshot, deadline: Deadline) -> Plan:
    """The plan for a snapshot.

    Raises:
        Infeasible: The required jobs do not fit.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Linear
        >>> from penstock.scheduler.problem.nodes import Cluster, Node
        >>> from penstock.service.decide.snapshot import StreamView, TemplateView
        >>> def job(name, rank):
        ...     streams = (StreamView(name="S", value=Linear(slope=1.0)),)
        ...     only = TemplateView(
        ...         id="t", mips_per_tps=1.0, offered_tps=900.0, streams=streams, min_mips=600.0, max_mips=900.0)
        ...     return JobView(id=name, rank=rank, templates=(only,))
        >>> small = Cluster(nodes=(Node(id="n", mips=1000.0),))
        >>> plan = decide(Snapshot(cluster=small, jobs=(job("a", 2), job("b", 1))), Deadline.after(5.0))
        >>> {name: grant.mips for name, grant in plan.grants.items()}, dict(plan.refusals)
        ({'b': 900.0}, {'a': 'rejected: rank 2, needs 200 mips more'})
    """
    if snapshot.mips <= 0 or not snapshot.jobs:
        return _empty(snapshot)
    in_time = deadline.share(_MACRO_SHARE)
    is_used = any(job.running is not None for job in snapshot.jobs)
    best = _best(snapshot, in_time.share(0.5) if is_used else in_time)
    taken = _choose(snapshot, best, in_time)
    answer = taken.decision.answer
    grants = divide(snapshot, taken.templates, taken.decision.candidates.nodes, deadline, answer)
    importance = sum(grant.importance for grant in grants.values())
    plan = Plan(
        grants=grants,
        refusals={},
        importance=importance,
        bound=None if answer.bound == float("inf") else max(answer.bound, importance),
        waterline=answer.waterline,
        mips=snapshot.mips,
        note=taken.why,
        seconds=deadline.elapsed(),
    )
    return explain(snapshot, plan, {**best.decision.left_out, **taken.decision.left_out})


def _empty(snapshot: Snapshot) -> Plan:
    required = [job.id for job in snapshot.jobs if job.required]
    if required:
        raise Infeasible(f"there is no node for the required jobs {', '.join(required)}")
    refusals = {job.id: "rejected: there is no node that is up" for job in snapshot.jobs}
    return Plan(grants={}, refusals=refusals, mips=snapshot.mips, note="there is nothing to run")


def _best(snapshot: Snapshot, deadline: Deadline) -> _Option:
    """The best set, as if nothing ran; jobs that have just got their places keep them where ranks allow it."""
    decision = _solve(snapshot, snapshot.jobs, deadline, {})
    return _Option(templates=_templates(decision), decision=decision, why="the best plan")


def _choose(snapshot: Snapshot, best: _Option, deadline: Deadline) -> _Option:
    """The best set, or the present one where a change does not pay."""
    present = {job.id: job.running for job in snapshot.jobs if job.running is not None}
    if not present or best.templates == present:
        return best
    if present.items() <= best.templates.items():
        return replace(best, why="starts what fits beside the jobs of now")
    stay = _staying(snapshot, present, deadline)
    if stay is None:
        return replace(best, why="the jobs of now do not fit")
    if not _is_legal(snapshot, stay):
        return replace(best, why="a better rank goes first")
    prices = snapshot.prices
    # What stays may start jobs, too; from there, the best plan must not be worth its price at the next decision.
    price = min(_price(snapshot, best, present), _price(snapshot, best, stay.templates))
    if best.importance - price <= (1 + prices.margin) * stay.importance:
        return replace(stay, why=f"another set of jobs would earn {best.importance:,.4g}, too little to change")
    fresh = [job.id for job in snapshot.jobs if job.running and job.placed_seconds < prices.least_seconds]
    if any(best.templates.get(job) != present[job] for job in fresh):
        return replace(stay, why=f"another set of jobs would be better, but {', '.join(fresh)} have just been started")
    return replace(best, why=f"better than the jobs of now, which would earn {stay.importance:,.4g}")


def _price(snapshot: Snapshot, option: _Option, running: Mapping[str, str]) -> float:
    """What the jobs that an option starts do not earn while they start."""
    verdicts, prices = option.decision.answer.jobs, snapshot.prices
    started = [job for job, template in option.templates.items() if running.get(job) != template]
    return prices.start_seconds / prices.horizon_seconds * sum(verdicts[job].importance for job in started)


def _staying(snapshot: Snapshot, present: Mapping[str, str], deadline: Deadline) -> _Option | None:
    """The present set, and whatever fits beside it; None where it does not fit, with the required jobs, any more."""
    asked = [[job for job in snapshot.jobs if job.id in present], list(snapshot.jobs)]
    if any(job.required and job.id not in present for job in snapshot.jobs):
        del asked[0]
    found: list[MacroDecision] = []
    for jobs in asked:
        # The jobs of now may fit where those that are required, or have a better rank, do not fit beside them.
        with suppress(Infeasible):
            found.append(_solve(snapshot, jobs, deadline.share(1 / (len(asked) - len(found))), present))
    if not found:
        return None
    decision = max(found, key=lambda decision: decision.answer.importance)
    return _Option(templates=_templates(decision), decision=decision)


def _is_legal(snapshot: Snapshot, option: _Option) -> bool:
    """Whether no job that is left out, and that a node could take, has a better rank than one that runs."""
    able = [job for job in snapshot.jobs if job.id not in option.decision.left_out]
    problem = problem_of(able, snapshot.mips)
    return is_rank_legal(problem.jobs, {job: problem.job(job).template(t) for job, t in option.templates.items()})


def _solve(
    snapshot: Snapshot, jobs: list[JobView] | tuple[JobView, ...], deadline: Deadline, fixed: Mapping[str, str]
) -> MacroDecision:
    exact = len(snapshot.cluster.nodes) <= _EXACT_NODES
    return decide_macro(problem_of(jobs, snapshot.mips, fixed), cluster_of(snapshot), deadline, exact=exact)


def _templates(decision: MacroDecision) -> dict[str, str]:
    return {job: verdict.template for job, verdict in decision.answer.jobs.items() if verdict.template is not None}


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
