"""The length and checksum of each file that a sink has written, so that a change behind its back is noticed.

The checksum is a CRC-32 that is carried on while the file is written, so it costs in proportion to what is written, and
nothing is read back. A file is checked when a sink goes on with it: on resuming a job, and before a file that was
closed in between is added to.

A file whose length, inode and times are those of the record is taken for unchanged without being read. Any other is
read up to its recorded length. So is a file that was written a moment before its record was made, because the clock of
a file system is too coarse to tell a change that follows at once; but not if it is larger than `READ_ANYWAY_BYTES`.

What a file holds beyond its recorded length is no damage: a crash leaves it, and whoever goes on cuts it off.
"""

from __future__ import annotations

import io
import os
import stat
import time
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from penstock.base.durable_files import sync_file, sync_folder
from penstock.toolkit.core.runtime import FatalUserError

READ_ANYWAY_BYTES = 64 << 20
_COARSE_NS = 50_000_000
_CHUNK = 1 << 20
HINT = "put the file back from a copy, or start anew with another checkpoint and another output folder"


class FileRecord(NamedTuple):
    """The record of a file: its length, its checksum and when it was changed.

    Attributes:
        size: Its length.
        crc: The CRC-32 of its content.
        stamp: Its inode, and when content and inode were changed last.
        is_young: Whether it was written so shortly before that the stamp does not show a change.
    """

    size: int
    crc: int
    stamp: tuple[int, int, int]
    is_young: bool

    @classmethod
    def of(cls, path: Path, size: int, crc: int) -> FileRecord:
        """The record of a file that somebody else has written, who tells its length and its checksum."""
        found = path.stat()
        return cls(size, crc, _stamp(found), _is_young(found))


def opened_descriptor(path: Path) -> int | None:
    """The open file of this process that a path stands for, if it does.

    Example:
        >>> opened_descriptor(Path("/dev/stdout")), opened_descriptor(Path("/dev/fd/7")), opened_descriptor(Path("a"))
        (1, 7, None)
    """
    named = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
    folder, _, name = str(path).rpartition("/")
    if folder in ("/dev/fd", "/proc/self/fd") and name.isdecimal():
        return int(name)
    return named.get(str(path))


class ChecksummedFile(io.FileIO):
    """A file that is only added to, with the length and the checksum of all it holds.

    Attributes:
        size: How many bytes it holds.
        crc: Their CRC-32; None where the file held something before that nobody has read.
    """

    def __init__(self, path: Path, known: FileRecord | None = None) -> None:
        # A file that somebody has opened for us is written where they stand in it, as `/dev/stdout` is by a shell.
        opened = opened_descriptor(path)
        super().__init__(path if opened is None else os.dup(opened), "ab" if opened is None else "wb")
        self.size = os.fstat(self.fileno()).st_size
        self.crc = known.crc if known is not None else None if self.size else 0

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override]  # any buffer
        """Add bytes."""
        written = super().write(data)
        self.size += written
        if self.crc is not None:
            self.crc = zlib.crc32(memoryview(data)[:written], self.crc)
        return written

    def write_all(self, data: bytes) -> None:
        """Add all of some bytes; a single write may take only a part of them."""
        left = memoryview(data)
        while len(left):
            left = left[self.write(left) :]

    def cut(self, size: int, crc: int | None) -> None:
        """Cut the file to a length at which its checksum was known."""
        self.truncate(size)
        self.seek(0, os.SEEK_END)
        self.size, self.crc = size, crc

    def record(self) -> FileRecord:
        """The record of the file as it is now."""
        found = os.fstat(self.fileno())
        if self.crc is None:
            self.crc = checksum(Path(os.fsdecode(self.name)), self.size)
        return FileRecord(self.size, self.crc, _stamp(found), _is_young(found))


