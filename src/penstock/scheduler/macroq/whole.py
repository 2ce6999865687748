"""The whole admission problem as one mixed integer program: what proves an answer to be the best.

Introduction. macroQ's loops look at job/template lists and at units of resource. Where lists are too many, or where
the best division lies between two units, they find a good answer and cannot say that it is the best. A mixed integer
program can, and for problems of some hundred PEs it does within moments.

Formulation. For each job j and template t a binary y_jt, at most one of them 1, exactly one for a required job
(`_choose`); for each PE its mips, min y <= g <= max y (`_mips`); for each stream its rate x: for a flow x <=
selectivity load and x <= selectivity g / mips_per_tps, for a table x <= table(g) (`_rate`); for each valued stream
its value, v <= value(x) (`_value`). The sum of g is at most the cluster's mips. For each rank r a binary u_r, "jobs
of rank r may be in": all jobs of better rank are in then, and a job whose own rank is not reached is in only where a
job that reads from it is (`_ranks`). Maximize the importance. Functions never fall, so a rate below what its function
allows only understates.

Example: see `solve_whole`.

When it does not apply. A cycle of streams, whose rates are a least fixed point and not a greatest one, and resource
functions that are not linear in the inputs, such as joins (`solve_whole` gives None).

Algorithm. HiGHS. Each column is counted in units of the most that it can be, because a solver works with absolute
tolerances. Revised ranks are relaxed in the program (job by job instead of PE by PE): a choice that is not rank-legal
after all is cut off, and the program is solved again; so is one that fits only within the solver's tolerance.

Preserves. The bound is one for all rank-legal choices and all allocations.

Reference. Wolf et al., JSSPP 2009, sections 4.1 and 4.2, is the formulation; to solve it as one program is ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock.base.deadline import Deadline
from penstock.base.integer_program import IntegerProgram
from penstock.scheduler.macroq.settle import Settlement
from penstock.scheduler.microq.linear_pieces import Points, at_most_function, points_of_value
from penstock.scheduler.problem.admission_problem import PRIMAL, Flow, Job, Limits, Output, Pe, Problem, Table, Template
from penstock.scheduler.problem.ranks import is_rank_legal
from penstock.scheduler.problem.resource_functions import importance_of, interpolate, rate_of
from penstock.scheduler.problem.topology import stream_order

MOST_CUTS = 30
"""Choices that are cut off for their revised ranks before the search gives up."""

STEEPEST = 1e7
"""How much faster than its argument a rate may rise, both in parts of the most they can be: the solver's tolerances."""

Options = Mapping[str, tuple[Template | None, ...]]
"""What may happen to each job: its templates, and None where it may be left out."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WholeAnswer:
    """What the program found.

    Attributes:
        settlement: The best choice and allocation found; None where there was no time.
        bound: An importance that no answer within the options exceeds.
    """

    settlement: Settlement | None
    bound: float


def all_options(problem: Problem) -> Options:
    """Every template of every job, and leaving out the jobs that are not required."""
    return {job.id: job.choices if job.required else (None, *job.choices) for job in problem.jobs}


def solve_whole(problem: Problem, options: Options, deadline: Deadline) -> WholeAnswer | None:
    """The best answer within some options, and how good any could be; None where the program does not apply.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Linear
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
    whole = _Whole.of(problem, options)
    return None if whole is None else whole.solve(deadline)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Member:
    """A PE of one template: templates may share ids, columns may not."""

    job: Job
    template: Template
    pe: Pe


