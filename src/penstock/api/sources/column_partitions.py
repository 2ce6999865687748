"""Partitioned sources by columns: an extent is a stretch of one partition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from penstock.api.rows import conformer
from penstock.expr.values import batch_from_rows
from penstock.ir.types import Schema
from penstock.toolkit.core.column_source import Chunk, Extent, Planned, Position

if TYPE_CHECKING:
    from penstock.api.sources.partitioned import PartitionedSource

CHUNK_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionColumns:
    """A partitioned source.

    Attributes:
        source: The user's.
        schema: Of its tuples.
        is_live: Whether to go on with what comes later.
    """

    source: PartitionedSource
    schema: Schema
    is_live: bool = False
    delay_ns: int = 0
    is_timed: bool = False
    ends_with_marker: bool = False

    @property
    def tasks(self) -> int:
        """A task for each partition."""
        return max(1, len(self.source.partitions()))

    def start(self) -> Position:
        """The beginning of every partition."""
        return {"read": {}, "ends": None, "number": 0}

    def plan(self, position: Position, rows: int, until_ns: int | None = None) -> Planned:
        """A stretch of equal length of every partition that has so much."""
        ends = position["ends"]
        if ends is None or self.is_live:
            ends = {name: self.source.latest_offset(name) for name in self.source.partitions()}
        read = {name: position["read"].get(name, 0) for name in ends}
        going = [name for name in ends if read[name] < ends[name]]
        length = max(1, rows // max(1, len(going)))
        number, step = position["number"], len(ends)
        extents = tuple(
            {
                "partition": n,
                "start": read[n],
                "end": min(read[n] + length, ends[n]),
                "number": number + i,
                "step": step,
            }
            for i, n in enumerate(ends)
            if n in going
        )
        read |= {e["partition"]: e["end"] for e in extents}
        here = {"read": read, "ends": ends, "number": number + length * step}
        has_ended = not self.is_live and all(read[name] >= ends[name] for name in ends)
        return Planned(extents=extents, position=here, has_ended=has_ended, number=here["number"], time_ns=0)

    def read(self, extent: Extent) -> Iterator[Chunk]:
        """The tuples of a stretch."""
        from penstock.api.sources.partitioned import stretch

        conform = conformer(self.schema)
        items = map(conform, stretch(self.source, extent["partition"], extent["start"], extent["end"]))
        number = extent["number"]
        while found := list(islice(items, CHUNK_ROWS)):
            yield Chunk(batch=batch_from_rows(found, self.schema), number=number, step=extent["step"])
            number += len(found) * extent["step"]
