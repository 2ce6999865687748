"""The rows and columns of the integer program of a whole admission problem; `whole` says what it is and solves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from penstock.base.integer_program import IntegerProgram
from penstock.scheduler.macroq.settle import Settlement
from penstock.scheduler.microq.linear_pieces import (
    Points,
    allowed_points,
    at_most_function,
    offers_of,
    points_of_value,
)
from penstock.scheduler.problem.admission_problem import PRIMAL, Flow, Job, Output, Pe, Problem, Table, Template
from penstock.scheduler.problem.resource_functions import FloatArray, importance_of, interpolate, rate_of
from penstock.scheduler.problem.topology import stream_order

STEEPEST = 1e7
"""How much faster than its argument a rate may rise, both in parts of the most they can be: the solver's tolerances."""

LOOP_ROUNDS = 100
"""Rounds in which the most that the streams of a cycle can carry comes down from what their PEs' mips allow."""

LOOP_STEPS = 50_000
"""PEs that these rounds look at: bounds their time."""

MOST_GAINS = 300
"""Streams of a cycle whose gain is worked out; a larger one is taken to feed itself."""

GAIN_OF_ONE = 1e-6
"""A gain that falls short of 1 by this is 1."""

ENDLESS = 1e100
"""A rate above all others."""

STARTS_A_LOOP = 1e-4
"""The part of its largest possible input that a cycle needs from outside in order to run at its highest rate."""