class _Whole:
    def __init__(self, problem: Problem, options: Options, members: Sequence[_Member]) -> None:
        self._problem = problem
        self._options = options
        self._program = IntegerProgram()
        self._gains: list[tuple[int, float]] = []
        self._choice: dict[tuple[str, str], int] = {}
        self._mips_columns: list[tuple[_Member, int, float]] = []
        self._rates: dict[str, list[tuple[int, float]]] = {}
        self._tops: dict[str, float] = {}
        self._choose()
        for member in members:
            self._add(member)
        self._share_out()
        self._ranks()
        self._worth = max((gain for _, gain in self._gains), default=0.0) or 1.0
        for column, gain in self._gains:
            self._program.cost[column] -= gain / self._worth

    @classmethod
    def of(cls, problem: Problem, options: Options) -> _Whole | None:
        """The program of a problem, where it has one."""
        members = [
            _Member(job=job, template=template, pe=pe)
            for job in problem.jobs
            for template in options[job.id]
            if template is not None
            for pe in template.pes
        ]
        if not members or not all(_is_linear(out) for member in members for out in member.pe.outputs):
            return None
        order = stream_order([member.pe for member in members])
        return None if order is None else cls(problem, options, [members[i] for i in order])

    def _choose(self) -> None:
        for job in self._problem.jobs:
            templates = [template for template in self._options[job.id] if template is not None]
            columns = self._program.columns(len(templates), upper=1.0, integral=True)
            self._choice |= {(job.id, template.id): column for template, column in zip(templates, columns, strict=True)}
            must = None not in self._options[job.id]
            self._program.row([(column, 1.0) for column in columns], least=1.0 if must else 0.0, most=1.0)

    def _admitted(self, job: Job) -> list[tuple[int, float]]:
        """The terms of "this job is admitted"."""
        templates = (template for template in self._options[job.id] if template is not None)
        return [(self._choice[job.id, template.id], 1.0) for template in templates]

    def _add(self, member: _Member) -> None:
        chosen = self._choice[member.job.id, member.template.id]
        pe = member.pe
        most = min(pe.max_mips, self._problem.mips)
        mips = self._mips(member, chosen, most)
        load = pe.offered_tps + sum(self._tops.get(stream, 0.0) for stream in pe.inputs)
        for output in pe.outputs:
            inputs = {PRIMAL: pe.offered_tps, **{s: self._tops.get(s, 0.0) for s in pe.inputs}}
            top = float(rate_of(output.rate, load, most, inputs))
            rate = self._rate(pe, output, (mips, most), chosen, top)
            self._value(output, rate, chosen, top)
            self._rates.setdefault(output.stream, []).append((rate, top or 1.0))
            self._tops[output.stream] = max(self._tops.get(output.stream, 0.0), top)

    def _mips(self, member: _Member, chosen: int, most: float) -> int:
        unit = most or 1.0
        (column,) = self._program.columns(1, upper=1.0)
        self._program.row([(column, 1.0), (chosen, -most / unit)], most=0.0)
        if member.pe.min_mips > 0:
            self._program.row([(column, 1.0), (chosen, -member.pe.min_mips / unit)], least=0.0)
        self._mips_columns.append((member, column, unit))
        return column

    def _rate(self, pe: Pe, output: Output, mips: tuple[int, float], chosen: int, top: float) -> int:
        """The column of an output's rate, in units of the most that it can be."""
        (column,) = self._program.columns(1, upper=1.0 if top > 0 else 0.0)
        if top <= 0:
            return column
        unit = top
        mips_column, most = mips
        self._program.row([(column, 1.0), (chosen, -1.0)], most=0.0)
        if isinstance(output.rate, Flow):
            share = output.rate.selectivity / unit
            feeding = [(c, -min(share * u, STEEPEST)) for s in pe.inputs for c, u in self._rates.get(s, ())]
            self._program.row([(column, 1.0), *feeding], most=min(share * pe.offered_tps, STEEPEST))
            allowed = min(share * most / output.rate.mips_per_tps, STEEPEST)
            self._program.row([(column, 1.0), (mips_column, -allowed)], most=0.0)
            return column
        table = output.rate
        if isinstance(output.rate, Limits):
            table, shares = output.rate.allowed, dict(output.rate.offered)
            feeding = [(c, -shares.get(s, 0.0) * u / unit) for s in pe.inputs for c, u in self._rates.get(s, ())]
            self._program.row([(column, 1.0), *feeding], most=shares.get(PRIMAL, 0.0) * pe.offered_tps / unit)
        assert isinstance(table, Table)
        if most > 0:
            points = [(x / most, y / unit) for x, y in _cut(table.points, most)]
            at_most_function(self._program, column, mips_column, points, 1.0, hull=False)
        return column

    def _value(self, output: Output, rate: int, chosen: int, top: float) -> None:
        if output.value is None or not output.is_valued:
            return
        most = float(importance_of(output, top))
        if most <= 0:
            return
        (column,) = self._program.columns(1, upper=1.0)
        unit = most / output.weight
        if top > 0:
            points = [(x / top, y / unit) for x, y in _cut(points_of_value(output.value, top), top)]
            at_most_function(self._program, column, rate, points, 1.0, hull=False)
        self._program.row([(column, 1.0), (chosen, -1.0)], most=0.0)
        self._gains.append((column, most))

    def _share_out(self) -> None:
        unit = self._problem.mips or 1.0
        used = [(column, mips / unit) for _, column, mips in self._mips_columns]
        self._program.row(used, most=self._problem.mips / unit)

    def _ranks(self) -> None:
        """Which ranks are reached, and who may be in because of a job that it feeds."""
        ranks = sorted({job.effective_rank for job in self._problem.jobs})
        reached = dict(zip(ranks, self._program.columns(len(ranks), upper=1.0, integral=True), strict=True))
        for better, worse in pairwise(ranks):
            self._program.row([(reached[better], 1.0), (reached[worse], -1.0)], least=0.0)
            for job in self._problem.jobs:
                if job.effective_rank == better:
                    self._program.row([*self._admitted(job), (reached[worse], -1.0)], least=0.0)
        readers = self._readers()
        for job in self._problem.jobs:
            fed = [(column, -1.0) for reader in readers[job.id] for column, _ in self._admitted(reader)]
            for column, _ in self._admitted(job):
                self._program.row([(column, 1.0), (reached[job.effective_rank], -1.0), *fed], most=0.0)

    def _readers(self) -> dict[str, list[Job]]:
        """The jobs that could read a stream of each job."""
        made = {
            stream: job.id
            for job in self._problem.jobs
            for template in self._options[job.id]
            if template is not None
            for stream in template.streams
        }
        readers: dict[str, dict[str, Job]] = {job.id: {} for job in self._problem.jobs}
        for job in self._problem.jobs:
            for template in (t for t in self._options[job.id] if t is not None):
                for stream in (s for pe in template.pes for s in pe.inputs if s in made):
                    if made[stream] != job.id:
                        readers[made[stream]][job.id] = job
        return {job_id: list(found.values()) for job_id, found in readers.items()}

    def solve(self, deadline: Deadline) -> WholeAnswer:
        """Solve, and again without each choice that is not rank-legal or does not fit."""
        bound = math.inf
        for _ in range(MOST_CUTS):
            if deadline.has_passed():
                break
            found = self._program.solve(deadline)
            # Whoever asks has an answer: that there is none is an error of the solver's.
            bound = bound if found.is_infeasible else min(bound, -found.bound * self._worth)
            if found.values is None:
                return WholeAnswer(settlement=None, bound=bound)
            settlement = self._settlement(found.values.tolist())
            if not self._fits(settlement):
                self._cut_off(settlement, with_more=True)
            elif not is_rank_legal(self._problem.jobs, settlement.choice):
                self._cut_off(settlement, with_more=False)
            else:
                return WholeAnswer(settlement=settlement, bound=bound)
        return WholeAnswer(settlement=None, bound=bound)

    def _settlement(self, values: Sequence[float]) -> Settlement:
        choice = {
            job.id: template
            for job in self._problem.jobs
            for template in self._options[job.id]
            if template is not None and values[self._choice[job.id, template.id]] > 0.5
        }
        mips = {
            member.pe.id: min(max(values[column] * unit, member.pe.min_mips), member.pe.max_mips)
            for member, column, unit in self._mips_columns
            if choice.get(member.job.id) is member.template
        }
        return Settlement(choice=choice, mips=mips, granularity=1)

    def _fits(self, settlement: Settlement) -> bool:
        """Whether the minima fit, with the least amounts of jobs without any, of which the program knows nothing."""
        needed = sum(template.min_mips for template in settlement.choice.values())
        return needed <= self._problem.mips * (1 + 1e-12)

    def _cut_off(self, settlement: Settlement, *, with_more: bool) -> None:
        """Forbid one choice; with more, all choices that admit these jobs and others."""
        chosen = {(job_id, template.id) for job_id, template in settlement.choice.items()}
        terms = [(column, -1.0 if key in chosen else 1.0) for key, column in self._choice.items()]
        terms = [term for term in terms if term[1] < 0] if with_more else terms
        self._program.row(terms, least=1.0 - len(chosen))


def _cut(points: Points, top: float) -> Points:
    """The points of a function up to the largest argument there is: what lies beyond only troubles the solver."""
    end = (top, float(interpolate(Table(points=tuple(points)), top)))
    return [*((x, y) for x, y in points if x < top), end]


def _is_linear(output: Output) -> bool:
    """Whether the rate is linear in the inputs up to what the mips allow."""
    return isinstance(output.rate, Flow | Table) or (isinstance(output.rate, Limits) and not output.rate.pairs)
