"""The least amount of an admitted job: admission means a positive amount.

A job whose PEs have no minimum could be called admitted and get nothing, while jobs of worse rank take the cluster.
The paper admits a job when the best allocation gives it a positive amount of resources, so a template without a
minimum has a small amount set aside before anything is decided: all of them together a hundred-millionth of the
cluster. A job that the best allocation gives more than that is not touched by it; one that it would give nothing gets
that amount.

Required jobs are admitted whatever they get: for them nothing is set aside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from penstock.scheduler.problem.admission_problem import Job, Problem, Template
from penstock.scheduler.problem.ranks import Choice

SHARE = 1e-8
"""Of the cluster, for all these amounts together."""


def with_least_amounts(problem: Problem) -> Problem:
    """The problem in which no template can be admitted with nothing.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Pe
        >>> pe = Pe(id="p", max_mips=50.0)
        >>> job = Job(id="A", templates=(Template(id="only", pes=(pe,)),))
        >>> round(with_least_amounts(Problem(mips=100.0, jobs=(job,))).jobs[0].templates[0].min_mips, 9)
        1e-06
    """
    bare = [job for job in problem.jobs if any(_is_bare(job, template) for template in job.templates)]
    if not bare:
        return problem
    # On a cluster without mips no amount fits, and none may look so small that it seems to.
    amount = SHARE * problem.mips / len(bare) or math.inf
    return replace(problem, jobs=tuple(_raised(job, amount) for job in problem.jobs))


def _is_bare(job: Job, template: Template) -> bool:
    return not job.required and template.min_mips == 0 and any(pe.max_mips > 0 for pe in template.pes)


def _raised(job: Job, amount: float) -> Job:
    templates = tuple(
        replace(t, least_mips=min(amount, sum(pe.max_mips for pe in t.pes))) if _is_bare(job, t) else t
        for t in job.templates
    )
    return replace(job, templates=templates)


def give_least_amounts(choice: Choice, mips: Mapping[str, float]) -> dict[str, float]:
    """The mips in which every admitted job has what was set aside for it, if it got less."""
    given = dict(mips)
    for template in choice.values():
        missing = template.least_mips - sum(given[pe.id] for pe in template.pes)
        for pe in template.pes:
            if missing <= 0:
                break
            more = min(missing, pe.max_mips - given[pe.id])
            given[pe.id] += more
            missing -= more
    return given
