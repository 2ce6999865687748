"""Files that are read in blocks: what a file was when it was looked at, and where its lines end.

Planning takes down what a file is (inode, size, time of change). A block of a file that has changed since is refused; a
file that other programs append to may grow.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import numpy as np

from penstock.base.diagnostics import UserError

BATCH_BYTES = 64 << 20
"""The approximate limit of the bytes that one call of `plan` takes, however long the lines are."""

BLOCK_BYTES = 1 << 20
"""Of one block, about: large enough for Arrow, small enough for the caches."""

Stamp = list[int]
"""The stamp of a file: its inode, its size and when it was last written."""


def opened(path: Path) -> BinaryIO:
    """A file that was there before.

    Raises:
        UserError: It cannot be read any more.
    """
    try:
        return path.open("rb")
    except OSError as error:
        raise UserError(
            f"cannot read `{path}` any more: {error.strerror or error}",
            hint="put the file back, or start with a new checkpoint folder",
        ) from error


def stamp_of(file: BinaryIO) -> Stamp:
    """The stamp of an open file as it is now."""
    found = os.fstat(file.fileno())
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def check_stamp(name: str, then: Stamp | None, now: Stamp, *, may_grow: bool = False, end: int = 0) -> None:
    """See that a file is still what it was.

    Args:
        name: Of the file, as the program says it.
        then: What it was when it was first looked at.
        now: What it is.
        may_grow: Whether other programs append to it.
        end: How many bytes of it must be there.

    Raises:
        UserError: It is another.
    """
    if then is None or then == now:
        return
    if may_grow and then[0] == now[0] and now[1] >= end:
        return
    raise UserError(
        f"`{name}` has changed since the job began to read it",
        hint="put the old file back, or start with a new checkpoint folder",
    )


def read_range(file: BinaryIO, start: int, end: int) -> bytes:
    """The bytes of a file between two positions."""
    file.seek(start)
    return file.read(end - start)


def cut(data: bytes, lines: int, to_the_end: bool) -> tuple[int, int]:
    """Where to cut behind so many lines, or behind the last whole one; and how many there are before the cut.

    Args:
        data: Some bytes of a file.
        lines: How many lines are wanted.
        to_the_end: Whether what follows the last line end is a line as well.

    Example:
        >>> cut(b"a\\nb\\nc", 1, True), cut(b"a\\nb\\nc", 9, True), cut(b"a\\nb\\nc", 9, False)
        ((2, 1), (5, 3), (4, 2))
    """
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    if len(ends) >= lines:
        return int(ends[lines - 1]) + 1, lines
    if to_the_end:
        return len(data), len(ends) + (data[-1:] != b"\n")
    return (int(ends[-1]) + 1 if len(ends) else 0), len(ends)
