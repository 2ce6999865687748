"""macroQ: which jobs to admit, with which templates, and how much each PE gets.

Introduction. There is more work than the cluster can do. Ranks say which jobs come first, importance says what running
them is worth; macroQ finds the rank-legal choice of jobs and templates, and the allocation, that earn the most.

Formulation. Maximize the sum of the PE importance functions over all rank-legal job/template lists
(`penstock.scheduler.problem.ranks`) and allocations g, subject to (1) sum g_p <= G, kept by the budget of `_divide`;
(2) m_p <= g_p <= M_p, kept by `Grid.mips`; (3) required jobs are in, kept by `lists`.

Example: `penstock bench soda` runs the paper's 19 jobs: as the cluster shrinks from 100 to 25 nodes, jobs of rank 3
leave first, then those of rank 2, and the importance falls slowly, since what remains is given to who needs it most.

When it does not apply. Where the required jobs do not fit at their minimum nothing does: `Infeasible` says so and
names them. Where to run the PEs is not asked here; that is macroW's question.

Algorithm. Three nested loops (figure 6). The outer one raises the resolution until the finest is solved or the
deadline strikes (`resolution`). The middle one lowers the waterline from the worst rank to the best. The inner
one takes each group's job/template lists (`lists`), cuts them into weak components, solves each by non-serial
dynamic programming (`nsdp`), and divides the cluster among them (`allocate`). What was solved is kept and
used again at other waterlines. A first answer, the required jobs at their minimum, stands before any search, and a
quick balanced one follows within moments, so that there is an answer whenever time runs out. Behind the quick rounds
the whole problem is given to an integer program (`whole`), which may prove the best answer at once; where it
does not, the loops go on, unless they would see only a few of very many lists, and behind them a local search until
the deadline (`neighbours`, `refine_answer`).

Preserves. Rank-legality and feasibility of every answer; with a longer deadline the same steps run and more, so the
importance never falls.

Reference. Wolf, Bansal, Hildrum, Parekh, Rajan, Wagle, Wu: "Job admission and resource allocation in distributed
streaming systems", JSSPP 2009. We depart where the enumeration of lists is replaced by an envelope for each group
(`offers`), where the ladder of resolutions is walked instead of jumped (`resolution`), and in that the
minimum of a PE is never rounded (the paper rounds it down).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from penstock.base.deadline import Deadline, OutOfTime
from penstock.scheduler.allocation.allocate import allocate
from penstock.scheduler.macroq.component import Component
from penstock.scheduler.macroq.component_plans import CornerCache, Plan, Planner
from penstock.scheduler.macroq.first import first_answer, most_importance, required_at_minimum
from penstock.scheduler.macroq.neighbours import improve
from penstock.scheduler.macroq.offers import Offer, Offers, Prepared
from penstock.scheduler.macroq.refine_answer import refine
from penstock.scheduler.macroq.resolution import MOST_LISTS, Effort, ladder, single_round
from penstock.scheduler.macroq.settle import Settlement, answer_of, earned, merit_of, within_capacity
from penstock.scheduler.macroq.whole import WholeAnswer, all_options, round_relaxation, solve_whole
from penstock.scheduler.problem.admission_problem import Limits, Problem, Surface, Table, Template
from penstock.scheduler.problem.answer import Answer
from penstock.scheduler.problem.components import job_groups
from penstock.scheduler.problem.least_amounts import with_least_amounts

PROOF = 1e-6
"""An answer that falls short of a bound by this part of it is the best."""

SETTLING_SECONDS = 0.1
"""The time that composing an answer may take beyond the deadline: the first, and the one that is returned."""

FIRST_SHARES = (0.1, 0.3, 0.5)
"""Of the time that is left, for composing all jobs at their most, the first answer, and what that earns."""

WHOLE_SECONDS = 30.0
"""The most time that the whole problem may take as one integer program."""

LADDER_SHARE = 0.6
"""Of the time that is left behind the integer program, for the loops; the local search has the rest."""

LADDER_SHARE_OF_MANY_LISTS = 0.15
"""The same where the loops look only at a few of the lists that there are."""

BUILDING_SECONDS = 5e-5
"""The time to build the integer program, for each PE."""

LARGE = 100
"""Yes-or-no decisions beyond which the integer program is rounded first, and its relaxation is the bound."""

ROUNDING_SHARE = 0.8
"""Of the time that is left, for rounding."""

WHOLE_PES = 20_000
"""PEs beyond which the whole problem is not given to the integer program at once."""


def solve(
    problem: Problem,
    *,
    deadline: Deadline | None = None,
    granularity: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Answer:
    """The best admission and allocation that is found by the deadline.

    Args:
        problem: What to decide.
        deadline: When the answer is due; without one the search goes to its end.
        granularity: Solve exhaustively with the cluster divided into this many units, instead of finer and finer, to
            the letter of the paper: a job without a minimum may then be admitted with nothing.
        progress: Is told, a line at a time, what is being tried and what the best answer earns so far.

    Raises:
        Infeasible: The required jobs do not fit.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Flow, Job, Linear, Output, Pe, Template
        >>> def job(name, rank, slope):
        ...     flow = Flow(mips_per_tps=1.0, selectivity=1.0)
        ...     out = Output(stream=f"{name}.s", rate=flow, value=Linear(slope=slope))
        ...     pe = Pe(id=f"{name}.pe", min_mips=40.0, max_mips=100.0, offered_tps=80.0, outputs=(out,))
        ...     return Job(id=name, rank=rank, templates=(Template(id="only", pes=(pe,)),))
        >>> answer = solve(Problem(mips=130.0, jobs=(job("A", 1, 1.0), job("B", 2, 3.0), job("C", 2, 2.0))))
        >>> answer.importance, answer.waterline, {j: v.mips for j, v in answer.jobs.items()}
        (290.0, 2, {'A': 50.0, 'B': 80.0, 'C': 0.0})
    """
    deadline = deadline or Deadline.after(None)
    if granularity is None:
        problem = with_least_amounts(problem)
    search = _Search(problem, deadline, progress or (lambda line: None))
    with suppress(OutOfTime):
        search.run(granularity)
    answer = answer_of(problem, search.settlement(), deadline.later_by(SETTLING_SECONDS))
    proven = search.is_best_on_grid if granularity is not None else answer.importance >= search.bound * (1 - PROOF)
    return replace(answer, exact=proven, bound=search.bound)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Division:
    """An answer as the search sees it: offers and the units that their curves get, of `step_mips` each."""

    offers: Sequence[Offer]
    units: Sequence[int]
    step_mips: float

    def settled(self, capacity_mips: float) -> Settlement:
        choice: dict[str, Template] = {}
        mips: dict[str, float] = {}
        parts: list[tuple[Plan, int]] = []
        at = 0
        for offer in self.offers:
            plan, units = offer.taken(self.units[at : at + len(offer.curves)])
            at += len(offer.curves)
            choice |= plan.choice
            mips |= {pe.id: pe.min_mips for pe in plan.idle}
            parts += zip(plan.parts, units, strict=True)
        for part, units_of_part in parts:
            mips |= part.allocation(units_of_part)
        settled = Settlement(choice=choice, mips=mips, granularity=1)
        self._spend(capacity_mips - settled.used_mips, parts, mips)
        return settled

    def _spend(self, left_mips: float, parts: Sequence[tuple[Plan, int]], mips: dict[str, float]) -> None:
        """Give what is left, less than a unit, to the part that gains most by it."""
        open_parts = [(part, u) for part, u in parts if part.divides_units and u + 1 < len(part.curve)]
        if left_mips > 0 and open_parts:
            part, units = max(
                open_parts, key=lambda entry: float(entry[0].curve[entry[1] + 1] - entry[0].curve[entry[1]])
            )
            mips |= part.allocation(units + min(1.0, left_mips / self.step_mips))


class _Search:
    """The loops of figure 6 and what goes on behind them.

    Attributes:
        bound: An importance that no answer exceeds, as far as it is known.
        is_best_on_grid: Whether the last round has left nothing out.
    """

    def __init__(self, problem: Problem, deadline: Deadline, progress: Callable[[str], None]) -> None:
        self._problem = problem
        self._deadline = deadline
        self._progress = progress
        self._prepared = Prepared()
        self._corners = CornerCache()
        self._groups = job_groups(problem.jobs)
        self._first = required_at_minimum(problem)
        self._best: _Division | Settlement | None = None
        self._best_importance = -math.inf
        self._granularity = 1
        self._rounds = 0
        self.bound = most_importance(problem, self._at_least_soon(FIRST_SHARES[0]))
        self.is_best_on_grid = False

    def settlement(self) -> Settlement:
        """The best found."""
        found = self._best.settled(self._problem.mips) if isinstance(self._best, _Division) else self._best
        return replace(found or self._first, granularity=self._granularity)

    def run(self, granularity: int | None) -> None:
        """The outer loop: finer and finer, until nothing is left to refine."""
        if granularity is not None:
            self._round(single_round(self._problem, granularity)[0])
            return
        in_time = self._at_least_soon(FIRST_SHARES[1])
        self._first = first_answer(self._problem, self._groups, self._first, in_time)
        before = self._deadline.elapsed()
        self._best_importance = earned(self._first, self._at_least_soon(FIRST_SHARES[2]))
        # Reading off the answer takes about this long, twice.
        self._deadline = self._deadline.earlier_by(2 * (self._deadline.elapsed() - before))
        if self._is_proven:
            return
        if self._has_few_lists() or self._decisions() <= LARGE:
            self._walk_the_ladder()
        else:
            self._solve_whole()
        if not self._is_proven:
            self._search_on()

    def _at_least_soon(self, share: float) -> Deadline:
        """A share of the time that is left, and a moment where there is none."""
        return self._deadline.share(share).later_by(SETTLING_SECONDS)

    def _walk_the_ladder(self) -> None:
        """Round by round, with the integer program behind the first."""
        rounds = ladder(self._problem, self._components())
        self._climb(rounds[:1])
        self._solve_whole()
        if self._is_proven:
            return
        share = LADDER_SHARE if self._has_few_lists() else LADDER_SHARE_OF_MANY_LISTS
        until, self._deadline = self._deadline, self._deadline.share(share)
        with suppress(OutOfTime):
            self._climb(rounds[1:])
        self._deadline = until

    def _has_few_lists(self) -> bool:
        """Whether the loops look at all job/template lists of every group."""
        most = math.log(MOST_LISTS)
        return all(sum(math.log(len(job.choices) + (not job.required)) for job in g) <= most for g in self._groups)

    def _climb(self, rounds: Sequence[Effort]) -> None:
        for effort in rounds:
            self._rounds += 1
            self._tell(f"round {self._rounds}: {effort.grid.units:,} units")
            self._round(effort)
            if self._is_proven:
                return

    @property
    def _is_proven(self) -> bool:
        return self._best_importance >= self.bound * (1 - PROOF)

    def _tell(self, line: str) -> None:
        self._progress(f"importance {self._best_importance:,.6g} so far; {line}")

    def _round(self, effort: Effort) -> None:
        self.is_best_on_grid = False
        self.is_best_on_grid = self._lower_the_waterline(effort)
        self._granularity = max(1, effort.grid.units)

    def _decisions(self) -> int:
        """About how many yes-or-no decisions the problem has."""
        templates = [template for job in self._problem.jobs for template in job.choices]
        return len(templates) + sum(_count_tables(template) for template in templates)

    def _solve_whole(self) -> None:
        """Ask the integer program for an answer and a bound, with half the time left."""
        pes = sum(len(template.pes) for job in self._problem.jobs for template in job.choices)
        if pes > WHOLE_PES or self._deadline.left() < pes * BUILDING_SECONDS:
            return
        options = all_options(self._problem)
        if self._decisions() > LARGE:
            self._tell("the linear relaxation, rounded")
            self._learn(round_relaxation(self._problem, options, self._some_time(ROUNDING_SHARE)))
        self._tell("the whole problem as one integer program")
        self._learn(solve_whole(self._problem, options, self._some_time(0.5)))

    def _some_time(self, share: float) -> Deadline:
        return self._deadline.share(share).sooner(WHOLE_SECONDS)

    def _learn(self, found: WholeAnswer) -> None:
        self._keep(found.settlement)
        if found.bound >= self._best_importance * (1 - PROOF):  # Otherwise the solver's tolerances have deceived it.
            self.bound = min(self.bound, found.bound)

    def _search_on(self) -> None:
        """The local search, while there is time."""
        self._deadline.check()
        until = self._deadline.share(0.5) if _promises_too_much(self._problem) else self._deadline
        for found in improve(self._problem, self.settlement(), self.bound, until):
            self._keep(found)
            self._tell("searching among the neighbours of the best answer")
        if not self._is_proven and not self._deadline.has_passed():
            for found in refine(self._problem, self.settlement(), self._deadline):
                self._keep(found)
                self._tell("moving mips between the PEs of the best answer")

    def _keep(self, found: Settlement | None) -> None:
        if found is None:
            return
        within = replace(found, mips=within_capacity(self._problem, found))
        if (importance := earned(within, self._deadline)) > self._best_importance:
            self._best, self._best_importance = within, importance

    def _components(self) -> list[Component]:
        found: list[Component] = []
        for group in self._groups:
            self._deadline.check()
            found += self._prepared.cut({job.id: job.choices[0] for job in group}, self._deadline)[0]
        return found

    def _lower_the_waterline(self, effort: Effort) -> bool:
        """The middle loop; whether all of it was exact."""
        planner = Planner(self._corners, effort, self._deadline)
        offers = Offers(self._prepared, planner, most_lists=effort.lists)
        exact = True
        merit: dict[str, float] = {}
        for rank in sorted({job.effective_rank for job in self._problem.jobs}, reverse=True):
            made = [offers.offer(group, rank, merit) for group in self._groups]
            division, is_exact = self._divide(made, effort)
            exact &= all(offer.exact for offer in made) & is_exact
            if division is not None and not self._has_few_lists():
                merit |= merit_of(division.settled(self._problem.mips), self._deadline)
        return exact

    def _divide(self, offers: Sequence[Offer], effort: Effort) -> tuple[_Division | None, bool]:
        """The division among all components, if anything fits, and whether it was exact; the best so far is kept."""
        self._deadline.check()
        left = self._problem.mips - sum(offer.base_mips for offer in offers)
        if left < -1e-9 * self._problem.mips:
            return None, True
        budget = max(0, math.floor(left / effort.grid.step_mips + 1e-9))
        curves = [curve for offer in offers for curve in offer.curves]
        division = allocate(curves, budget, self._deadline)
        found = _Division(offers=offers, units=division.units.tolist(), step_mips=effort.grid.step_mips)
        if division.importance > self._best_importance:
            # Mixtures of corners may earn more than the line between them says, so what counts is composed.
            may_earn_more = effort.method in ("corners", "labels")
            settled = found.settled(self._problem.mips) if may_earn_more else None
            importance = division.importance if settled is None else earned(settled, self._deadline)
            if importance > self._best_importance:
                self._best, self._best_importance = found, importance
        return found, division.exact


def _promises_too_much(problem: Problem) -> bool:
    """Whether the integer program takes some resource functions for more than they are: joins and surfaces."""
    templates = (template for job in problem.jobs for template in job.choices)
    rates = (output.rate for template in templates for pe in template.pes for output in pe.outputs)
    return any(isinstance(rate, Surface) or (isinstance(rate, Limits) and bool(rate.pairs)) for rate in rates)


def _count_tables(template: Template) -> int:
    outputs = [output for pe in template.pes for output in pe.outputs]
    return sum(isinstance(out.rate, Table) + isinstance(out.value, Table) for out in outputs)
