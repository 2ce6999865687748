"""The whole admission problem as one mixed integer program: what proves an answer to be the best.

Introduction. macroQ's loops look at job/template lists and at units of resource. Where lists are too many, or where
the best division lies between two units, they find a good answer and cannot say that it is the best. A mixed integer
program can, and for problems of some hundred PEs it does within moments.

Formulation. For each job j and template t a binary y_jt, at most one of them 1, exactly one for a required job
(`_choose`, like all that follow a method of `AdmissionProgram`); for each PE its mips, min y <= g <= max y (`_mips`);
for each stream its rate x: for a flow x <= selectivity load and x <= selectivity g / mips_per_tps, for a table x <=
table(g) (`_rate`); for each valued stream its value, v <= value(x) (`_value`). The sum of g is at most the cluster's
mips. For each rank r a binary u_r, "jobs of rank r may be in": all jobs of better rank are in then, and a job whose own
rank is not reached is in only where a job that reads from it is (`_ranks`). Maximize the importance. Functions never
fall, so a rate below what its function allows only understates.

Example: see `solve_whole`.

When it promises too much. Joins and surfaces are not linear in the inputs: each input is cut where the others are at
their most (`linear_pieces.offers_of`). The rates of a cycle are a least fixed point, and the program finds the
greatest; the two are one where something comes in or where the gain is below 1. A cycle of gain 1 or more may run on
nothing in the program and not in truth, so answers come from a second program in which such a cycle must be started.
The bound holds all the same, and what an answer earns is composed anew.

Algorithm. HiGHS. Where the program is large, its linear relaxation gives a bound at once, and diving an answer: a part
of the columns that are not whole is rounded, the relaxation solved again, and so on (`round_relaxation`). Each column
is counted in units of the most that it can be, because a solver works with absolute tolerances. Revised ranks are
relaxed in the program (job by job instead of PE by PE): a choice that is not rank-legal after all is cut off, and the
program is solved again; so is one that fits only within the solver's tolerance.

Preserves. The bound is one for all rank-legal choices and all allocations.

Reference. Wolf et al., JSSPP 2009, sections 4.1 and 4.2, is the formulation; to solve it as one program is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.base.deadline import Deadline
from penstock.base.relaxation import Relaxation
from penstock.scheduler.macroq.admission_program import AdmissionProgram, Options
from penstock.scheduler.macroq.settle import Settlement, earned
from penstock.scheduler.problem.admission_problem import Problem
from penstock.scheduler.problem.ranks import is_rank_legal

MOST_CUTS = 30
"""Choices that are cut off for their revised ranks before the search gives up."""

PROOF = 1e-6
"""An answer that falls short of a bound by this part of it is the best."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WholeAnswer:
    """The answer of the integer program for the whole problem.

    Attributes:
        settlement: The best choice and allocation found; None where there was no time.
        bound: An importance that no answer within the options exceeds.
    """

    settlement: Settlement | None
    bound: float


def all_options(problem: Problem) -> Options:
    """Every template of every job, and leaving out the jobs that are not required."""
    return {job.id: job.choices if job.required else (None, *job.choices) for job in problem.jobs}


def solve_whole(problem: Problem, options: Options, deadline: Deadline) -> WholeAnswer:
    """The best answer within some options, and how good any could be.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Flow, Job, Linear, Output, Pe, Template
        >>> def job(name, rank, slope):
        ...     flow = Flow(mips_per_tps=1.0, selectivity=1.0)
        ...     out = Output(stream=f"{name}.s", rate=flow, value=Linear(slope=slope))
        ...     pe = Pe(id=f"{name}.pe", min_mips=40.0, max_mips=100.0, offered_tps=80.0, outputs=(out,))
        ...     return Job(id=name, rank=rank, templates=(Template(id="only", pes=(pe,)),))
        >>> problem = Problem(mips=130.0, jobs=(job("A", 1, 1.0), job("B", 2, 3.0), job("C", 2, 2.0)))
        >>> found = solve_whole(problem, all_options(problem), Deadline.after(None))
        >>> sorted(found.settlement.choice), round(found.bound, 6)
        (['A', 'B'], 290.0)
    """
    program = AdmissionProgram(problem, options)
    found = _solve(problem, program, deadline.share(0.5) if program.feeds_itself else deadline)
    if not program.feeds_itself or _earned(found, deadline) >= found.bound * (1 - PROOF):
        return found
    started = _solve(problem, AdmissionProgram(problem, options, starts_loops=True), deadline)
    best = max(found, started, key=lambda answer: _earned(answer, deadline))
    return WholeAnswer(settlement=best.settlement, bound=found.bound)


def round_relaxation(problem: Problem, options: Options, deadline: Deadline) -> WholeAnswer:
    """A good answer to a large problem: the linear relaxation, rounded step by step, first who is in, then the rest."""
    program = AdmissionProgram(problem, options, starts_loops=True)
    relaxation = Relaxation(program.program)
    if not relaxation.solve(deadline):
        return WholeAnswer(settlement=None, bound=math.inf)
    bound = -relaxation.cost * program.worth if program.has_scale else math.inf
    if program.feeds_itself:
        free = AdmissionProgram(problem, options)
        without = Relaxation(free.program)
        bound = -without.cost * free.worth if without.solve(deadline) and free.has_scale else math.inf
    is_whole = relaxation.dive(program.choices, deadline) and relaxation.dive(program.program.integral, deadline)
    if not is_whole or relaxation.values is None:
        return WholeAnswer(settlement=None, bound=bound)
    settlement = program.settlement(relaxation.values.tolist())
    is_sound = _fits(problem, settlement) and is_rank_legal(problem.jobs, settlement.choice)
    return WholeAnswer(settlement=settlement if is_sound else None, bound=bound)


def _earned(found: WholeAnswer, deadline: Deadline) -> float:
    return -math.inf if found.settlement is None else earned(found.settlement, deadline)


def _solve(problem: Problem, program: AdmissionProgram, deadline: Deadline) -> WholeAnswer:
    """Solve, and again without each choice that is not rank-legal or does not fit."""
    bound = math.inf
    for _ in range(MOST_CUTS):
        if deadline.has_passed():
            break
        found = program.program.solve(deadline)
        # Whoever asks has an answer: that there is none is an error of the solver's.
        is_bound = program.has_scale and not found.is_infeasible
        bound = min(bound, -found.bound * program.worth) if is_bound else bound
        if found.values is None:
            return WholeAnswer(settlement=None, bound=bound)
        settlement = program.settlement(found.values.tolist())
        if not _fits(problem, settlement):
            program.cut_off(settlement, with_more=True)
        elif not is_rank_legal(problem.jobs, settlement.choice):
            program.cut_off(settlement, with_more=False)
        else:
            return WholeAnswer(settlement=settlement, bound=bound)
    return WholeAnswer(settlement=None, bound=bound)


def _fits(problem: Problem, settlement: Settlement) -> bool:
    """Whether the minima fit, which a solver sees only within its tolerance."""
    needed = sum(template.min_mips for template in settlement.choice.values())
    return needed <= problem.mips * (1 + 1e-12)
