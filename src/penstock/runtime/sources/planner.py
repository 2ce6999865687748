"""Plans the batches of a job's sources.

Introduction:
    One planner serves all sources of a job, because the order of the sequential program is an order over all of them:
    at one time the sources take turns, one item each, in order of declaration, and time passes for all of them.

Formulation:
    The place of an item is (time, turn, order of its source). A batch is all items of all sources between two places,
    the same for every source. So no item of a later batch stands before one of an earlier batch, and the time that a
    batch's pulse tells is the time of every source.

Example:
    Two files, one read at once and one with a tuple a second, in batches of 1,000 turns: the first batches hold 1,000
    tuples of the first file each, and one of the second file; only when the first file has ended does time pass.

Algorithm:
    `TurnPlanner` takes the earliest time of any source, lets all sources of that time take as many turns, and goes on
    with the next time until the batch is full. A source that is alone and can be read by columns is not run at all:
    `ColumnPlanner` finds the extents of the batch, and tasks read them.

    In a continuous run time is the clock on the wall, counted from the first start of the job. An item's time is when
    it was due, or if that has passed when the batch before was planned. Where time passes without items a pulse tells
    of it once a second, if the job has operators that wait for time to pass. A source with times of its own
    (`SetsClock`) may hold the clock back.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Protocol

from penstock.base.deadline import Deadline
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.transport.batches import LAST_PULSE, PULSE_NUMBER
from penstock.expr.environment import Environment
from penstock.runtime.sources.batch import PlannedBatch, check_form
from penstock.runtime.sources.batch_size import TURNS_PER_BATCH
from penstock.runtime.sources.by_columns import ColumnPE, is_read_by_columns
from penstock.runtime.sources.column_planner import ColumnPlanner
from penstock.runtime.sources.column_run import ColumnRun, TimedColumnRun
from penstock.runtime.sources.loop_planner import LoopPlanner, start_of_loop
from penstock.runtime.sources.rounds import Rounds
from penstock.runtime.sources.turns import SourceRun
from penstock.runtime.sources.waiting import waits_for_time
from penstock.runtime.sources.wall_clock import WallClock, began, is_due, set_began
from penstock.toolkit.core.column_source import SetsClock
from penstock.toolkit.core.program import Program

ROUND_TURNS = 1_000
"""How many turns one of several sources takes before the others have theirs, where a batch is closed by the clock."""

BATCH_SECONDS = 1.0
"""How long a continuous run waits for a batch to fill up."""


class Planner(Protocol):
    """Plans batch after batch."""

    def next_batch(self, turns: int | None = None) -> PlannedBatch | None:
        """A batch of about so many turns of each source, by default a good number; None if there is nothing for now."""

    def snapshot(self) -> dict[str, Any]:
        """Where it stands, as plain data."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another stood."""


def make_planner(
    program: Program,
    plan: PhysicalPlan,
    environment: Environment,
    pes: Sequence[int],
    *,
    continuous: bool = False,
    partitions: int | None = None,
    rounds: Rounds | None = None,
) -> Planner:
    """The planner of some sources.

    Args:
        program: What runs.
        plan: How it is cut into PEs.
        environment: Files, settings and the clock of the run.
        pes: The PEs of the sources.
        continuous: Whether the run goes on when there is nothing new.
        partitions: How many tasks read a batch, where that is possible; without it one for each channel, or as many as
            the source asks for.
        rounds: What batches send round, if the application's loop is open.
    """
    clock = WallClock(start_ns=environment.clock.now_ns) if continuous else None
    waits = waits_for_time(plan.application)
    sources = [p.index for p in plan.pes if p.role == "source"]
    loop = start_of_loop(plan)
    pes = [pe for pe in pes if pe != loop]
    columns = {pe for pe in pes if is_read_by_columns(program, plan, pe, environment, follows=continuous)}
    by_columns = {i: ColumnPE(program, plan, i, environment.renewed(), follows=continuous) for i in columns}
    if len(sources) == 1 and columns:
        alone = by_columns[pes[0]]
        return ColumnPlanner(alone, clock, waits, partitions or max(plan.channels, alone.source.tasks))
    runs: dict[int, SourceRun | ColumnRun] = {}
    for index in pes:
        place = sources.index(index), len(sources)
        if index in columns and not by_columns[index].source.is_timed:
            runs[index] = ColumnRun(by_columns[index], *place)
        elif index in columns and isinstance(by_columns[index].source, SetsClock) and continuous:
            runs[index] = TimedColumnRun(by_columns[index], *place)
        else:
            runs[index] = SourceRun(program, plan, index, environment.renewed(), follows=continuous)
    if loop is not None:
        assert rounds is not None, "whoever opens a loop says where its rounds are"
        return LoopPlanner(plan, runs, rounds)
    return TurnPlanner(list(runs.values()), clock, waits)


