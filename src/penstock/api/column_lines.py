"""Files of lines by columns, merged by time: planning finds where to cut the files, reading parses blocks of lines.

Formulation:
    The place of a line is (time, rank of its file, line). A batch is all lines of all files between two places, so it
    may be read in any order, by any number of tasks: sorted by place, its tuples stand as in the sequential program.

Algorithm:
    Planning takes equally many lines of each file and reads no more of them than the last time of each block. The
    earliest end of these stretches is where the batch is cut; in the other files that place is found by bisection, as
    times ascend. That they do is seen when a block is read: within it, and against the last time of the block before.
    O(blocks + files log lines) calls of `line`.

    In a continuous run a batch goes up to the present time. What comes too late for that stands where the batch before
    has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from penstock.api.line_blocks import read_block
from penstock.api.line_stretch import LINES_OF_A_FILE, Place, Stretch, TimedFile
from penstock.ir.types import Schema
from penstock.toolkit import file_blocks
from penstock.toolkit.column_source import Chunk, Extent, Planned, Position
from penstock.toolkit.file_blocks import check_stamp, opened, read_range, stamp_of

if TYPE_CHECKING:
    from penstock.api.timed_lines import TimedLines


@dataclass(frozen=True, slots=True, kw_only=True)
class LineColumns:
    """Files of lines.

    Attributes:
        source: The user's.
        schema: Of its tuples.
        is_live: Whether to go on with what comes later.
    """

    source: TimedLines
    schema: Schema
    is_live: bool = False
    is_timed: bool = True
    delay_ns: int = 0
    ends_with_marker: bool = False

    @property
    def tasks(self) -> int:
        """A task for each file."""
        return max(1, len(list(self.source.files())))

    def start(self) -> Position:
        """The beginning of every file."""
        return {"files": {}, "is_new": True, "time_ns": 0, "floor_ns": 0}

    def plan(self, position: Position, rows: int, until_ns: int | None = None) -> Planned:
        """Lines of every file up to one place."""
        files = self._files(position)
        stretches = list(_stretches(files, position, rows))
        ends = [(s.end.time_ns, s.file.rank) for s in stretches if s.has_more]
        if until_ns is not None:
            ends.append((until_ns, len(files)))
        last = min(ends, default=None)
        if last is not None:
            stretches = [s.up_to(*last) for s in stretches]
        is_full = last is not None and last[1] < len(files)
        time_ns = max(position["time_ns"], *(s.end.time_ns for s in stretches)) if stretches else position["time_ns"]
        floor_ns = position["floor_ns"]
        has_more = any(s.has_more for s in stretches)
        here = {
            "files": {str(s.file.path): s.end.plain() for s in stretches},
            "is_new": False,
            "time_ns": time_ns,
            "floor_ns": floor_ns if until_ns is None else max(floor_ns, time_ns if is_full else until_ns),
        }
        return Planned(
            extents=tuple(e for s in stretches for e in s.extents(floor_ns)),
            position=here,
            has_ended=not self.is_live and not has_more,
            number=len(files) * LINES_OF_A_FILE,
            time_ns=max(time_ns, floor_ns),
            is_full=is_full,
        )

    def read(self, extent: Extent) -> Iterator[Chunk]:
        """The tuples of a block."""
        path = Path(extent["file"])
        with opened(path) as file:
            check_stamp(path.name, extent["stamp"], stamp_of(file), may_grow=self.is_live, end=extent["end"])
            block = read_range(file, extent["start"], extent["end"])
        found = read_block(self.source, block, path, self.schema, extent["before_ns"])
        yield Chunk(
            batch=found.batch,
            number=extent["number"],
            times_ns=np.maximum(found.times_ns, extent["floor_ns"]),
            malformed=found.malformed,
        )

    def _files(self, position: Position) -> list[TimedFile]:
        """The files in the order of their ranks: those that were there before come first."""
        names = list(position["files"])
        if position["is_new"] or self.is_live:
            names += [name for name in map(str, self.source.files()) if name not in position["files"]]
        return [
            TimedFile(source=self.source, path=Path(name), rank=rank, is_live=self.is_live)
            for rank, name in enumerate(names)
        ]


def _stretches(files: Sequence[TimedFile], position: Position, rows: int) -> Iterator[Stretch]:
    """Equally many lines of each file, about so many together."""
    share = max(1, rows // max(1, len(files)))
    most_bytes = max(1, file_blocks.BATCH_BYTES // max(1, len(files)))
    for file in files:
        yield file.stretch(Place(**position["files"].get(str(file.path), {})), share, most_bytes)
