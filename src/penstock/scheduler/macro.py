"""A macro decision: macroQ says who runs with how much, macroW where; what cannot be placed does not hold up the rest.

Introduction. macroQ sees one sum of mips and knows nothing of nodes. A job that it admits may be one that no node can
take: its hardware is down, its PEs exclude each other on too few nodes. The paper lets macroW have the last word and
has no way back from it. Then one such job would freeze all the others.

Algorithm. Templates with a PE that no node can take are put aside at once (`_with_nodes`), and so are jobs that have no
other (`_without_nodes`). When macroW finds no placement for what macroQ chose, the admitted jobs are put in order,
required ones first, then by rank, then by importance for each mips, and the first of them with which those before it
cannot be placed is found by halving (`_last_that_fits`). Its template is put aside, or, where it was the last one, the
job is left out with macroW's reason, and macroQ decides again; when the time is up, all behind it are left out with it.
Of a required job the templates are not put aside one by one: all combinations of the required jobs' templates are
tried at their minima (`_with_required_placed`). A job whose goals do not fit, but whose minima do, is cut down by
macroW itself.

When it does not apply. Where the required jobs cannot be placed with any templates nothing can: `Infeasible`, with the
reason.

Reference. Wolf et al., JSSPP 2009, section 3; the way back is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.scheduler.macroq.macroq import PROOF, SETTLING_SECONDS, solve
from penstock.scheduler.macroq.settle import Settlement, answer_of
from penstock.scheduler.macrow.macrow import Candidates, choose_candidates
from penstock.scheduler.macrow.task import allowed_nodes
from penstock.scheduler.problem.admission_problem import Job, Pe, Problem, Template
from penstock.scheduler.problem.answer import Answer, Verdict
from penstock.scheduler.problem.least_amounts import with_least_amounts
from penstock.scheduler.problem.nodes import Cluster

QUANTITY_SHARE = 0.4
"""Of the time there is, for macroQ; macroW, and what has to be decided again, have the rest."""

PLACE_SHARE = 0.5

LEAST_SECONDS = 0.05
"""The time for a step that must have an answer, even where the deadline has passed."""

REASON_SECONDS = 0.2
"""The time limit for finding out why a job cannot be placed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MacroDecision:
    """Who runs, with how much, and where.

    Attributes:
        answer: macroQ's decision on the jobs that can be placed; the others are not admitted.
        candidates: macroW's nodes.
        left_out: The jobs that cannot be placed, each with the reason.
    """

    answer: Answer
    candidates: Candidates
    left_out: Mapping[str, str]


def decide(
    problem: Problem,
    cluster: Cluster,
    deadline: Deadline,
    *,
    exact: bool = True,
    progress: Callable[[str], None] | None = None,
) -> MacroDecision:
    """Admit and place, leaving out what cannot be placed.

    Args:
        problem: The jobs and the mips of the cluster.
        cluster: Nodes, network and rules, and what runs where now.
        deadline: When the decision is due.
        exact: Whether macroW may look for the best plan.
        progress: Is told what is being done.

    Raises:
        Infeasible: The required jobs do not fit, or cannot be placed.

    Example:
        >>> from penstock.scheduler.problem.nodes import Needs, Node
        >>> from penstock.scheduler.problem.admission_problem import Template
        >>> jobs = tuple(
        ...     Job(id=name, templates=(Template(id="t", pes=(Pe(id=f"{name}.p", min_mips=5.0, max_mips=9.0),)),))
        ...     for name in "ab"
        ... )
        >>> cluster = Cluster(nodes=(Node(id="n", mips=20.0),), needs={"a.p": Needs(tags=frozenset({"gpu"}))})
        >>> made = decide(Problem(mips=20.0, jobs=jobs), cluster, Deadline.after(5.0))
        >>> made.answer.jobs["b"].admitted, dict(made.left_out)
        (True, {'a': 'no placement keeps all of: what `a.p` needs (gpu)'})
    """
    problem = with_least_amounts(problem)
    left_out = _without_nodes(problem, cluster, deadline)
    possible: Problem = _with_nodes(problem, cluster)
    bound: float | None = None
    while True:
        open_jobs = replace(possible, jobs=tuple(job for job in possible.jobs if job.id not in left_out))
        answer = solve(open_jobs, deadline=deadline.share(QUANTITY_SHARE), progress=progress)
        # What is put aside because of other jobs may be part of a better answer, so the first bound is the one for all.
        bound = answer.bound if bound is None else bound
        order = sorted((job for job in open_jobs.jobs if answer.jobs[job.id].admitted), key=lambda j: _order(j, answer))
        try:
            candidates = _place(open_jobs, answer, list(answer.jobs), cluster, deadline, exact=exact)
        except Infeasible as error:
            fits, reason, candidates = _last_that_fits(open_jobs, answer, order, cluster, deadline, error)
            stuck = order[fits]
            if stuck.required:
                clash = Infeasible(reason, conflicts=error.conflicts)
                possible = _with_required_placed(possible, answer, cluster, deadline, clash)
                continue
            if len(stuck.choices) > 1 and not deadline.has_passed():
                possible = _without_template(possible, stuck, answer.jobs[stuck.id].template)
                continue
            left_out[stuck.id] = reason
            if not deadline.has_passed():
                continue
            left_out |= {job.id: "there was no time to find nodes for it" for job in order[fits + 1 :]}
            answer = _limited_to(open_jobs, answer, order[:fits], deadline.later_by(SETTLING_SECONDS))
        whole = replace(answer, bound=bound, exact=answer.importance >= bound * (1 - PROOF))
        return MacroDecision(answer=_with_left_out(problem, whole), candidates=candidates, left_out=left_out)