class TurnPlanner:
    """Lets several sources, or one that only runs turn by turn, take their turns in the sequential order."""

    def __init__(self, runs: Sequence[SourceRun | ColumnRun], clock: WallClock | None, waits: bool) -> None:
        self._runs = runs
        self._clock = clock
        self._waits = waits
        self._time_ns = 0

    @property
    def has_ended(self) -> bool:
        """Whether all sources have."""
        return all(run.has_ended for run in self._runs)

    def next_batch(self, turns: int | None = None) -> PlannedBatch | None:
        """A batch of about so many turns of each source; None if there is nothing for now."""
        turns = turns or TURNS_PER_BATCH
        now_ns = None if self._clock is None else self._clock.now_ns()
        clock_ns = None if now_ns is None else self._look(now_ns)
        self._take_turns(turns, clock_ns)
        while now_ns is None and self._is_waiting:
            self._take_turns(turns, None)
        if now_ns is not None and clock_ns is not None:
            self._time_ns = clock_ns
            has_left = any(run.has_left for run in self._runs)
            if not has_left and not self.has_ended and not is_due(self._clock, now_ns, self._waits):
                return None
        pulse = LAST_PULSE if self.has_ended else PULSE_NUMBER
        rows = tuple(chain.from_iterable(run.take_rows(self._time_ns, pulse) for run in self._runs))
        return PlannedBatch(rows=rows, has_ended=self.has_ended)

    def _look(self, now_ns: int) -> int:
        """How far the clock has come: to the time on the wall, unless a source has times that it waits for."""
        timed = [run for run in self._runs if isinstance(run, TimedColumnRun) and not run.has_ended]
        clock_ns = max(self._time_ns, min([now_ns, *(run.look(now_ns) for run in timed)]))
        for run in timed:
            run.go_to(clock_ns)
        return clock_ns

    @property
    def _is_waiting(self) -> bool:
        """Whether a source waits for something from outside, and there is nothing to process meanwhile."""
        return any(run.is_resting for run in self._runs) and not any(run.has_left for run in self._runs)

    def snapshot(self) -> dict[str, Any]:
        """Where it stands."""
        runs = [run.snapshot() for run in self._runs]
        return {"form": "all", "runs": runs, "time_ns": self._time_ns, "began_ns": began(self._clock)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another stood."""
        check_form(state, "all")
        for run, remembered in zip(self._runs, state["runs"], strict=True):
            run.restore(remembered)
        self._time_ns = state["time_ns"]
        set_began(self._clock, state["began_ns"])

    def _take_turns(self, turns: int, now_ns: int | None) -> None:
        """Let the sources take turns until one has had so many."""
        deadline = None if now_ns is None else Deadline.after(BATCH_SECONDS)
        for run in self._runs:
            run.is_resting = False
            if now_ns is not None:
                run.catch_up(self._time_ns)
        left = turns
        while left > 0 and (due := self._due(now_ns)):
            self._time_ns = max(self._time_ns, due[0].time_ns)
            left -= self._round(due, left, deadline)
            if deadline is not None and deadline.has_passed():
                break

    def _due(self, now_ns: int | None) -> list[SourceRun | ColumnRun]:
        """The sources whose next turn is the earliest."""
        ready = [run for run in self._runs if not run.has_ended and not run.is_resting]
        earliest = min((run.time_ns for run in ready), default=None)
        if earliest is None or (now_ns is not None and earliest > now_ns):
            return []
        return [run for run in ready if run.time_ns == earliest]

    def _round(self, due: Sequence[SourceRun | ColumnRun], turns: int, deadline: Deadline | None) -> int:
        """Let sources of one time take equally many turns; returns how many."""
        is_alone = len(self._runs) == 1
        most = turns if is_alone or deadline is None else min(turns, ROUND_TURNS)
        first = min(run.turn for run in due)
        for run in due:
            run.advance_to(first + most, deadline if is_alone else None)
        # Time may have passed for all of them, so that their turns are counted from zero again.
        return max(1, max(run.turn - first for run in due))