Options = Mapping[str, tuple[Template | None, ...]]
"""The options of each job: its templates, and None where it may be left out."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Member:
    """A PE of one template: templates may share ids, columns may not."""

    job: Job
    template: Template
    pe: Pe


class AdmissionProgram:
    """The integer program of a problem within some options.

    Attributes:
        program: To be minimized.
        worth: The importance that a cost of 1 stands for.
        choices: The columns that say who is in, and which ranks are reached.
        has_scale: Whether the most that each stream can carry is known; otherwise rates may be so small a part of what
            they are counted in that the solver takes them for nothing, and its bound is none.
        feeds_itself: Whether there is a cycle that could run without any inflow, as far as the rows can tell.

    Args:
        problem: What to decide.
        options: What may happen to each job.
        starts_loops: Whether a cycle that feeds itself must be started by an inflow worth mentioning. Then answers
            are not cut short by cycles that never start, and the bound of the program is none.
    """

    def __init__(self, problem: Problem, options: Options, *, starts_loops: bool = False) -> None:
        self._problem = problem
        self._options = options
        self.program = IntegerProgram()
        self._gains: list[tuple[int, float]] = []
        self._choice: dict[tuple[str, str], int] = {}
        self._mips_columns: list[tuple[_Member, int, float]] = []
        self._rates: dict[str, list[tuple[int, float]]] = {}
        self._outputs: list[list[int]] = []
        self._members = [
            _Member(job=job, template=template, pe=pe)
            for job in problem.jobs
            for template in options[job.id]
            if template is not None
            for pe in template.pes
        ]
        self.has_scale = True
        batches = stream_order([member.pe for member in self._members])
        self._tops = self._most_rates(batches)
        self._choose()
        self._add_members()
        loops = [batch for batch in batches if self._feeds_itself([self._members[i].pe for i in batch])]
        self.feeds_itself = bool(loops)
        for batch in loops if starts_loops else ():
            self._start(batch)
        self._share_out()
        self.choices = [*self._choice.values(), *self._ranks()]
        self.worth = max((gain for _, gain in self._gains), default=0.0) or 1.0
        for column, gain in self._gains:
            self.program.cost[column] -= gain / self.worth

    def _most_mips(self, pe: Pe) -> float:
        return min(pe.max_mips, self._problem.mips)

    def _most_rates(self, batches: Sequence[Sequence[int]]) -> dict[str, float]:
        """The most that each stream can carry; on a cycle, a limit from above."""
        tops: dict[str, float] = {}
        for batch in batches:
            for stream, rate in self._most_of_batch([self._members[i].pe for i in batch], tops).items():
                tops[stream] = max(tops.get(stream, 0.0), rate)
        return tops

    def _most_of_batch(self, pes: Sequence[Pe], tops: dict[str, float]) -> dict[str, float]:
        own = self._without_limits(pes, tops)
        if not own:
            return self._round(pes, tops)
        for _ in range(max(2, min(LOOP_ROUNDS, LOOP_STEPS // len(pes)))):
            # Another template may produce the same stream outside of the cycle.
            before, own = own, self._round(pes, tops | {s: max(r, tops.get(s, 0.0)) for s, r in own.items()})
            if all(rate >= before.get(stream, 0.0) * (1 - 1e-9) for stream, rate in own.items()):
                return own
        self.has_scale = False
        return own

    def _without_limits(self, pes: Sequence[Pe], tops: dict[str, float]) -> dict[str, float]:
        """What the streams of a cycle carry where mips are free; a rate above all others where that has no end."""
        own = dict.fromkeys(sorted(_streams_between(pes)), ENDLESS)
        if not 0 < len(own) <= MOST_GAINS:
            return own
        gains, inflow = self._gains_between(pes, tops | own)
        if _gain_of(gains) >= 1 - GAIN_OF_ONE:
            return own
        rates = np.linalg.solve(np.eye(len(own)) - gains, inflow) * (1 + 1e-9)
        return dict(zip(own, np.maximum(rates, 0.0).tolist(), strict=True))

    def _gains_between(self, pes: Sequence[Pe], tops: Mapping[str, float]) -> tuple[FloatArray, FloatArray]:
        """The most that a tuple of each stream of a cycle adds to each other one, and what comes in from outside."""
        own = {stream: i for i, stream in enumerate(sorted(_streams_between(pes)))}
        gains, inflow = np.zeros((len(own), len(own))), np.zeros(len(own))
        for pe in pes:
            inputs = _most_inputs(pe, tops)
            for output in (out for out in pe.outputs if out.stream in own):
                at = own[output.stream]
                offers = offers_of(pe, output.rate, inputs) or [(self._top(pe, output, tops), ())]
                for height, shares in offers:
                    outside = sum(share * inputs.get(s, 0.0) for s, share in shares if s not in own)
                    inflow[at] = max(inflow[at], height + outside)
                    for stream, share in ((s, share) for s, share in shares if s in own):
                        gains[at, own[stream]] = max(gains[at, own[stream]], share)
        return gains, inflow

    def _round(self, pes: Sequence[Pe], tops: Mapping[str, float]) -> dict[str, float]:
        rates: dict[str, float] = {}
        for pe in pes:
            for output in pe.outputs:
                rates[output.stream] = max(rates.get(output.stream, 0.0), self._top(pe, output, tops))
        return rates

    def _top(self, pe: Pe, output: Output, tops: Mapping[str, float]) -> float:
        inputs = _most_inputs(pe, tops)
        return float(rate_of(output.rate, float(sum(inputs.values())), self._most_mips(pe), inputs))

    def _choose(self) -> None:
        for job in self._problem.jobs:
            templates = [template for template in self._options[job.id] if template is not None]
            columns = self.program.columns(len(templates), upper=1.0, integral=True)
            self._choice |= {(job.id, template.id): column for template, column in zip(templates, columns, strict=True)}
            must = None not in self._options[job.id]
            self.program.row([(column, 1.0) for column in columns], least=1.0 if must else 0.0, most=1.0)

    def _admitted(self, job: Job) -> list[tuple[int, float]]:
        """The terms of "this job is admitted"."""
        templates = (template for template in self._options[job.id] if template is not None)
        return [(self._choice[job.id, template.id], 1.0) for template in templates]

    def _add_members(self) -> None:
        """The columns of all rates first: on a cycle each depends on others."""
        todo = []
        for member in self._members:
            chosen = self._choice[member.job.id, member.template.id]
            mips = self._mips(member, chosen)
            self._outputs.append([])
            for output in member.pe.outputs:
                top = self._top(member.pe, output, self._tops)
                column = self.program.column(upper=1.0 if top > 0 else 0.0)
                self._rates.setdefault(output.stream, []).append((column, top or 1.0))
                self._outputs[-1].append(column)
                todo.append((member.pe, output, mips, chosen, column, top))
        for pe, output, mips, chosen, column, top in todo:
            if top > 0:
                self.program.row([(column, 1.0), (chosen, -1.0)], most=0.0)
                self._rate(pe, output, mips, column, top)
            self._value(output, column, chosen, top)

    def _mips(self, member: _Member, chosen: int) -> int:
        most = self._most_mips(member.pe)
        unit = most or self._problem.mips or 1.0
        column = self.program.column(upper=1.0)
        self.program.row([(column, 1.0), (chosen, -most / unit)], most=0.0)
        if member.pe.min_mips > 0:
            self.program.row([(column, 1.0), (chosen, -member.pe.min_mips / unit)], least=0.0)
        self._mips_columns.append((member, column, unit))
        return column

    def _rate(self, pe: Pe, output: Output, mips: int, column: int, unit: float) -> None:
        """Keep the column of a rate, in units of the most that it can be, below its resource function."""
        inputs = _most_inputs(pe, self._tops)
        for height, shares in offers_of(pe, output.rate, inputs):
            feeding = [(c, -min(share * u / unit, STEEPEST)) for s, share in shares for c, u in self._rates.get(s, ())]
            known = height + sum(share * pe.offered_tps for stream, share in shares if stream == PRIMAL)
            self.program.row([(column, 1.0), *feeding], most=min(known / unit, STEEPEST))
        most = self._most_mips(pe)
        if isinstance(output.rate, Flow):
            allowed = min(output.rate.selectivity * most / output.rate.mips_per_tps / unit, STEEPEST)
            self.program.row([(column, 1.0), (mips, -allowed)], most=0.0)
        elif most > 0:
            points = _cut(allowed_points(output.rate, inputs, most), most)
            at_most_function(self.program, column, mips, [(x / most, y / unit) for x, y in points], 1.0, hull=False)

    def _value(self, output: Output, rate: int, chosen: int, top: float) -> None:
        if output.value is None or not output.is_valued:
            return
        most = float(importance_of(output, top))
        if most <= 0:
            return
        column = self.program.column(upper=1.0)
        unit = most / output.weight
        if top > 0:  # A stream that carries nothing may be worth something all the same.
            points = [(x / top, y / unit) for x, y in _cut(points_of_value(output.value, top), top)]
            at_most_function(self.program, column, rate, points, 1.0, hull=False)
        self.program.row([(column, 1.0), (chosen, -1.0)], most=0.0)
        self._gains.append((column, most))

    def _feeds_itself(self, pes: Sequence[Pe]) -> bool:
        """Whether the streams of a cycle could keep each other up: its gain is 1 or more."""
        own = _streams_between(pes)
        if not 0 < len(own) <= MOST_GAINS:
            return bool(own)
        return _gain_of(self._gains_between(pes, self._tops)[0]) >= 1 - GAIN_OF_ONE

    def _start(self, batch: Sequence[int]) -> None:
        """Keep the rates of a cycle below a large multiple of what comes in from outside."""
        pes = [self._members[i].pe for i in batch]
        own = {column for i in batch for column in self._outputs[i]}
        read = [rate for pe in pes for stream in pe.inputs for rate in self._rates.get(stream, ())]
        outside = [(column, unit) for column, unit in read if column not in own]
        known = sum(pe.offered_tps for pe in pes)
        unit = STARTS_A_LOOP * (known + sum(top for _, top in outside)) or 1.0
        feeding = [(column, -top / unit) for column, top in outside]
        for column in own:
            self.program.row([(column, 1.0), *feeding], most=known / unit)

    def _share_out(self) -> None:
        unit = self._problem.mips or 1.0
        used = [(column, mips / unit) for _, column, mips in self._mips_columns]
        self.program.row(used, most=self._problem.mips / unit)

    def _ranks(self) -> list[int]:
        """Which ranks are reached, and who may be in because of a job that it feeds."""
        ranks = sorted({job.effective_rank for job in self._problem.jobs})
        reached = dict(zip(ranks, self.program.columns(len(ranks), upper=1.0, integral=True), strict=True))
        for better, worse in pairwise(ranks):
            self.program.row([(reached[better], 1.0), (reached[worse], -1.0)], least=0.0)
            for job in self._problem.jobs:
                if job.effective_rank == better:
                    self.program.row([*self._admitted(job), (reached[worse], -1.0)], least=0.0)
        readers = self._readers()
        for job in self._problem.jobs:
            fed = [(column, -1.0) for reader in readers[job.id] for column, _ in self._admitted(reader)]
            for column, _ in self._admitted(job):
                self.program.row([(column, 1.0), (reached[job.effective_rank], -1.0), *fed], most=0.0)
        return list(reached.values())

    def _readers(self) -> dict[str, list[Job]]:
        """The jobs that could read a stream of each job."""
        made = {out.stream: member.job.id for member in self._members for out in member.pe.outputs}
        readers: dict[str, dict[str, Job]] = {job.id: {} for job in self._problem.jobs}
        for member in self._members:
            for stream in member.pe.inputs:
                if made.get(stream, member.job.id) != member.job.id:
                    readers[made[stream]][member.job.id] = member.job
        return {job_id: list(found.values()) for job_id, found in readers.items()}

    def settlement(self, values: Sequence[float]) -> Settlement:
        """The answer that the columns' values stand for."""
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

    def cut_off(self, settlement: Settlement, *, with_more: bool) -> None:
        """Forbid one choice; with more, all choices that admit these jobs and others."""
        chosen = {(job_id, template.id) for job_id, template in settlement.choice.items()}
        terms = [(column, -1.0 if key in chosen else 1.0) for key, column in self._choice.items()]
        terms = [term for term in terms if term[1] < 0] if with_more else terms
        self.program.row(terms, least=1.0 - len(chosen))


def _gain_of(gains: FloatArray) -> float:
    """The gain of a cycle: how many tuples come back for one, all in all."""
    return float(np.abs(np.linalg.eigvals(np.minimum(gains, ENDLESS))).max())


def _streams_between(pes: Sequence[Pe]) -> set[str]:
    """The streams that some PEs produce and read themselves."""
    return {out.stream for pe in pes for out in pe.outputs} & {stream for pe in pes for stream in pe.inputs}


def _most_inputs(pe: Pe, tops: Mapping[str, float]) -> dict[str, float]:
    return {PRIMAL: pe.offered_tps, **{stream: tops.get(stream, 0.0) for stream in pe.inputs}}


def _cut(points: Points, top: float) -> Points:
    """The points of a function up to the largest argument there is: what lies beyond only troubles the solver."""
    end = (top, float(interpolate(Table(points=tuple(points)), top)))
    return [*((x, y) for x, y in points if x < top), end]
