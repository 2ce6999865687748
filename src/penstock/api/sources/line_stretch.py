"""Some lines of a file: how far they go, and where to cut them at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.api.sources.timed_line import Line, ReadsLines, read_line
from penstock.toolkit.files.file_blocks import Stamp, check_stamp, cut, opened, read_range, stamp_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePosition:
    """A position in a file.

    Attributes:
        byte: The beginning of the next line.
        time_ns: The last time before it.
        stamp: What the file was when it was last looked at.
    """

    byte: int = 0
    time_ns: int = 0
    stamp: Stamp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Lines of a file that follow each other.

    Attributes:
        file: Where they stand.
        block: The lines.
        start: Where they begin.
        end: Where they end.
        lines: How many they are.
        has_more: Whether lines follow them.
    """

    file: TimedFile
    block: bytes
    start: FilePosition
    end: FilePosition
    lines: int
    has_more: bool

    def up_to(self, time_ns: int, rank: int) -> Stretch:
        """The lines that stand before the end of the lines of a file at a time; malformed ones go with the one before.

        Args:
            time_ns: The time.
            rank: Of the file whose lines of that time are the last.
        """

        def is_before(found_ns: int) -> bool:
            return found_ns < time_ns or (found_ns == time_ns and self.file.rank < rank)

        if self.file.rank == rank or is_before(self.end.time_ns):
            return self
        return self.file.cut(self, is_before)

    def piece(self) -> dict[str, Any]:
        """The range of the file that a task reads, as plain data."""
        return {
            "file": str(self.file.path),
            "start": self.start.byte,
            "end": self.end.byte,
            "before_ns": self.start.time_ns,
            "stamp": self.end.stamp,
        }

    def place(self) -> dict[str, Any]:
        """Its end, as plain data."""
        return asdict(self.end)


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

    def stretch(self, start: FilePosition, lines: int, length: int) -> Stretch:
        """So many lines from a place on, or as many as about so many bytes hold."""
        with opened(self.path) as file:
            stamp = stamp_of(file)
            check_stamp(self.path.name, start.stamp, stamp, may_grow=self.is_live, end=start.byte)
            while True:
                data = read_range(file, start.byte, start.byte + length)
                is_last = start.byte + len(data) >= stamp[1]
                end, count = cut(data, lines, is_last and not self.is_live)
                if end or is_last:
                    break
                length *= 2
        # A line of a live file that has begun goes on with what is appended later.
        has_more = bool(end) and start.byte + end < stamp[1]
        block = data[:end]
        return Stretch(
            file=self,
            block=block,
            start=start,
            end=self._behind(replace(start, stamp=stamp), block),
            lines=count,
            has_more=has_more,
        )

    def cut(self, stretch: Stretch, is_before: Callable[[int], bool]) -> Stretch:
        """The lines of a stretch that stand before a time; found by bisection, for times ascend."""
        ends = np.flatnonzero(np.frombuffer(stretch.block, np.uint8) == ord("\n")) + 1
        if not stretch.block.endswith(b"\n"):
            ends = np.append(ends, len(stretch.block))
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high) // 2
            if is_before(self._last_time(stretch.block, int(ends[middle]), stretch.start.time_ns)):
                low = middle + 1
            else:
                high = middle
        block = stretch.block[: ends[low - 1]] if low else b""
        end = self._behind(replace(stretch.start, stamp=stretch.end.stamp), block)
        return replace(stretch, block=block, end=end, lines=low, has_more=True)

    def _behind(self, start: FilePosition, block: bytes) -> FilePosition:
        time_ns = self._last_time(block, len(block), start.time_ns)
        return replace(start, byte=start.byte + len(block), time_ns=time_ns)

    def _last_time(self, block: bytes, end: int, before_ns: int) -> int:
        """The time of the last line before a position of a block that has one."""
        while end > 0:
            start = block.rfind(b"\n", 0, end - 1) + 1
            found = read_line(self.source, block[start:end], self.path)
            if isinstance(found, Line):
                return found.time_ns
            end = start
        return before_ns
