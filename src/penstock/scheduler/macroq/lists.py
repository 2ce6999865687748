"""Job/template lists: which jobs of a group could be admitted, and with which templates (line 6 of figure 6).

At waterline r all jobs of better rank are in, jobs of rank r may be, and a job of worse rank may be only where an
admitted job of rank r or better depends on it, which makes its revised rank good enough. Templates are chosen for new
jobs and fixed for running ones.

All lists are listed where they are few. Where they are many, jobs come in by importance for each mips, as the paper
has it: the lists are the beginnings of that order, and for each job with several templates one list with each of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.base.deadline import Deadline
from penstock.scheduler.problem.admission_problem import Job, Template
from penstock.scheduler.problem.components import trim
from penstock.scheduler.problem.composition import compose
from penstock.scheduler.problem.ranks import Choice, revised_ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLists:
    """The job/template lists of one group at one waterline.

    Attributes:
        choices: The lists; the first always takes the least mips that the group can take.
        complete: Whether these are all there are.
    """

    choices: tuple[Choice, ...]
    complete: bool


def job_lists(
    group: Sequence[Job],
    waterline: int,
    limit: int,
    merit: Mapping[str, float] | None = None,
    deadline: Deadline | None = None,
) -> JobLists:
    """The rank-legal job/template lists of a group of jobs, at most about `limit` of them.

    `merit` is the importance of jobs for each mips in the best division at the waterline before; jobs that it does not
    know count as they would with all they may take.

    Raises:
        OutOfTime: The deadline has passed before all were listed.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Pe
        >>> def job(name, rank):
        ...     return Job(id=name, rank=rank, templates=(Template(id="only", pes=(Pe(id=name, max_mips=1.0),)),))
        >>> lists = job_lists([job("A", 1), job("B", 2), job("C", 3)], 2, 100)
        >>> [sorted(choice) for choice in lists.choices], lists.complete
        ([['A'], ['A', 'B']], True)
    """
    lifted = _may_be_lifted(group, waterline)
    options = [_options(job, waterline, lifted) for job in group]
    cheapest = {
        job.id: min(job.choices, key=lambda template: template.min_mips)
        for job, may in zip(group, options, strict=True)
        if None not in may
    }
    complete = math.prod(len(may) for may in options) <= limit
    in_time = deadline or Deadline.after(None)
    candidates = _all_lists(group, options) if complete else _by_merit(group, options, limit, merit or {}, in_time)
    choices = [cheapest]
    for choice in candidates:
        in_time.check()
        if choice != cheapest and _is_legal(group, choice, waterline):
            choices.append(dict(choice))
    return JobLists(choices=tuple(choices), complete=complete)


def _options(job: Job, waterline: int, lifted: frozenset[str]) -> tuple[Template | None, ...]:
    """The options of a job at a waterline: its templates, and None where it may be left out."""
    if job.required or job.effective_rank < waterline:
        return job.choices
    if job.effective_rank == waterline or job.id in lifted:
        return (None, *job.choices)
    return (None,)


def _may_be_lifted(group: Sequence[Job], waterline: int) -> frozenset[str]:
    """Jobs of worse rank than the waterline that some job of good enough rank may depend on."""
    if all(job.effective_rank <= waterline for job in group):
        return frozenset()
    feeders = feeders_of(group)
    frontier = [job.id for job in group if job.effective_rank <= waterline]
    reached = set(frontier)
    while frontier:
        fresh = feeders[frontier.pop()] - reached
        reached |= fresh
        frontier += fresh
    return frozenset(reached)


def feeders_of(group: Sequence[Job]) -> Mapping[str, set[str]]:
    """The jobs whose streams each job reads, with whatever templates."""
    producer = {stream: job.id for job in group for template in job.choices for stream in template.streams}
    return {
        job.id: {
            producer[stream]
            for template in job.choices
            for pe in template.pes
            for stream in pe.inputs
            if stream in producer
        }
        - {job.id}
        for job in group
    }


def _is_legal(group: Sequence[Job], choice: Choice, waterline: int) -> bool:
    if all(job.effective_rank <= waterline for job in group if job.id in choice):
        return True
    revised = revised_ranks(group, choice)
    return all(revised[job_id] <= waterline for job_id in choice)


def _all_lists(group: Sequence[Job], options: Sequence[tuple[Template | None, ...]]) -> Iterator[Choice]:
    for picks in itertools.product(*options):
        yield {job.id: template for job, template in zip(group, picks, strict=True) if template is not None}


def _by_merit(
    group: Sequence[Job],
    options: Sequence[tuple[Template | None, ...]],
    limit: int,
    known: Mapping[str, float],
    deadline: Deadline,
) -> Iterator[Choice]:
    """Beginnings of the order by importance for each mips, then single changes of template."""
    forced = [job for job, may in zip(group, options, strict=True) if None not in may]
    optional = [job for job, may in zip(group, options, strict=True) if None in may and len(may) > 1]
    usual = {job.id: job.choices[0] for job in (*forced, *optional)}
    merit = _merit(usual, deadline) | {job_id: worth for job_id, worth in known.items() if job_id in usual}
    ordered = sorted(optional, key=lambda job: -merit[job.id])
    feeders = feeders_of(group)
    stride = max(1, math.ceil(2 * len(ordered) / limit))
    for count in range(len(ordered), -1, -stride):
        admitted = _with_feeders([job.id for job in (*forced, *ordered[:count])], feeders, usual)
        yield {job_id: usual[job_id] for job_id in admitted}
    several = [(job, template) for job in (*forced, *optional) for template in job.choices[1:]]
    for job, template in several[: limit // 2]:
        yield {**usual, job.id: template}


def _with_feeders(job_ids: Sequence[str], feeders: Mapping[str, set[str]], known: Choice) -> list[str]:
    """The jobs and all that they depend on: a job without its inputs earns nothing."""
    found = dict.fromkeys(job_ids)
    todo = list(job_ids)
    while todo:
        for feeder in sorted(feeders[todo.pop()]):
            if feeder in known and feeder not in found:
                found[feeder] = None
                todo.append(feeder)
    return list(found)


def _merit(choice: Choice, deadline: Deadline) -> dict[str, float]:
    """The importance of each job for each mips, when all the jobs get all they can take."""
    pes = trim([pe for template in choice.values() for pe in template.pes])
    importance = compose(pes, {pe.id: pe.max_mips for pe in pes}, deadline=deadline).importance
    merit = {}
    for job_id, template in choice.items():
        earned = sum(float(importance[pe.id]) for pe in template.pes if pe.id in importance)
        merit[job_id] = earned / max(sum(pe.max_mips for pe in template.pes), 1e-300)
    return merit
