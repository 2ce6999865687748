"""Sources that are read by columns beside other sources, where batches are planned.

The numbers of their tuples depend on how many came before, malformed ones left out, so they are read where batches are
planned, many tuples at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.base.deadline import Deadline
from penstock.codegen.transport.batches import FINAL, PULSE, PULSE_NUMBER, WINDOW
from penstock.runtime.sources.batch import check_form
from penstock.runtime.sources.by_columns import ColumnPE, numbers_of, times_of
from penstock.toolkit.core.column_source import Chunk, Extent


class ColumnRun:
    """A source that is read by columns beside others, in turns as the others.

    Attributes:
        time_ns: When its tuples stand.
        turn: How many turns it has had at that time.
        has_ended: Whether it has no more tuples.
        is_resting: Whether there is nothing for now.
    """

    def __init__(self, pe: ColumnPE, order: int, sources: int) -> None:
        self._pe = pe
        self._order, self._sources = order, sources
        self._position = pe.source.start()
        self._is_at_end = False
        self._has_marked = not pe.source.ends_with_marker
        self._pending: list[tuple[list[Extent], int]] = []
        self._left: list[pa.RecordBatch] = []
        self._submitted = 0
        self.time_ns = pe.start_ns + pe.source.delay_ns
        self.turn = 0
        self.has_ended = False
        self.is_resting = False

    @property
    def has_left(self) -> bool:
        """Whether anything has left, or was set aside, that has not been taken."""
        return bool(self._submitted or self._left) or self._pe.has_letters

    def advance_to(self, turn: int, deadline: Deadline | None = None) -> None:
        """Take turns until it has had so many, or there is nothing for now."""
        self.is_resting = False
        while self.turn < turn and not self.has_ended and not self.is_resting:
            if self._pending:
                self._take_pending(turn)
            elif self._is_at_end:
                self._take_end()
            else:
                self._plan(turn - self.turn)

    def catch_up(self, time_ns: int) -> None:
        """Let the next turn be at a time, if it would be earlier."""
        if self.time_ns < time_ns:
            self.time_ns, self.turn = time_ns, 0

    def take_rows(self, time_ns: int, pulse: int = PULSE_NUMBER) -> Iterator[pa.RecordBatch]:
        """The output since the last call, as rows of the transport: a report, the items, and a pulse of that number."""
        yield self._pe.report(self._submitted)
        yield from self._left
        yield from self._pe.marks(PULSE, time_ns, pulse)
        self._left, self._submitted = [], 0

    def snapshot(self) -> dict[str, Any]:
        """Where it stands, as plain data."""
        names = ("_position", "_is_at_end", "_has_marked", "_pending", "time_ns", "turn", "has_ended")
        return {"form": "columns", **{name: getattr(self, name) for name in names}}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another stood."""
        check_form(state, "columns")
        for name, value in state.items():
            if name != "form":
                setattr(self, name, value)

    def _plan(self, rows: int) -> None:
        planned = self._pe.plan(self._position, rows)
        self._position, self._is_at_end = planned.position, planned.has_ended
        is_sequential = self._pe.source.tasks == 1
        self._pending = [([e], 0) for e in planned.extents] if is_sequential else [(list(planned.extents), 0)]
        self.is_resting = not planned.extents and not planned.has_ended

    def _take_pending(self, turn: int) -> None:
        extents, skipped = self._pending.pop(0)
        wanted = turn - self.turn
        batch = _in_order([c for c in self._pe.read(extents, again=skipped > 0) if c.batch.num_rows])
        if batch is None:
            return
        if skipped or batch.num_rows > wanted:
            # More than was asked for, which is rare: the rest is read again when its turn comes.
            rest = batch.slice(skipped)
            batch = rest.slice(0, wanted)
            if rest.num_rows > wanted:
                self._pending.insert(0, (extents, skipped + wanted))
        self._send(batch)

    def _send(self, batch: pa.RecordBatch) -> None:
        count = batch.num_rows
        number = np.arange(self.turn, self.turn + count, dtype=np.int64) * self._sources + self._order
        self._left += self._pe.tuples(batch, np.full(count, self.time_ns, np.int64), number)
        self._submitted += count
        self.turn += count

    def _take_end(self) -> None:
        kind = FINAL if self._has_marked else WINDOW
        self._left += self._pe.marks(kind, self.time_ns, self.turn * self._sources + self._order)
        self.turn += 1
        self.has_ended, self._has_marked = self._has_marked, True


class TimedColumnRun(ColumnRun):
    """A source with times of its own beside others, in a run that goes on for ever."""

    def __init__(self, pe: ColumnPE, order: int, sources: int) -> None:
        super().__init__(pe, order, sources)
        self._until_ns = 0

    def look(self, now_ns: int) -> int:
        """How far the clock may go, as far as this source is concerned."""
        self._position, clock_ns = self._pe.look(self._position, now_ns)
        return clock_ns

    def go_to(self, clock_ns: int) -> None:
        """Let the lines leave whose times have come."""
        self._until_ns = clock_ns - self._pe.start_ns

    def advance_to(self, turn: int, deadline: Deadline | None = None) -> None:
        """Give what has come up to the clock, about as many tuples as there are turns left."""
        planned = self._pe.plan(self._position, max(1, turn - self.turn), self._until_ns)
        self._position, self._is_at_end = planned.position, planned.has_ended
        for chunk in self._pe.read(planned.extents):
            count = chunk.batch.num_rows
            number = numbers_of(chunk) * self._sources + self._order
            self._left += self._pe.tuples(chunk.batch, times_of(chunk) + self._pe.start_ns, number)
            self._submitted += count
            self.turn += count
        self.is_resting = not planned.is_full
        if self._is_at_end:
            self._take_end()


def _in_order(chunks: list[Chunk]) -> pa.RecordBatch | None:
    """The tuples of chunks as one, in the order of their numbers."""
    if not chunks:
        return None
    batch = pa.concat_batches([chunk.batch for chunk in chunks])
    numbers = np.concatenate([numbers_of(chunk) for chunk in chunks])
    return batch if (np.diff(numbers) > 0).all() else batch.take(pa.array(np.argsort(numbers, kind="stable")))
