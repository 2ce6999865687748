"""Files in folders named after values: `sym=IBM/part-0.csv`. One writer, many files, all cut back together.

What is written waits in memory until there is enough of it. `settle` writes everything and tells how long each file is;
`cut_back` makes the folder what it was when a writer settled: files are cut to their length, and those that were not
there are removed. A new writer begins by cutting back to nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

BUFFER_BYTES = 8 << 20
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Stands for null and for the empty string, as in Hive and Spark."""


def folder_of(names: Sequence[str], values: Iterable[str]) -> str:
    """The folder of the tuples whose attributes have these values, as text.

    Example:
        >>> folder_of(["sym", "day"], ["A/B", ""])
        'sym=A%2FB/day=__HIVE_DEFAULT_PARTITION__'
    """
    return "/".join(f"{name}={quote(value, '') or NO_VALUE}" for name, value in zip(names, values, strict=True))


class PartitionedFiles:
    """The files of one writer.

    Args:
        directory: Under which the folders lie.
        names: The attributes that name the folders.
        file: The name of the file in each folder.
    """

    def __init__(self, directory: Path, names: Sequence[str], file: str) -> None:
        self._directory, self._names, self._file = directory, names, file
        self._sizes: dict[str, int] = {}
        self._waiting: dict[str, list[bytes]] = {}
        self._waiting_bytes = 0
        self._is_fresh = True

    def write(self, folder: str, data: bytes) -> None:
        """Add to the file of a folder."""
        self._waiting.setdefault(folder, []).append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes > BUFFER_BYTES:
            self.settle()

    def settle(self) -> dict[str, int]:
        """Write what waits; how long the file of each folder is."""
        if self._is_fresh:
            self.cut_back({})
        for folder, parts in self._waiting.items():
            path = self._directory / folder / self._file
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.writelines(parts)
                self._sizes[folder] = file.tell()
        self._waiting, self._waiting_bytes = {}, 0
        return dict(self._sizes)

    def cut_back(self, sizes: Mapping[str, int]) -> None:
        """Make the files what they were when a writer settled and told these sizes."""
        self._directory.mkdir(parents=True, exist_ok=True)
        for path in self._directory.glob("/".join([*(f"{name}=*" for name in self._names), self._file])):
            size = sizes.get(path.parent.relative_to(self._directory).as_posix())
            if size is None:
                path.unlink()
            else:
                os.truncate(path, size)
        self._sizes, self._is_fresh = dict(sizes), False
