"""Files of lines by columns, merged by time: planning finds where to cut the files, reading parses and merges.

Formulation:
    The place of a line is (time, rank of its file, line). An extent is all lines of all files between two places, so
    extents follow each other as their tuples do in the sequential program, and any task may read any of them.

Algorithm:
    Planning takes equally many lines of each file and reads no more of them than the last time. The earliest end of
    these stretches is the end of the extent; in the other files that place is found by bisection, as times ascend.
    That they do is seen when the lines are read: among themselves, and against the last time before them. A call of
    `line` for each extent and file, and O(log lines) more where there are several files.

    In a continuous run a line leaves when its time has come on the wall, and the clock waits for files that are behind
    (`look`): it goes no further than the last line of any file that is not idle. A file is idle if it has had no new
    line for `TimedLines.idle_seconds`. If all are, time goes on that many seconds behind the wall. A line that is
    behind the clock when it comes, because its file was idle or is new, stands at the time of the clock and is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.api.sources.line_blocks import LineBlock, read_block
from penstock.api.sources.line_stretch import FilePosition, Stretch, TimedFile
from penstock.ir.types import Schema
from penstock.toolkit.core.column_source import Chunk, Extent, Planned, Position
from penstock.toolkit.files import file_blocks
from penstock.toolkit.files.file_blocks import check_stamp, opened, read_range, stamp_of

if TYPE_CHECKING:
    from penstock.api.sources.timed_lines import TimedLines

_LEAST_BYTES = 1 << 12
"""Of one file in one extent, about, however many files there are."""


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
    tasks: int = 1
    ends_with_marker: bool = False

    def start(self) -> Position:
        """The beginning of every file."""
        return {"files": {}, "is_new": True, "number": 0, "time_ns": 0, "floor_ns": 0, "seen": {}}

    def look(self, position: Position, now_ns: int) -> tuple[Position, int]:
        """The clock: the least of the last times of all files that are not idle, but not ahead of the wall."""
        idle_ns = round(self.source.idle_seconds * 1e9)
        seen, reached = dict(position["seen"]), []
        for file in self._files(position):
            place = FilePosition(**position["files"].get(str(file.path), {}))
            stretch = file.stretch(place, file_blocks.BLOCK_BYTES, file_blocks.BLOCK_BYTES)
            if stretch.lines:
                seen[str(file.path)] = now_ns
            if now_ns - seen.get(str(file.path), -idle_ns) < idle_ns:
                reached.append(stretch.end.time_ns)
        clock_ns = min(now_ns, *reached) if reached else now_ns - idle_ns
        return {**position, "seen": seen}, max(position["floor_ns"], clock_ns)

    def plan(self, position: Position, rows: int, until_ns: int | None = None) -> Planned:
        """Extents with about so many lines."""
        files = self._files(position)
        extents: list[Extent] = []
        here, is_full, size = position, True, 0
        while rows > 0 and is_full and size < file_blocks.BATCH_BYTES:
            taken, is_full = _step(files, here, rows, until_ns)
            here = _behind(taken, here)
            rows -= sum(s.lines for s in taken)
            size += sum(len(s.block) for s in taken)
            pieces = [s.piece() for s in taken if s.lines]
            if pieces:
                extents.append({"pieces": pieces, "number": here["number"], "floor_ns": position["floor_ns"]})
                here = {**here, "number": here["number"] + sum(s.lines for s in taken)}
        if until_ns is not None:
            here = {**here, "floor_ns": max(here["floor_ns"], here["time_ns"] if is_full else until_ns)}
        has_ended = not self.is_live and not is_full
        time_ns = max(here["time_ns"], position["floor_ns"])
        return Planned(
            extents=tuple(extents),
            position=here,
            has_ended=has_ended,
            number=here["number"],
            time_ns=time_ns,
            is_full=is_full,
        )

    def read(self, extent: Extent) -> Iterator[Chunk]:
        """The tuples of an extent."""
        found = _merged([self._read(piece) for piece in extent["pieces"]])
        yield Chunk(
            batch=found.batch,
            number=extent["number"],
            times_ns=np.maximum(found.times_ns, extent["floor_ns"]),
            malformed=found.malformed,
            late=int((found.times_ns < extent["floor_ns"]).sum()),
        )

    def _read(self, piece: dict[str, Any]) -> LineBlock:
        path = Path(piece["file"])
        with opened(path) as file:
            check_stamp(path.name, piece["stamp"], stamp_of(file), may_grow=self.is_live, end=piece["end"])
            block = read_range(file, piece["start"], piece["end"])
        return read_block(self.source, block, path, self.schema, piece["before_ns"])

    def _files(self, position: Position) -> list[TimedFile]:
        """The files in the order of their ranks: those that were there before come first."""
        names = list(position["files"])
        if position["is_new"] or self.is_live:
            names += [name for name in map(str, self.source.files()) if name not in position["files"]]
        return [
            TimedFile(source=self.source, path=Path(name), rank=rank, is_live=self.is_live)
            for rank, name in enumerate(names)
        ]


def _step(
    files: Sequence[TimedFile], position: Position, rows: int, until_ns: int | None
) -> tuple[list[Stretch], bool]:
    """The next lines of every file, up to one place; and whether lines before `until_ns` follow."""
    count = max(1, len(files))
    lines, length = (
        max(1, rows // count),
        max(file_blocks.BLOCK_BYTES // count, min(file_blocks.BLOCK_BYTES, _LEAST_BYTES)),
    )
    places = position["files"]
    stretches = [f.stretch(FilePosition(**places.get(str(f.path), {})), lines, length) for f in files]
    ends = [(s.end.time_ns, s.file.rank) for s in stretches if s.has_more]
    if until_ns is not None:
        ends.append((until_ns, len(files)))
    if not ends:
        return stretches, False
    last = min(ends)
    return [s.up_to(*last) for s in stretches], last[1] < len(files)


def _behind(stretches: Sequence[Stretch], position: Position) -> Position:
    """The position behind stretches of all files."""
    time_ns = max([position["time_ns"], *(s.end.time_ns for s in stretches)])
    return {**position, "files": {str(s.file.path): s.place() for s in stretches}, "is_new": False, "time_ns": time_ns}


def _merged(blocks: Sequence[LineBlock]) -> LineBlock:
    """Blocks of several files as one, in the order of time; at one time, in the order of the files."""
    if len(blocks) == 1:
        return blocks[0]
    times = np.concatenate([block.times_ns for block in blocks])
    order = np.argsort(times, kind="stable")
    return LineBlock(
        batch=pa.concat_batches([block.batch for block in blocks]).take(pa.array(order)),
        times_ns=times[order],
        malformed=tuple(m for block in blocks for m in block.malformed),
    )
