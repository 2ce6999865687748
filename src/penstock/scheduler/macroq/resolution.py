"""Which resolutions macroQ tries, from coarse to fine (line 4 of figure 6).

Each grid is contained in the next (a unit is a quarter of the one before), so a finer grid never has a worse best
answer, and the steps do not depend on the cluster's size, so neither does more resource. The paper estimates from the
time used which resolution it can still afford and jumps there; we walk the whole ladder, which costs a fraction more
and means that a longer deadline runs through the same search and further: its answer is never worse.

Where the problem's own numbers have a common measure (tables in steps of 200 mips, say) the ladder contains it, since
the best divisions of piecewise linear functions lie on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Literal

from penstock.scheduler.macroq.component import Component, Grid
from penstock.scheduler.problem.admission_problem import Job, Limits, Pe, Problem, Table
from penstock.scheduler.problem.components import job_groups

RATIO = 4
"""How many units of the next grid make one of this."""

FINEST_UNITS_PER_PE = 64
"""Units that a middling PE is divided into at the end of the ladder."""

COARSEST_UNITS_PER_PE = 4

MOST_UNITS = 2**19
"""Units for the whole cluster that are worth the memory."""


QUICK_PES = 10_000
"""PEs of all the lists of one group together that the quick rounds look at."""

MOST_LISTS = 4_096
"""Job/template lists of one group that are enumerated at the end of the ladder."""

MOST_DIGITS = 10**12
"""Numbers with more digits than this have no common measure worth knowing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """One round of the outer loop.

    Attributes:
        grid: The resolution.
        labels: How many labels the non-serial dynamic program may keep before it thins them.
        lists: How many job/template lists of one group are enumerated before jobs come in by merit.
        method: How components are planned: `balanced` and `corners` are rough and quick, `labels` is thorough, `grid`
            keeps strictly to the grid, as the paper does.
    """

    grid: Grid
    labels: int
    lists: int
    method: Literal["balanced", "corners", "labels", "grid"] = "labels"


def ladder(problem: Problem, components: Sequence[Component]) -> list[Effort]:
    """The rounds of the outer loop: two quick ones, finer and finer ones, then more labels and lists."""
    ranges = sorted(top - pe.min_mips for c in components for pe in c.pes if (top := c.top_mips[pe.id]) > pe.min_mips)
    usual = ranges[len(ranges) // 2] if ranges else problem.mips or 1.0
    finest = _finest_step(problem, usual)
    rungs = max(0, math.floor(math.log(usual / COARSEST_UNITS_PER_PE / finest, RATIO)))
    grids = [_grid(problem, finest * RATIO**k) for k in range(rungs, -1, -1)]
    few = max(2, min(64, QUICK_PES // max(1, max(map(_pes, job_groups(problem.jobs)), default=1))))
    rounds = [Effort(grid=grids[len(grids) // 2], labels=0, lists=few, method="balanced")]
    rounds += [Effort(grid=grids[-1], labels=0, lists=few, method="corners")]
    rounds += [Effort(grid=grid, labels=1_000, lists=256) for grid in grids]
    rounds += [Effort(grid=grids[-1], labels=4_000, lists=MOST_LISTS)]
    return rounds


def _pes(group: Sequence[Job]) -> int:
    return sum(len(job.choices[0].pes) for job in group)


def single_round(problem: Problem, granularity: int) -> list[Effort]:
    """One exhaustive round with the cluster divided into `granularity` units."""
    grid = Grid(step_mips=problem.mips / granularity or 1.0, units=granularity)
    return [Effort(grid=grid, labels=2**40, lists=2**40, method="grid")]


def _grid(problem: Problem, step_mips: float) -> Grid:
    return Grid(step_mips=step_mips, units=math.floor(problem.mips / step_mips + 1e-9))


def _finest_step(problem: Problem, usual_range: float) -> float:
    target = max(usual_range / FINEST_UNITS_PER_PE, problem.mips / MOST_UNITS)
    measure = common_measure(_numbers(problem))
    if measure is None or problem.mips / measure > MOST_UNITS:
        return target
    return measure / float(RATIO ** max(0, math.ceil(math.log(measure / target, RATIO) - 1e-9)))


def _numbers(problem: Problem) -> Iterable[float]:
    pes = (pe for job in problem.jobs for template in job.choices for pe in template.pes)
    return chain.from_iterable(_numbers_of(pe) for pe in pes)


def _numbers_of(pe: Pe) -> Iterable[float]:
    yield pe.min_mips
    yield pe.max_mips
    for output in pe.outputs:
        rate = output.rate.allowed if isinstance(output.rate, Limits) else output.rate
        if isinstance(rate, Table):
            yield from (mips for mips, _ in rate.points)


def common_measure(numbers: Iterable[float]) -> float | None:
    """The greatest number that divides all the numbers as they are written; None where it would be tiny.

    It is the same in any unit: thousandths count no more than thousands.

    Example:
        >>> common_measure([78600.0, 69600.0, 0.0]), common_measure([0.5, 0.75]), common_measure([1 / 3, 1.0])
        (600.0, 0.25, None)
    """
    written = [Decimal(repr(number)) for number in set(numbers) if number]
    if not written:
        return None
    exponent = min(int(number.normalize().as_tuple().exponent) for number in written)
    whole = [int(number.scaleb(-exponent)) for number in written]
    if max(whole) > MOST_DIGITS:
        return None
    return float(Decimal(math.gcd(*whole)).scaleb(exponent))
