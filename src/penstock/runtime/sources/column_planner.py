"""Plans the batches of a source that is alone in its program and read by columns: which extents tasks read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.runtime.sources.batch import PlannedBatch, check_form
from penstock.runtime.sources.by_columns import ColumnPE
from penstock.runtime.sources.wall_clock import WallClock, began, is_due, set_began
from penstock.toolkit.core.column_source import Extent

TUPLES_PER_BATCH = 400_000
"""Of sources that are read by columns: many, because a batch costs some tenths of a second whatever it holds."""


class ColumnPlanner:
    """Finds the extents of a source that is alone and read by columns."""

    def __init__(self, pe: ColumnPE, clock: WallClock | None, waits: bool, partitions: int) -> None:
        self._pe = pe
        self._clock = clock
        self._waits = waits
        self._partitions = partitions
        self._position = pe.source.start()
        self.has_ended = False

    def next_batch(self, turns: int | None = None) -> PlannedBatch | None:
        """A batch of about so many tuples; None if there is nothing for now."""
        turns = turns or TUPLES_PER_BATCH
        source, start_ns = self._pe.source, self._pe.start_ns
        now_ns = None if self._clock is None else self._clock.now_ns()
        if now_ns is not None and now_ns - start_ns < source.delay_ns:
            return self._pulse(now_ns, now_ns)
        clock_ns = now_ns
        if now_ns is not None:
            self._position, clock_ns = self._pe.look(self._position, now_ns)
        planned = self._pe.plan(self._position, turns, None if clock_ns is None else clock_ns - start_ns)
        self._position, self.has_ended = planned.position, planned.has_ended
        if now_ns is not None and clock_ns is not None and not planned.extents and not planned.has_ended:
            return self._pulse(now_ns, clock_ns)
        base_ns = start_ns
        if now_ns is not None and not source.is_timed:
            base_ns = now_ns - source.delay_ns
        last_ns = base_ns + planned.time_ns
        end = (last_ns, planned.number) if planned.has_ended else None
        pulse_ns = last_ns if clock_ns is None or (source.is_timed and planned.is_full) else clock_ns
        return self._batch(planned.extents, base_ns, end, pulse_ns)

    def snapshot(self) -> dict[str, Any]:
        """Where it stands."""
        began_ns = began(self._clock)
        return {"form": "columns", "position": self._position, "has_ended": self.has_ended, "began_ns": began_ns}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another stood."""
        check_form(state, "columns")
        self._position, self.has_ended = state["position"], state["has_ended"]
        set_began(self._clock, state["began_ns"])

    def _pulse(self, now_ns: int, clock_ns: int) -> PlannedBatch | None:
        return self._batch((), clock_ns, None, clock_ns) if is_due(self._clock, now_ns, self._waits) else None

    def _batch(
        self, extents: Sequence[Extent], base_ns: int, end: tuple[int, int] | None, pulse_ns: int
    ) -> PlannedBatch:
        groups = list(_dealt(extents, self._partitions)) or [[]]
        parts: list[dict[str, Any]] = [{"extents": g, "time_ns": base_ns, "end": None, "pulse": None} for g in groups]
        parts[-1] |= {"end": end, "pulse": pulse_ns}
        return PlannedBatch(parts=tuple(parts), has_ended=self.has_ended)


def _dealt(extents: Sequence[Extent], groups: int) -> Iterator[list[Extent]]:
    """The extents in groups of neighbours."""
    size = -(-len(extents) // groups)
    for start in range(0, len(extents), max(1, size)):
        yield list(extents[start : start + size])
