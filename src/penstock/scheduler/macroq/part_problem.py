"""A part of an admission problem, cut out of an answer to the whole: some jobs choose again, the others stay.

The jobs of the part get what they have and what is free. What they read from other jobs comes at the rates of the
answer. What others read from them may change; so the answer that is put together is composed anew, and whoever asked
keeps the better one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import replace

from penstock.base.deadline import Deadline
from penstock.scheduler.macroq.settle import Settlement
from penstock.scheduler.macroq.whole import WholeAnswer, solve_whole
from penstock.scheduler.problem.admission_problem import Job, Limits, Pe, Problem, Surface, Template
from penstock.scheduler.problem.composition import compose
from penstock.scheduler.problem.ranks import is_rank_legal, waterline
from penstock.scheduler.problem.resource_functions import Amounts


def solve_part(problem: Problem, best: Settlement, freed: Set[str], deadline: Deadline) -> WholeAnswer:
    """The answer in which some jobs have chosen again."""
    pes = [pe for template in best.choice.values() for pe in template.pes]
    rates = compose(pes, best.mips, deadline=deadline).rates_tps
    among = [job for job in problem.jobs if job.id in freed]
    inside = {stream for job in among for template in job.choices for stream in template.streams}
    jobs = tuple(_cut_out(job, inside, rates) for job in among)
    others = {job_id: template for job_id, template in best.choice.items() if job_id not in freed}
    kept = {pe.id: best.mips[pe.id] for template in others.values() for pe in template.pes}
    taken = Settlement(choice=others, mips=kept, granularity=1).used_mips
    worst = waterline(problem.jobs, best.choice)
    by_id = {job.id: job for job in problem.jobs}
    options = {job.id: _options(job, by_id[job.id], best, worst) for job in jobs}
    found = solve_whole(Problem(mips=max(0.0, problem.mips - taken), jobs=jobs), options, deadline)
    if found.settlement is None:
        return replace(found, bound=math.inf)
    chosen = {job_id: by_id[job_id].template(t.id) for job_id, t in found.settlement.choice.items()}
    together = Settlement(choice={**others, **chosen}, mips={**kept, **found.settlement.mips}, granularity=1)
    legal = is_rank_legal(problem.jobs, together.choice)
    return WholeAnswer(settlement=together if legal else best, bound=math.inf)


def _options(job: Job, whole: Job, best: Settlement, worst: int) -> tuple[Template | None, ...]:
    """The options of a job; a required job, or an admitted one of better rank than `worst`, may not be left out."""
    may_leave = not whole.required and (job.id not in best.choice or whole.effective_rank >= worst)
    return (None, *job.choices) if may_leave else job.choices


def _cut_out(job: Job, inside: Set[str], rates: Mapping[str, Amounts]) -> Job:
    """The job with what it reads from jobs outside as a part of what it is offered; ranks count only in the whole."""
    templates = tuple(replace(t, pes=tuple(_fed(pe, inside, rates) for pe in t.pes)) for t in job.templates)
    return replace(job, rank=1, templates=templates)


def _fed(pe: Pe, inside: Set[str], rates: Mapping[str, Amounts]) -> Pe:
    outside = [stream for stream in pe.inputs if stream not in inside]
    if not outside or any(isinstance(out.rate, Limits | Surface) for out in pe.outputs):
        return pe
    offered = pe.offered_tps + sum(float(rates.get(stream, 0.0)) for stream in outside)
    return replace(pe, offered_tps=offered, inputs=tuple(stream for stream in pe.inputs if stream in inside))
