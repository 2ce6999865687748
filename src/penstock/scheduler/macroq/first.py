"""Answers that need no search: the one that always stands, and a fair one within moments.

`required_at_minimum` exists whenever any answer does: the required jobs alone are rank-legal, because their rank is the
best there is. `first_answer` then admits what fits, rank by rank, at its minimum, and gives what is left to whole
groups of jobs in the order of importance for each mips, the last of them in equal shares. Both take time in
proportion to the number of PEs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.scheduler.macroq.settle import Settlement, admit_what_fits
from penstock.scheduler.problem.admission_problem import Job, Pe, Problem
from penstock.scheduler.problem.composition import compose, inputs_of, is_filled, ready_order
from penstock.scheduler.problem.resource_functions import useful_mips


def required_at_minimum(problem: Problem) -> Settlement:
    """The required jobs and nothing else, each with the template that takes the least."""
    choice = {job.id: min(job.choices, key=lambda template: template.min_mips) for job in problem.jobs if job.required}
    needed = sum(template.min_mips for template in choice.values())
    if needed > problem.mips * (1 + 1e-12):
        raise Infeasible(
            f"the required jobs need {needed:g} mips at their minimum, and the cluster has {problem.mips:g}",
            conflicts=_minimal_conflict(problem.mips, {job_id: t.min_mips for job_id, t in choice.items()}),
        )
    mips = {pe.id: pe.min_mips for template in choice.values() for pe in template.pes}
    return Settlement(choice=choice, mips=mips, granularity=1)


def _minimal_conflict(mips: float, needs: dict[str, float]) -> list[str]:
    """The fewest required jobs that do not fit together."""
    conflict, needed = [], 0.0
    for job_id, need in sorted(needs.items(), key=lambda item: -item[1]):
        conflict.append(job_id)
        needed += need
        if needed > mips * (1 + 1e-12):
            break
    return conflict


def first_answer(
    problem: Problem, groups: Sequence[Sequence[Job]], standing: Settlement, deadline: Deadline
) -> Settlement:
    """Admit what fits at its minimum, then give groups all they can use, the best ones first."""
    admitted = admit_what_fits(problem, standing)
    pes = [pe for template in admitted.choice.values() for pe in template.pes]
    at_most = compose(pes, {pe.id: pe.max_mips for pe in pes}, deadline=deadline)
    top = {pe.id: useful_mips(pe, float(at_most.loads_tps[pe.id]), inputs_of(pe, at_most.rates_tps)) for pe in pes}
    members = [_pes_of(group, admitted) for group in groups]
    extra = [sum(top[pe.id] - pe.min_mips for pe in part) for part in members]
    worth = [sum(float(at_most.importance[pe.id]) for pe in part) for part in members]
    mips = dict(admitted.mips)
    left = problem.mips - admitted.used_mips
    for i in sorted(range(len(members)), key=lambda i: -worth[i] / max(extra[i], 1e-300)):
        if left > 0 and worth[i] > 0:
            given = {pe.id: top[pe.id] for pe in members[i]} if extra[i] <= left else _fair(members[i], top, left)
            left -= sum(given[pe.id] - pe.min_mips for pe in members[i])
            mips |= given
    return Settlement(choice=admitted.choice, mips=mips, granularity=1)


def _fair(pes: Sequence[Pe], top: Mapping[str, float], left_mips: float) -> dict[str, float]:
    """The same share of what it could use for each PE, as large as what is left allows beyond the minima.

    Example:
        >>> pes = [Pe(id="a", max_mips=30.0), Pe(id="b", min_mips=8.0, max_mips=10.0)]
        >>> {pe: round(mips, 3) for pe, mips in _fair(pes, {"a": 30.0, "b": 10.0}, 12.0).items()}
        {'a': 12.0, 'b': 8.0}
    """
    low, most = np.array([pe.min_mips for pe in pes]), np.array([top[pe.id] for pe in pes])
    fits, exceeds = 0.0, 1.0
    for _ in range(40):
        share = (fits + exceeds) / 2
        if (np.maximum(low, share * most) - low).sum() <= left_mips:
            fits = share
        else:
            exceeds = share
    return dict(zip((pe.id for pe in pes), np.maximum(low, fits * most).tolist(), strict=True))


def most_importance(problem: Problem, deadline: Deadline) -> float:
    """The importance of all jobs if every PE has its maximum; infinite where it is not known.

    That is where templates are to be chosen, where a cycle is filled, and where there is no time to compose it.
    """
    if any(len(job.choices) > 1 for job in problem.jobs):
        return math.inf
    pes = [pe for job in problem.jobs for pe in job.choices[0].pes]
    order = ready_order(pes)
    if any(is_filled(batch) for batch in order):
        return math.inf
    most = compose(pes, {pe.id: pe.max_mips for pe in pes}, order, deadline)
    return math.inf if deadline.has_passed() else sum(float(value) for value in most.importance.values())


def _pes_of(group: Sequence[Job], settlement: Settlement) -> list[Pe]:
    return [pe for job in group if job.id in settlement.choice for pe in settlement.choice[job.id].pes]
