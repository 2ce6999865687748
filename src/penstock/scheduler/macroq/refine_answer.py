"""Search from an answer on where no program applies: move mips between PEs and keep what earns more.

Introduction. Where cycles, joins or surfaces keep the integer program out, the loops of macroQ end on their finest
grid. The best division may lie between its points, and what a choice could earn is known only as far as the grid
goes. This search goes on from the best answer with its choice, and from those that differ from it in one job.

Algorithm. A step draws some directions: a few PEs each, amounts from the whole cluster down to a millionth of it. Each
is cut back to the ranges of the PEs and to the capacity, all are composed at once, and the best is kept if it earns
more (random search with several scales). After `PATIENCE` steps without gain the next choice has its turn.

When it does not apply. One step must take a fraction of the time that is left: where composing takes long, as in a
large cycle of joins, nothing is tried.

Preserves. Capacity, the ranges of PEs and rank-legality. Nothing is proven.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.base.deadline import Deadline
from penstock.scheduler.macroq.settle import Settlement, earned
from penstock.scheduler.problem.admission_problem import Pe, Problem, Template
from penstock.scheduler.problem.composition import compose, is_loop, ready_order
from penstock.scheduler.problem.ranks import Choice, is_rank_legal
from penstock.scheduler.problem.resource_functions import FloatArray

PATIENCE = 40
"""Steps without gain before a choice is given up."""

DIRECTIONS = 256
"""Directions that a step draws, at the most."""

MOST_NUMBERS = 1_000_000
"""Rates, and entries of the systems of cycles, that a step computes: bounds its time and memory."""

SHORTEST = 10
"""How many times as long as composing one answer takes must be left, for the first step to be worth it."""

GAIN = 1e-9
"""A gain below this part of the importance is none."""


def refine(problem: Problem, start: Settlement, deadline: Deadline) -> Iterator[Settlement]:
    """Better and better answers, from a start on, until no choice near it gains or the deadline is near."""
    rng = np.random.default_rng(0)
    before = deadline.elapsed()
    best, importance = start, earned(start, deadline)
    if deadline.left() < SHORTEST * (deadline.elapsed() - before):
        return
    for job_id, template in _changes(problem):
        if deadline.has_passed():
            return
        choice = _changed(best.choice, job_id, template)
        fits = sum(t.min_mips for t in choice.values()) <= problem.mips
        if not fits or not is_rank_legal(problem.jobs, choice):
            continue
        found = _climb(problem, _begin(choice, best), deadline, rng)
        if (worth := earned(found, deadline)) > importance * (1 + GAIN):
            best, importance = found, worth
            yield best


def _changes(problem: Problem) -> Iterator[tuple[str, Template | None]]:
    """None at first, then every job with every template and without any."""
    yield "", None
    for job in problem.jobs:
        yield from ((job.id, template) for template in (job.choices if job.required else (None, *job.choices)))


def _changed(choice: Choice, job_id: str, template: Template | None) -> Choice:
    others = {other: t for other, t in choice.items() if other != job_id}
    return others if template is None else {**others, job_id: template}


def _begin(choice: Choice, best: Settlement) -> Settlement:
    """A choice in which PEs keep their mips as far as they were there and may have them."""
    pes = [pe for template in choice.values() for pe in template.pes]
    mips = {pe.id: min(max(best.mips.get(pe.id, pe.min_mips), pe.min_mips), pe.max_mips) for pe in pes}
    return Settlement(choice=choice, mips=mips, granularity=best.granularity)


def _climb(problem: Problem, start: Settlement, deadline: Deadline, rng: np.random.Generator) -> Settlement:
    """The best allocation that is found for a choice while there is time."""
    room = _Room(problem, start)
    if not room.pes:
        return start
    mips, importance, idle = room.fit(np.array([[start.mips[pe.id] for pe in room.pes]]))[0], -1.0, 0
    before = deadline.elapsed()
    while idle < PATIENCE:
        candidates = np.vstack([mips, room.fit(mips + room.directions(rng))])
        earnings = room.earnings(candidates, deadline)
        took, before = deadline.elapsed() - before, deadline.elapsed()
        at = int(earnings.argmax())
        idle = 0 if earnings[at] > importance * (1 + GAIN) else idle + 1
        mips, importance = candidates[at], float(earnings[at])
        if deadline.left() < 2 * took:
            break
    return room.settlement(mips)


class _Room:
    """The allocations that a choice may have."""

    def __init__(self, problem: Problem, start: Settlement) -> None:
        self._start = start
        self.pes: list[Pe] = [pe for template in start.choice.values() for pe in template.pes]
        self._order = ready_order(self.pes)
        self._low = np.array([pe.min_mips for pe in self.pes])
        self._high = np.array([pe.max_mips for pe in self.pes])
        self._capacity = problem.mips
        loops = [sum(len(pe.outputs) for pe in batch) for batch in self._order if is_loop(batch)]
        numbers = len(self.pes) + sum(outputs**2 for outputs in loops)
        self._count = max(1, min(DIRECTIONS, MOST_NUMBERS // max(1, numbers)))

    def directions(self, rng: np.random.Generator) -> FloatArray:
        """Changes of a few PEs each, of all sizes."""
        shape = (self._count, len(self.pes))
        size = 10.0 ** -rng.uniform(0.0, 6.0, size=(self._count, 1))
        share = rng.uniform(1.0, 4.0, size=(self._count, 1)) / len(self.pes)
        return np.asarray(rng.normal(size=shape) * (rng.random(shape) < share) * size * max(self._capacity, 0.0))

    def fit(self, mips: FloatArray) -> FloatArray:
        """The mips cut back to the ranges of the PEs, and then in proportion to the capacity."""
        above = np.clip(mips, self._low, self._high) - self._low
        total = above.sum(axis=1, keepdims=True)
        room = max(0.0, self._capacity - float(self._low.sum()))
        part = np.where(total > room, room / np.where(total > 0, total, 1.0), 1.0)
        return np.asarray(self._low + above * part)

    def earnings(self, mips: FloatArray, deadline: Deadline) -> FloatArray:
        """The importance of every row."""
        given = {pe.id: mips[:, i] for i, pe in enumerate(self.pes)}
        importance = compose(self.pes, given, self._order, deadline).importance
        return np.asarray(sum((np.asarray(value) for value in importance.values()), np.zeros(len(mips))))

    def settlement(self, mips: FloatArray) -> Settlement:
        """An allocation as an answer."""
        amounts = dict(zip([pe.id for pe in self.pes], mips.tolist(), strict=True))
        return Settlement(choice=self._start.choice, mips=amounts, granularity=self._start.granularity)
