"""Dependence between jobs, revised ranks, rank-legality and the waterline (section 4.1 of the SODA paper).

A job depends on another when a path of streams leads from a PE of the one to a PE of the other. An admitted job's
revised rank is the best rank among the admitted jobs that depend on it, itself included: who feeds a job of rank 1 is
as good as rank 1. A job that is not admitted keeps its own rank. A choice is rank-legal when no admitted job has a
worse revised rank than a job that is left out.

A choice is written as a mapping from the ids of the admitted jobs to their templates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.scheduler.problem.admission_problem import Job, Template

Choice = Mapping[str, Template]


def revised_ranks(jobs: Sequence[Job], choice: Choice) -> dict[str, int]:
    """The revised rank of every job under a choice.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Flow, Output, Pe
        >>> one = Flow(mips_per_tps=1.0, selectivity=1.0)
        >>> def job(name, rank, inputs):
        ...     pe = Pe(id=name, max_mips=1.0, inputs=inputs, outputs=(Output(stream=f"{name}.s", rate=one),))
        ...     return Job(id=name, rank=rank, templates=(Template(id="only", pes=(pe,)),))
        >>> jobs = [job("A", 3, ()), job("B", 1, ("A.s",)), job("C", 2, ())]
        >>> revised_ranks(jobs, {j.id: j.templates[0] for j in jobs})
        {'A': 1, 'B': 1, 'C': 2}
        >>> revised_ranks(jobs, {"A": jobs[0].templates[0]})
        {'A': 3, 'B': 1, 'C': 2}
    """
    own = {job.id: job.effective_rank for job in jobs}
    revised = dict(own)
    job_of, feeders = _upstream(choice)
    reached: set[str] = set()
    # From the best rank on, so that the first to reach a PE is the best that depends on it.
    for job_id in sorted((job.id for job in jobs if job.id in choice), key=own.__getitem__):
        frontier = [pe.id for pe in choice[job_id].pes if pe.id not in reached]
        rank = own[job_id]
        while frontier:
            pe_id = frontier.pop()
            if pe_id not in reached:
                reached.add(pe_id)
                revised[job_of[pe_id]] = min(revised[job_of[pe_id]], rank)
                frontier += feeders[pe_id]
    return revised


def _upstream(choice: Choice) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The job of each PE, and the PEs that feed it."""
    job_of = {pe.id: job_id for job_id, template in choice.items() for pe in template.pes}
    producer = {out.stream: pe.id for template in choice.values() for pe in template.pes for out in pe.outputs}
    feeders = {
        pe.id: [producer[s] for s in pe.inputs if s in producer] for template in choice.values() for pe in template.pes
    }
    return job_of, feeders


def is_rank_legal(jobs: Sequence[Job], choice: Choice) -> bool:
    """Whether no admitted job has a worse revised rank than one that is left out."""
    revised = revised_ranks(jobs, choice)
    best_left_out = min((revised[job.id] for job in jobs if job.id not in choice), default=None)
    return best_left_out is None or all(revised[job_id] <= best_left_out for job_id in choice)


def waterline(jobs: Sequence[Job], choice: Choice) -> int:
    """The worst revised rank among the admitted jobs; 0 when there is none."""
    revised = revised_ranks(jobs, choice)
    return max((revised[job_id] for job_id in choice), default=0)
