"""Sources that are read by columns: planning finds how far to read, reading makes record batches.

A runtime whose source can be read so has a method `columns` that gives a `ColumnSource`, or None where its parameters
ask for something that only the reference way of `produce` can do. What it reads, in the order of its numbers, are the
tuples that `produce` yields.

`plan` is cheap and runs in one place; `read` does the work and may run in another process, for several extents at once.
Positions and extents are plain JSON values, because they are stored: an extent that is read again gives the same
tuples, or an error that says what has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from penstock.toolkit.formats import Malformed

Array = Any
"""A numpy array."""

Position = dict[str, Any]
"""Where to go on."""

Extent = dict[str, Any]
"""A part of a source; `number` is a lower bound of the numbers of its tuples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """How far to read.

    Attributes:
        extents: What to read, in order.
        position: Behind it.
        has_ended: Whether nothing follows.
        number: Greater than that of any tuple so far.
        time_ns: Of the last tuple so far, from the start of the source.
        is_full: Whether tuples of times that have come are left for the next batch.
    """

    extents: tuple[Extent, ...]
    position: Position
    has_ended: bool
    number: int
    time_ns: int
    is_full: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chunk:
    """Some tuples of a source.

    Attributes:
        batch: The tuples, in order.
        number: Of the first tuple. Those of all chunks of an extent, in order, grow.
        step: From the number of one tuple to that of the next.
        time_ns: Of the first tuple, from the start of the source.
        period_ns: The time from one tuple to the next.
        times_ns: Of each tuple, from the start of the source, where they are not equally far apart.
        malformed: Records that stand between the tuples and do not fit the schema.
        late: How many of the tuples came behind the clock; their times are those that the clock had come to.
    """

    batch: pa.RecordBatch
    number: int
    step: int = 1
    time_ns: int = 0
    period_ns: int = 0
    times_ns: Array | None = None
    malformed: tuple[Malformed, ...] = ()
    late: int = 0


class ColumnSource(Protocol):
    """Reads a source by columns."""

    @property
    def is_timed(self) -> bool:
        """Whether time passes between its tuples."""

    @property
    def delay_ns(self) -> int:
        """The time before the first."""

    @property
    def is_live(self) -> bool:
        """Whether it may have more later although it has nothing now."""

    @property
    def tasks(self) -> int:
        """How many tasks should read a batch."""

    @property
    def ends_with_marker(self) -> bool:
        """Whether a window marker follows the last tuple."""

    def start(self) -> Position:
        """The position before the first tuple."""

    def plan(self, position: Position, rows: int, until_ns: int | None = None) -> Planned:
        """Find what comes next.

        Args:
            position: Where to begin.
            rows: About how many tuples are wanted: more only where a record cannot be cut.
            until_ns: The last time, from the start of the source, at which a tuple may stand.
        """

    def read(self, extent: Extent) -> Iterator[Chunk]:
        """The tuples of an extent.

        Raises:
            UserError: They are not there any more.
        """


@runtime_checkable
class SetsClock(Protocol):
    """A source with times of its own that, in a run that goes on for ever, the clock waits for."""

    def look(self, position: Position, now_ns: int) -> tuple[Position, int]:
        """How far the clock may go, and the position with what was seen for that.

        Args:
            position: Where the source stands.
            now_ns: The time on the wall, from the start of the source.
        """


@runtime_checkable
class ReadByColumns(Protocol):
    """A runtime that may be read by columns."""

    def columns(self, *, follows: bool = False) -> ColumnSource | None:
        """The source, or None if only `produce` can read it.

        Args:
            follows: Whether the run goes on for ever, so that what comes later is to be read too.
        """
