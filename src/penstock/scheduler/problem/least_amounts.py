"""The least amount of an admitted job: admission means a positive amount.

A job whose PEs have no minimum could be called admitted and get nothing, while jobs of worse rank take the cluster.
The paper admits a job when the best allocation gives it a positive amount of resources, so here a template without a
minimum has one: a hundredth of what its PEs may take together, or of the cluster where they may take more than that.
Each PE has its part of it, in proportion to what it may take; PEs that nothing of worth depends on have none, unless
that is true of all. A job that can run on less says so by a minimum of its own, however small.

Required jobs are admitted whatever they get: for them nothing is set aside.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.scheduler.problem.admission_problem import Job, Linear, Output, Pe, Problem, Template
from penstock.scheduler.problem.components import trim

SHARE = 0.01
"""Of what the PEs of a job may take, or of the cluster."""


def with_least_amounts(problem: Problem) -> Problem:
    """The problem in which no template can be admitted with nothing.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Pe
        >>> pe = Pe(id="p", max_mips=50.0)
        >>> job = Job(id="A", templates=(Template(id="only", pes=(pe,)),))
        >>> with_least_amounts(Problem(mips=100.0, jobs=(job,))).jobs[0].templates[0].min_mips
        0.5
    """
    bare = {job.id for job in problem.jobs if any(_is_bare(job, template) for template in job.templates)}
    if not bare:
        return problem
    readers: dict[str, set[str]] = {}
    for job in problem.jobs:
        for stream in {stream for template in job.templates for pe in template.pes for stream in pe.inputs}:
            readers.setdefault(stream, set()).add(job.id)

    def raised(job: Job) -> Job:
        if job.id not in bare:
            return job
        exported = {stream for stream in job.templates[0].streams if readers.get(stream, set()) - {job.id}}
        templates = (
            _raised(template, exported, problem.mips) if _is_bare(job, template) else template
            for template in job.templates
        )
        return replace(job, templates=tuple(templates))

    return replace(problem, jobs=tuple(map(raised, problem.jobs)))


def _is_bare(job: Job, template: Template) -> bool:
    return not job.required and template.min_mips == 0 and any(pe.max_mips > 0 for pe in template.pes)


def _raised(template: Template, exported: set[str], mips: float) -> Template:
    """The template with a minimum; where the cluster has nothing to give, with one that does not fit."""
    able = [pe for pe in template.pes if pe.max_mips > 0]
    matter = {pe.id for pe in trim([_with_worth(pe, exported) for pe in able])} or {pe.id for pe in able}
    most = sum(pe.max_mips for pe in able if pe.id in matter)
    part = SHARE * (min(1.0, mips / most) or 1.0)
    pes = (replace(pe, min_mips=part * pe.max_mips) if pe.id in matter else pe for pe in template.pes)
    return replace(template, pes=tuple(pes))


def _with_worth(pe: Pe, exported: set[str]) -> Pe:
    """The PE in whose job the streams that other jobs read are worth something."""

    def worth(output: Output) -> Output:
        return replace(output, value=Linear(slope=1.0), weight=1.0) if output.stream in exported else output

    return replace(pe, outputs=tuple(map(worth, pe.outputs)))