def _without_nodes(problem: Problem, cluster: Cluster, deadline: Deadline) -> dict[str, str]:
    """The jobs that may be left out and have, with every template, a PE that no node takes; each with the reason."""
    left_out: dict[str, str] = {}
    for job in (job for job in problem.jobs if not job.required and cluster.live_nodes):
        stuck = [_stuck_pe(template, cluster) for template in job.choices]
        if None in stuck:
            continue
        left_out[job.id] = f"no node that is up takes `{stuck[0]}`"
        if deadline.left() > REASON_SECONDS:
            pes, soon = job.choices[0].pes, deadline.sooner(REASON_SECONDS)
            try:
                choose_candidates(pes, {pe.id: pe.min_mips for pe in pes}, cluster, deadline=soon)
            except Infeasible as error:
                left_out[job.id] = error.reason
    return left_out


def _with_nodes(problem: Problem, cluster: Cluster) -> Problem:
    """The problem without the templates that have a PE no node takes, of the jobs that have others."""

    def narrowed(job: Job) -> Job:
        if len(job.choices) == 1:
            return job
        kept = tuple(template for template in job.templates if _stuck_pe(template, cluster) is None)
        return replace(job, templates=kept or job.templates)

    return replace(problem, jobs=tuple(map(narrowed, problem.jobs)))


def _without_template(problem: Problem, job: Job, template_id: str | None) -> Problem:
    kept = tuple(template for template in job.templates if template.id != template_id)
    return replace(problem, jobs=tuple(replace(j, templates=kept) if j.id == job.id else j for j in problem.jobs))


def _with_required_placed(
    problem: Problem, answer: Answer, cluster: Cluster, deadline: Deadline, error: Infeasible
) -> Problem:
    """The problem with the required jobs' templates settled so that these can be placed; those chosen come first.

    Raises:
        Infeasible: There are none, or none was found in time.
    """

    def chosen_first(job: Job) -> list[Template]:
        return sorted(job.choices, key=lambda template: template.id != answer.jobs[job.id].template)

    required = [job for job in problem.jobs if job.required]
    choices = list(map(chosen_first, required))
    if all(len(templates) == 1 for templates in choices):
        raise error
    for templates in product(*choices):
        if sum(template.min_mips for template in templates) > problem.mips:
            continue
        if deadline.has_passed():
            raise Infeasible("no templates of the required jobs that can be placed were found before the deadline")
        pes, soon = [pe for template in templates for pe in template.pes], deadline.share(PLACE_SHARE)
        try:
            choose_candidates(pes, {pe.id: pe.min_mips for pe in pes}, cluster, deadline=soon, exact=False)
        except Infeasible as other:
            if not other.conflicts:
                raise
        else:
            settled = {job.id: (template,) for job, template in zip(required, templates, strict=True)}
            jobs = (replace(job, templates=settled.get(job.id, job.templates)) for job in problem.jobs)
            return replace(problem, jobs=tuple(jobs))
    reason = f"{error.reason}; nor can the required jobs be placed with other templates"
    raise Infeasible(reason, conflicts=error.conflicts)


