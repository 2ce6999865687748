"""The lines of one file that a batch may take: how far they go, block by block, and where to cut them at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from penstock.api.timed_line import Line, ReadsLines, read_line
from penstock.toolkit import file_blocks
from penstock.toolkit.column_source import Extent
from penstock.toolkit.file_blocks import Stamp, check_stamp, cut, opened, read_range, stamp_of

LINES_OF_A_FILE = 1 << 40
"""More than any file has: what tells the numbers of the lines of one file from those of the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one stands in a file.

    Attributes:
        byte: The beginning of the next line.
        line: How many lines there are before it.
        time_ns: The last time before it.
        stamp: What the file was when it was last looked at.
    """

    byte: int = 0
    line: int = 0
    time_ns: int = 0
    stamp: Stamp | None = None

    def plain(self) -> dict[str, Any]:
        """The place as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedFile:
    """A file of lines.

    Attributes:
        source: Says what lines mean.
        path: Of the file.
        rank: Its place among the files: of lines of one time, those of a lower rank come first.
        is_live: Whether lines that are appended later are read too.
    """

    source: ReadsLines
    path: Path
    rank: int
    is_live: bool

    def stretch(self, start: Place, lines: int, most_bytes: int) -> Stretch:
        """About so many lines from a place on, in blocks."""
        places = [start]
        with opened(self.path) as file:
            stamp = stamp_of(file)
            check_stamp(self.path.name, start.stamp, stamp, may_grow=self.is_live, end=start.byte)
            here, size = replace(start, stamp=stamp), stamp[1]
            length = file_blocks.BLOCK_BYTES
            while lines > 0 and here.byte < min(size, start.byte + most_bytes):
                data = read_range(file, here.byte, here.byte + length)
                is_last = here.byte + len(data) >= size
                end, count = cut(data, lines, is_last and not self.is_live)
                if end:
                    here = self._behind(here, data[:end], count)
                    places.append(here)
                    lines, length = lines - count, file_blocks.BLOCK_BYTES
                elif is_last:
                    # A line has begun and goes on with what is appended later.
                    return Stretch(file=self, places=(*places[:-1], here), has_more=False)
                else:
                    length *= 2
        return Stretch(file=self, places=(*places[:-1], here), has_more=here.byte < size)

    def before(self, start: Place, end: Place, is_before: Callable[[int], bool]) -> Place:
        """The place in a block behind its last line of a time that is asked for; found by bisection."""
        with opened(self.path) as file:
            block = read_range(file, start.byte, end.byte)
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
        if not block.endswith(b"\n"):
            ends = np.append(ends, len(block))
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high) // 2
            if is_before(self._last_time(block[: ends[middle]], start.time_ns)):
                low = middle + 1
            else:
                high = middle
        return self._behind(replace(start, stamp=end.stamp), block[: ends[low - 1]], low) if low else start

    def _behind(self, start: Place, block: bytes, lines: int) -> Place:
        return Place(
            byte=start.byte + len(block),
            line=start.line + lines,
            time_ns=self._last_time(block, start.time_ns),
            stamp=start.stamp,
        )

    def _last_time(self, block: bytes, before_ns: int) -> int:
        """The time of the last line of a block that has one."""
        end = len(block)
        while end > 0:
            start = block.rfind(b"\n", 0, end - 1) + 1
            found = read_line(self.source, block[start:end], self.path)
            if isinstance(found, Line):
                return found.time_ns
            end = start
        return before_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Lines of a file.

    Attributes:
        file: Where they stand.
        places: Where each block begins, and where the last one ends.
        has_more: Whether lines follow them.
    """

    file: TimedFile
    places: tuple[Place, ...]
    has_more: bool

    @property
    def end(self) -> Place:
        """Behind the last line."""
        return self.places[-1]

    def up_to(self, time_ns: int, rank: int) -> Stretch:
        """The lines that stand before the end of the lines of a file at a time; malformed ones go with the one before.

        Args:
            time_ns: The time.
            rank: Of the file whose lines of that time are the last.
        """
        if self.file.rank == rank:
            return self

        def is_before(found_ns: int) -> bool:
            return found_ns < time_ns or (found_ns == time_ns and self.file.rank < rank)

        kept = 1
        while kept < len(self.places) and is_before(self.places[kept].time_ns):
            kept += 1
        places = self.places[:kept]
        if kept < len(self.places):
            further = self.file.before(places[-1], self.places[kept], is_before)
            places = (*places, further) if further.byte > places[-1].byte else places
        return replace(self, places=places, has_more=self.has_more or places[-1].byte < self.end.byte)

    def extents(self, floor_ns: int) -> Iterator[Extent]:
        """What tasks read; no tuple stands before a time."""
        for start, end in pairwise(self.places):
            yield {
                "file": str(self.file.path),
                "start": start.byte,
                "end": end.byte,
                "number": self.file.rank * LINES_OF_A_FILE + start.line,
                "before_ns": start.time_ns,
                "floor_ns": floor_ns,
                "stamp": end.stamp,
            }