class FileRecords:
    """The records of the files of one writer, by name.

    Args:
        owner: For messages: "FileSink `Out`".
        folder: Where the names begin.
    """

    def __init__(self, owner: str, folder: Path) -> None:
        self._owner, self._folder = owner, folder
        self.known: dict[str, FileRecord] = {}
        self._unsynced: set[Path] = set()

    def sync(self) -> None:
        """Let what was written since the last time survive a power loss, before anybody is told what it is."""
        for path in self._unsynced:
            # Who was handed the file may have taken it away.
            if path.is_file():
                sync_file(path)
        for folder in sorted(set().union(*map(self._folders_of, self._unsynced))):
            if folder.is_dir():
                sync_folder(folder)
        self._unsynced = set()

    def _folders_of(self, path: Path) -> set[Path]:
        """The folders whose names lead to a file, as far as they may be new."""
        inside = {folder for folder in path.parents if folder.is_relative_to(self._folder)}
        return {path.parent, self._folder.parent} | inside

    def hand_over(self, path: Path) -> None:
        """A file lies elsewhere now, where others may do with it what they like; it is still to be synced."""
        self._unsynced.add(path)

    def take_over(self, known: Mapping[str, tuple[Any, ...]]) -> None:
        """Know what another writer knew."""
        self.known = {name: FileRecord(*record) for name, record in known.items()}

    def as_data(self) -> dict[str, tuple[Any, ...]]:
        """The records as plain data, by name."""
        return {name: tuple(record) for name, record in self.known.items()}

    def note(self, name: str, record: FileRecord) -> None:
        """Know what a file holds that was just written.

        Raises:
            FatalUserError: The file is not there, or not as it was written.
        """
        self.known[name] = record
        self._unsynced.add(self._folder / name)
        try:
            found = (self._folder / name).stat()
        except FileNotFoundError:
            raise self.error(name, "it is gone") from None
        if found.st_ino != record.stamp[0]:
            raise self.error(name, "another file has taken its place")
        if found.st_size != record.size:
            raise self.error(name, f"it had {record.size} bytes, and has {found.st_size}")

    def problem(self, name: str, *, trusts_stamp: bool = False) -> str | None:
        """The damage to a file since it was recorded; None if it still holds at least its recorded content.

        Args:
            name: Of the file.
            trusts_stamp: Whether a file is believed to be unchanged that was recorded just after it was written.
        """
        record, path = self.known[name], self._folder / name
        try:
            found = path.stat()
        except OSError as error:
            return "it is gone" if isinstance(error, FileNotFoundError) else str(error.strerror)
        if not stat.S_ISREG(found.st_mode):
            return "it is no plain file any more"
        if found.st_size < record.size:
            return f"it had {record.size} bytes, and has {found.st_size}"
        is_same = found.st_size == record.size and _stamp(found) == record.stamp
        if is_same and (trusts_stamp or not record.is_young or record.size > READ_ANYWAY_BYTES):
            return None
        return None if checksum(path, record.size) == record.crc else "its content was changed"

    def check(self, names: Iterable[str]) -> None:
        """Make sure that files hold what they held.

        Raises:
            FatalUserError: One does not.
        """
        damaged = [(name, problem) for name in names if (problem := self.problem(name)) is not None]
        if damaged:
            raise self.error(*damaged[0], others=len(damaged) - 1)

    def cut_back(self, names: Iterable[str]) -> None:
        """Make files what they were, which they are but for what was added to them.

        Raises:
            FatalUserError: One of them does not hold any more what it held; nothing is changed then.
        """
        chosen = list(names)
        self.check(chosen)
        for name in chosen:
            self.cut_off(name)

    def cut_off(self, name: str) -> None:
        """Cut off what was added to a file."""
        path, size = self._folder / name, self.known[name].size
        if path.stat().st_size > size:
            os.truncate(path, size)

    def check_whole(self, name: str) -> None:
        """Make sure that a file of this process holds what it held and nothing more, before it is added to.

        Raises:
            FatalUserError: It does not.
        """
        path = self._folder / name
        if name not in self.known:
            if path.exists() and path.stat().st_size:
                raise self.error(name, "another process has written to it")
            return
        problem = self.problem(name, trusts_stamp=True)
        size, held = self.known[name].size, path.stat().st_size if problem is None else 0
        if problem is None and held != size:
            problem = f"it had {size} bytes, and has {held}"
        if problem is not None:
            raise self.error(name, problem)

    def error(self, name: str, problem: str, others: int = 0) -> FatalUserError:
        """The error to raise about a damaged file."""
        more = f", and {others} other files have changed, too" if others else ""
        return FatalUserError(f"{self._owner} cannot go on in `{name}`: {problem}{more}", hint=HINT)


def checksum(path: Path, size: int) -> int:
    """The CRC-32 of the first bytes of a file."""
    crc, left = 0, size
    with path.open("rb", buffering=0) as file:
        while left > 0 and (data := file.read(min(left, _CHUNK))):
            crc = zlib.crc32(data, crc)
            left -= len(data)
    return crc


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _is_young(found: os.stat_result) -> bool:
    return time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < _COARSE_NS