def _stuck_pe(template: Template, cluster: Cluster) -> str | None:
    nodes = allowed_nodes(tuple((pe.id,) for pe in template.pes), cluster)
    return next((pe.id for pe, takes in zip(template.pes, nodes, strict=True) if not takes.any()), None)


def _limited_to(problem: Problem, answer: Answer, jobs: Sequence[Job], deadline: Deadline) -> Answer:
    """The answer in which only some of its jobs are admitted, with what they got."""
    choice = {job.id: job.template(answer.jobs[job.id].template or "") for job in jobs}
    mips = {pe: mips for job in jobs for pe, mips in answer.jobs[job.id].pes.items()}
    kept = replace(problem, jobs=tuple(jobs))
    settlement = Settlement(choice=choice, mips=mips, granularity=answer.granularity)
    return replace(answer_of(kept, settlement, deadline), bound=answer.bound)


def admitted_pes(problem: Problem, answer: Answer) -> list[Pe]:
    """The PEs of the chosen templates of the admitted jobs.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Template
        >>> job = Job(id="A", templates=(Template(id="t", pes=(Pe(id="p", max_mips=1.0),)),))
        >>> verdicts = {"A": Verdict(admitted=True, template="t", pes={"p": 1.0})}
        >>> answer = Answer(importance=0, waterline=1, mips_used=1, granularity=1, seconds=0, jobs=verdicts)
        >>> [pe.id for pe in admitted_pes(Problem(mips=1.0, jobs=(job,)), answer)]
        ['p']
    """
    return _pes_of(problem, answer, [job.id for job in problem.jobs])


def _pes_of(problem: Problem, answer: Answer, job_ids: Sequence[str]) -> list[Pe]:
    jobs = {job.id: job for job in problem.jobs}
    chosen = [(jobs[job_id], answer.jobs[job_id].template) for job_id in job_ids if job_id in answer.jobs]
    return [pe for job, template in chosen if template is not None for pe in job.template(template).pes]


def _place(
    problem: Problem, answer: Answer, job_ids: Sequence[str], cluster: Cluster, deadline: Deadline, *, exact: bool
) -> Candidates:
    pes = _pes_of(problem, answer, job_ids)
    goals = {pe: mips for verdict in answer.jobs.values() for pe, mips in verdict.pes.items()}
    in_time = deadline.share(PLACE_SHARE).at_least(LEAST_SECONDS)
    return choose_candidates(pes, goals, cluster, deadline=in_time, exact=exact)


def _last_that_fits(
    problem: Problem, answer: Answer, order: Sequence[Job], cluster: Cluster, deadline: Deadline, error: Infeasible
) -> tuple[int, str, Candidates]:
    """How many of the jobs can be placed together, why the next one cannot, and the nodes of those that can."""
    fits, fails, reason = 0, len(order), error.reason
    candidates = choose_candidates([], {}, cluster)
    while fails - fits > 1 and not deadline.has_passed():
        middle = (fits + fails) // 2
        try:
            candidates = _place(problem, answer, [job.id for job in order[:middle]], cluster, deadline, exact=False)
            fits = middle
        except Infeasible as smaller:
            fails, reason = middle, smaller.reason
    if not order:
        raise error
    return fits, reason, candidates


def _order(job: Job, answer: Answer) -> tuple[bool, int, float]:
    verdict = answer.jobs[job.id]
    return not job.required, job.effective_rank, -verdict.importance / max(verdict.mips, 1e-300)


def _with_left_out(problem: Problem, answer: Answer) -> Answer:
    """The answer with a verdict for every job."""
    out = Verdict(admitted=False, pes={})
    return replace(answer, jobs={job.id: answer.jobs.get(job.id, out) for job in problem.jobs})
