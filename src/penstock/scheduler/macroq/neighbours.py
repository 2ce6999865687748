"""Search from the best answer on: let some jobs choose again, keep all others as they are, until time is up.

Where a group has too many job/template lists to enumerate and the whole problem is too large to be solved at once, a
part of it is not. Each step frees a few jobs, one drawn by chance with those that streams connect it with, and some
more of any kind, and solves for them to the end (`whole`), with the templates of all others fixed and the mips
of all PEs free. In large problems the other jobs keep their mips, too (`part_problem`). What is better is kept. When
nothing was found for a while more jobs are freed at a time.

Reference. Shaw, "Using constraint programming and local search methods to solve vehicle routing problems", CP 1998
(large neighbourhood search). The SODA paper asks for a search that uses the time there is, and does not say which.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping

from penstock.base.deadline import Deadline
from penstock.scheduler.macroq.admission_program import Options
from penstock.scheduler.macroq.lists import feeders_of
from penstock.scheduler.macroq.part_problem import solve_part
from penstock.scheduler.macroq.settle import Settlement, earned
from penstock.scheduler.macroq.whole import all_options, solve_whole
from penstock.scheduler.problem.admission_problem import Problem

FIRST_FREE = 8
"""Jobs that choose again in the first steps."""

PATIENCE = 6
"""Steps without gain before half as many more jobs are freed."""

STEP_SECONDS = 5.0
"""The most time that a step may take; half of what is left, because the solver may take longer."""

LAST_SECONDS = 0.02
"""Time that is not worth a step."""


LARGE = 300
"""PEs of the admitted jobs beyond which the others keep their mips, too."""


def improve(problem: Problem, start: Settlement, bound: float, deadline: Deadline) -> Iterator[Settlement]:
    """Better and better answers, from a start on, until the deadline or the bound is reached.

    Args:
        problem: What to decide.
        start: The answer to improve; rank-legal.
        bound: No answer earns more.
        deadline: When to stop; without one, after as many steps without gain as there are jobs.
    """
    rng = random.Random(0)
    options, near = all_options(problem), _neighbours(problem)
    best, importance = start, earned(start, deadline)
    free, idle, misses = FIRST_FREE, 0, 0
    while deadline.left() > LAST_SECONDS and importance < bound * (1 - 1e-6) and misses < 3:
        until = deadline.share(0.5).sooner(STEP_SECONDS)
        freed = _drawn(rng, list(options), near, free)
        if sum(len(job.choices[0].pes) for job in problem.jobs) > LARGE:
            found = solve_part(problem, best, freed, until)
        else:
            found = solve_whole(problem, _options(problem, options, best, freed), until)
        if deadline.left() == math.inf and idle > len(options):
            return
        misses = misses + 1 if found.settlement is None and not until.has_passed() else 0
        worth = -math.inf if found.settlement is None else earned(found.settlement, deadline)
        if found.settlement is not None and worth > importance * (1 + 1e-9):
            best, importance, idle = found.settlement, worth, 0
            yield best
            continue
        idle += 1
        if len(freed) == len(options):
            return
        if until.has_passed():
            free = max(FIRST_FREE, free * 2 // 3)
        elif idle % PATIENCE == 0:
            free += free // 2


def _neighbours(problem: Problem) -> Mapping[str, list[str]]:
    """The jobs that streams could connect with each job."""
    near: dict[str, set[str]] = {job.id: set() for job in problem.jobs}
    for reader, feeding in feeders_of(problem.jobs).items():
        for feeder in feeding:
            near[reader].add(feeder)
            near[feeder].add(reader)
    return {job_id: sorted(others) for job_id, others in near.items()}


def _drawn(rng: random.Random, jobs: list[str], near: Mapping[str, list[str]], count: int) -> frozenset[str]:
    """Some jobs: a connected part and, for a third of them, any."""
    frontier = [rng.choice(jobs)]
    drawn = set(frontier)
    while frontier and len(drawn) < count - count // 3:
        job = frontier.pop(rng.randrange(len(frontier)))
        fresh = [other for other in near[job] if other not in drawn]
        rng.shuffle(fresh)
        taken = fresh[: max(1, count // 3)]
        drawn |= set(taken)
        frontier += taken
    drawn |= set(rng.sample(jobs, min(len(jobs), count - len(drawn)))) if len(drawn) < count else set()
    return frozenset(drawn)


def _options(problem: Problem, options: Options, best: Settlement, freed: frozenset[str]) -> Options:
    return {job.id: options[job.id] if job.id in freed else (best.choice.get(job.id),) for job in problem.jobs}
