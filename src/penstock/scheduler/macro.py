"""A macro decision: macroQ says who runs with how much, macroW where; what cannot be placed does not hold up the rest.

Introduction. macroQ sees one sum of mips and knows nothing of nodes. A job that it admits may be one that no node can
take: its hardware is down, its PEs exclude each other on too few nodes. The paper lets macroW have the last word and
has no way back from it. Then one such job would freeze all the others.

Algorithm. When macroW finds no placement, the admitted jobs are put in order, required ones first, then by rank, then
by importance for each mips, and the first of them with which those before it cannot be placed is found by halving
(`_first_that_does_not_fit`). It is left out with macroW's reason, and macroQ decides again without it. A job whose
goals do not fit, but whose minima do, is cut down by macroW itself.

When it does not apply. Where a required job cannot be placed nothing can: `Infeasible`, with the reason.

Reference. Wolf et al., JSSPP 2009, section 3; the way back is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.scheduler.macroq.macroq import solve
from penstock.scheduler.macrow.macrow import Candidates, choose_candidates
from penstock.scheduler.problem.admission_problem import Job, Pe, Problem
from penstock.scheduler.problem.answer import Answer, Verdict
from penstock.scheduler.problem.nodes import Cluster

QUANTITY_SHARE = 0.4
"""Of the time there is, for macroQ; macroW, and what has to be decided again, have the rest."""

PLACE_SHARE = 0.5


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
    left_out: dict[str, str] = {}
    while True:
        open_jobs = replace(problem, jobs=tuple(job for job in problem.jobs if job.id not in left_out))
        answer = solve(open_jobs, deadline=deadline.share(QUANTITY_SHARE), progress=progress)
        try:
            candidates = _place(open_jobs, answer, list(answer.jobs), cluster, deadline, exact=exact)
        except Infeasible as error:
            job, reason = _first_that_does_not_fit(open_jobs, answer, cluster, deadline, error)
            left_out[job.id] = reason
        else:
            return MacroDecision(answer=_with_left_out(problem, answer), candidates=candidates, left_out=left_out)


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
    seconds = deadline.share(PLACE_SHARE).left()
    return choose_candidates(pes, goals, cluster, deadline_seconds=finite(seconds), exact=exact)


def finite(seconds: float) -> float | None:
    """A time limit as the solvers take it."""
    return None if math.isinf(seconds) else max(seconds, 0.05)


def _first_that_does_not_fit(
    problem: Problem, answer: Answer, cluster: Cluster, deadline: Deadline, error: Infeasible
) -> tuple[Job, str]:
    """The job to leave out, and why."""
    admitted = sorted((job for job in problem.jobs if answer.jobs[job.id].admitted), key=lambda j: _order(j, answer))
    fits, fails, reason = 0, len(admitted), error.reason
    while fails - fits > 1:
        middle = (fits + fails) // 2
        try:
            _place(problem, answer, [job.id for job in admitted[:middle]], cluster, deadline, exact=False)
            fits = middle
        except Infeasible as smaller:
            fails, reason = middle, smaller.reason
    if not admitted or admitted[fails - 1].required:
        raise Infeasible(reason, conflicts=error.conflicts) from error
    return admitted[fails - 1], reason


def _order(job: Job, answer: Answer) -> tuple[bool, int, float]:
    verdict = answer.jobs[job.id]
    return not job.required, job.effective_rank, -verdict.importance / max(verdict.mips, 1e-300)


def _with_left_out(problem: Problem, answer: Answer) -> Answer:
    """The answer with a verdict for every job."""
    out = Verdict(admitted=False, pes={})
    return replace(answer, jobs={job.id: answer.jobs.get(job.id, out) for job in problem.jobs})
