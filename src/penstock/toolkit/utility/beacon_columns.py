"""A Beacon by columns: what each tuple is depends on its number alone, so any part of it can be made anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.toolkit.core.column_output import Columns
from penstock.toolkit.core.column_source import Chunk, Extent, Planned, Position

CHUNK_ROWS = 20_000
"""Of one record batch; its columns fit into the caches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeaconColumns:
    """Generated tuples.

    Attributes:
        iterations: How many; None for no end.
        delay_ns: The time before the first.
        period_ns: The time from one to the next.
        output: Makes tuples of their numbers.

    Example:
        >>> beacon = BeaconColumns(iterations=3, delay_ns=0, period_ns=5, output=pa.record_batch)
        >>> beacon.plan(beacon.start(), 10, until_ns=7).extents
        ({'start': 0, 'end': 2, 'number': 0},)
    """

    iterations: int | None
    delay_ns: int
    period_ns: int
    output: Callable[[Columns], pa.RecordBatch]
    is_live: bool = False
    tasks: int = 1
    ends_with_marker: bool = True

    @property
    def is_timed(self) -> bool:
        """Whether there is a period."""
        return self.period_ns > 0

    def start(self) -> Position:
        """Before the first tuple."""
        return {"made": 0}

    def plan(self, position: Position, rows: int, until_ns: int | None = None) -> Planned:
        """The next tuples, up to a time."""
        made = position["made"]
        due = 2**62 if self.iterations is None else max(0, self.iterations)
        if until_ns is not None:
            due = min(due, self._made_by(until_ns))
        end = max(made, min(made + rows, due))
        extents = ({"start": made, "end": end, "number": made},) if end > made else ()
        return Planned(
            extents=extents,
            position={"made": end},
            has_ended=self.iterations is not None and end >= self.iterations,
            number=end,
            time_ns=self.delay_ns + max(0, end - 1) * self.period_ns,
            is_full=end < due,
        )

    def read(self, extent: Extent) -> Iterator[Chunk]:
        """Make the tuples."""
        for start in range(extent["start"], extent["end"], CHUNK_ROWS):
            numbers = np.arange(start, min(start + CHUNK_ROWS, extent["end"]), dtype=np.uint64)
            batch = self.output({"IterationCount()": pa.array(numbers)})
            time_ns = self.delay_ns + start * self.period_ns
            yield Chunk(batch=batch, number=start, time_ns=time_ns, period_ns=self.period_ns)

    def _made_by(self, until_ns: int) -> int:
        since = until_ns - self.delay_ns
        if since < 0:
            return 0
        return since // self.period_ns + 1 if self.period_ns else 2**62
