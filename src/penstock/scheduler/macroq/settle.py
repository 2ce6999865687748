"""From the allocation that macroQ settled on to the answer that a user sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.base.deadline import Deadline
from penstock.scheduler.problem.admission_problem import Job, Problem, Template
from penstock.scheduler.problem.answer import Answer, Verdict
from penstock.scheduler.problem.composition import compose
from penstock.scheduler.problem.ranks import Choice, waterline


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settlement:
    """A choice of jobs and templates with the mips of their PEs.

    Attributes:
        choice: The admitted jobs and their templates.
        mips: What each of their PEs gets, by id.
        granularity: The number of units that the cluster was divided into in the last round that was finished.
    """

    choice: Choice
    mips: Mapping[str, float]
    granularity: int

    @property
    def used_mips(self) -> float:
        """The mips of all jobs together."""
        return sum(self.mips[pe.id] for template in self.choice.values() for pe in template.pes)


def earned(settlement: Settlement, deadline: Deadline | None = None) -> float:
    """The importance of a settlement, composed from the mips of its PEs; at least that, when time is up before."""
    pes = [pe for template in settlement.choice.values() for pe in template.pes]
    return sum(float(value) for value in compose(pes, settlement.mips, deadline=deadline).importance.values())


def merit_of(settlement: Settlement, deadline: Deadline) -> dict[str, float]:
    """The importance of each admitted job for each mips that it got."""
    pes = [pe for template in settlement.choice.values() for pe in template.pes]
    importance = compose(pes, settlement.mips, deadline=deadline).importance
    return {
        job_id: sum(float(importance[pe.id]) for pe in template.pes)
        / max(sum(settlement.mips[pe.id] for pe in template.pes), 1e-300)
        for job_id, template in settlement.choice.items()
    }


def answer_of(problem: Problem, settlement: Settlement, deadline: Deadline) -> Answer:
    """The answer to a problem, with importance composed anew from the mips of the PEs."""
    settlement = admit_what_fits(problem, settlement)
    choice = settlement.choice
    mips = within_capacity(problem, settlement)
    pes = [pe for template in choice.values() for pe in template.pes]
    by_pe = {pe_id: float(value) for pe_id, value in compose(pes, mips, deadline=deadline).importance.items()}
    verdicts = {job.id: _verdict(choice.get(job.id), mips, by_pe) for job in problem.jobs}
    return Answer(
        importance=sum(verdict.importance for verdict in verdicts.values()),
        waterline=waterline(problem.jobs, choice),
        mips_used=sum(verdict.mips for verdict in verdicts.values()),
        granularity=settlement.granularity,
        seconds=deadline.elapsed(),
        jobs=verdicts,
    )


def _verdict(template: Template | None, mips: Mapping[str, float], importance: Mapping[str, float]) -> Verdict:
    if template is None:
        return Verdict(admitted=False, pes={})
    pes = {pe.id: mips[pe.id] for pe in template.pes}
    return Verdict(
        admitted=True,
        template=template.id,
        mips=sum(pes.values()),
        importance=sum(importance[pe.id] for pe in template.pes),
        pes=pes,
    )


def admit_what_fits(problem: Problem, settlement: Settlement) -> Settlement:
    """Admit further jobs at their minimum, while they fit and the choice stays rank-legal.

    They are tried rank by rank, up to the first rank of which one stays out. Importance cannot fall by it.
    """
    choice, mips = dict(settlement.choice), dict(settlement.mips)
    left = problem.mips - settlement.used_mips
    out_rank = None
    for job in sorted((job for job in problem.jobs if job.id not in choice), key=_rank):
        template = min(job.choices, key=lambda template: template.min_mips)
        if (out_rank is None or job.effective_rank == out_rank) and template.min_mips <= left:
            choice[job.id] = template
            mips |= {pe.id: pe.min_mips for pe in template.pes}
            left -= template.min_mips
        elif out_rank is None:
            out_rank = job.effective_rank
    return Settlement(choice=choice, mips=mips, granularity=settlement.granularity)


def _rank(job: Job) -> int:
    return job.effective_rank


def within_capacity(problem: Problem, settlement: Settlement) -> dict[str, float]:
    """Take back what was given out beyond the capacity, from PEs that are above their minimum."""
    mips = dict(settlement.mips)
    templates = settlement.choice.values()
    excess = settlement.used_mips - problem.mips
    for template in templates:
        for pe in template.pes:
            if excess <= 0:
                return mips
            back = max(0.0, min(excess, mips[pe.id] - pe.min_mips))
            mips[pe.id] -= back
            excess -= back
    return mips
