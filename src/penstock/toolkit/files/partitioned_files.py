"""Files in folders named after values: `sym=IBM/part-0.csv`. One writer, many files, all cut back together.

What is written waits in memory until there is enough of it. `settle` writes everything and tells the length and the
checksum of each file; `cut_back` makes the folder what it was when a writer settled: files are cut to their length, and
those that were not there are removed. A new writer begins by cutting back to nothing. A file that does not hold what it
held is an error, on cutting back, and before it is added to; nothing is changed then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from penstock.base.diagnostics import UserError
from penstock.toolkit.files.file_records import ChecksummedFile, FileRecords
from penstock.toolkit.files.sink_names import LONGEST_PART_BYTES

BUFFER_BYTES = 8 << 20
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Stands for null and for the empty string, as in Hive and Spark."""


def folder_of(names: Sequence[str], values: Iterable[str]) -> str:
    """The folder of the tuples whose attributes have these values, as text.

    No value leads out of the folder of all, for what has a meaning in a path is written as `%2F`.

    Raises:
        UserError: A value is too long for the name of a folder.

    Example:
        >>> folder_of(["sym", "day"], ["A/B", ""])
        'sym=A%2FB/day=__HIVE_DEFAULT_PARTITION__'
    """
    return "/".join(_folder_name(name, value) for name, value in zip(names, values, strict=True))


def _folder_name(name: str, value: str) -> str:
    # A string that is spelled as what stands for null is told from it.
    text = _escape(value) if value != NO_VALUE else f"%5F{value[1:]}"
    folder = f"{name}={text or NO_VALUE}"
    length = len(folder.encode())
    if length > LONGEST_PART_BYTES:
        message = f"`{name}` cannot name a folder: its value has {len(value)} characters, {length} bytes in a name"
        raise UserError(message, hint=f"a name has at most {LONGEST_PART_BYTES}")
    return folder


def _escape(value: str) -> str:
    """A value as part of a path: other letters than those of ASCII stay, because Spark reads each `%C3` as a letter."""
    if value.isascii():
        return quote(value, "")
    is_plain = str.isprintable
    return "".join(c if ord(c) > 127 and is_plain(c) else quote(c, "", errors="surrogatepass") for c in value)


class PartitionedFiles:
    """The files of one writer.

    Args:
        owner: For messages: "FileSink `Out`".
        directory: Under which the folders lie.
        names: The attributes that name the folders.
        file: The name of the file in each folder.
    """

    def __init__(self, owner: str, directory: Path, names: Sequence[str], file: str) -> None:
        self._directory, self._names, self._file = directory, names, file
        self._records = FileRecords(owner, directory)
        self._waiting: dict[str, list[bytes]] = {}
        self._waiting_bytes = 0
        self._is_fresh = True

    def write(self, folder: str, data: bytes) -> None:
        """Add to the file of a folder."""
        self._waiting.setdefault(folder, []).append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes > BUFFER_BYTES:
            self.settle()

    def settle(self) -> dict[str, tuple[Any, ...]]:
        """Write what waits; what the files hold, by their names in the directory.

        Raises:
            FatalUserError: A file cannot be written to, or does not hold what it held.
        """
        if self._is_fresh:
            self.cut_back({})
        for folder, parts in self._waiting.items():
            self._add(f"{folder}/{self._file}", parts)
        self._waiting, self._waiting_bytes = {}, 0
        return self._records.as_data()

    def sync(self) -> None:
        """Let what was written since the last time survive a power loss."""
        self._records.sync()

    def _add(self, name: str, parts: Sequence[bytes]) -> None:
        path = self._directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._records.check_whole(name)
            with ChecksummedFile(path, self._records.known.get(name)) as raw:
                raw.write_all(b"".join(parts))
                self._records.note(name, raw.record())
        except OSError as error:
            raise self._records.error(name, error.strerror or str(error)) from error

    def cut_back(self, records: Mapping[str, tuple[Any, ...]]) -> None:
        """Make the files what they were when a writer settled and told these records.

        Raises:
            FatalUserError: A file does not hold any more what it held then.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        self._records.take_over(records)
        self._records.cut_back(records)
        for path in self._directory.glob("/".join([*(f"{name}=*" for name in self._names), self._file])):
            if path.relative_to(self._directory).as_posix() not in records:
                path.unlink()
        self._is_fresh = False
