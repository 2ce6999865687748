"""Arrays that grow, in memory or in files.

The state of many keys lies in a few such arrays. In a file they outlive the process: another one on the same machine
maps the file and goes on, however large it is. Only one process at a time may do so; whoever maps the file sees to it.

Example:
    >>> array = GrowingArray(np.int64)
    >>> array.reserve(3)
    >>> len(array.array) >= 3, int(array.array.sum())
    (True, 0)
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np

from penstock.codegen.rows.places import Array

_FEWEST = 64
"""Of how many rows room is made for at first."""


class GrowingArray:
    """An array with room for more rows than are in use.

    Args:
        dtype: Of its values.
        shape: Of a row.

    Attributes:
        array: The array; what has never been set is zero.
    """

    def __init__(self, dtype: Any, shape: tuple[int, ...] = ()) -> None:
        self.array: Array = np.zeros((0, *shape), dtype)
        self._path: Path | None = None
        self._inode = 0

    @property
    def can_be_mapped(self) -> bool:
        """Whether its values are nothing but bytes."""
        return bool(self.array.dtype != object)

    @property
    def is_mapped(self) -> bool:
        """Whether it lies in a file."""
        return self._path is not None

    def reserve(self, rows: int) -> None:
        """Make room for so many rows."""
        if len(self.array) < rows:
            self._resize(max(rows, 2 * len(self.array), _FEWEST))

    def clear(self, rows: int) -> None:
        """Have so many rows of zeros."""
        self.array = self.array[:0]
        self._resize(rows, anew=True)

    def assign(self, values: Array) -> None:
        """Have these values, as far as they reach."""
        self.clear(max(len(values), _FEWEST))
        self.array[: len(values)] = values

    def move_to(self, path: Path) -> None:
        """Lie in a file from now on, if there can be one."""
        if self._path == path:
            return
        try:
            path.write_bytes(b"")
            self._path, self._inode = path, path.stat().st_ino
        except OSError:
            return
        values, self.array = self.array, self.array[:0]
        self._resize(len(values))
        self.array[:] = values

    def attach(self, path: Path) -> None:
        """Go on with what lies in a file.

        Raises:
            OSError: It cannot be mapped.
        """
        status = path.stat()
        self._path, self._inode = path, status.st_ino
        self.array = self.array[:0]
        if self.row_bytes and (rows := status.st_size // self.row_bytes):
            self.array = self._mapped(rows, anew=False)

    @property
    def row_bytes(self) -> int:
        """The bytes of a row."""
        return int(self.array.dtype.itemsize) * int(np.prod(self.array.shape[1:], dtype=np.int64))

    def _resize(self, rows: int, *, anew: bool = False) -> None:
        """Have more rows; those that are new are zero."""
        if self._path is not None and rows * self.row_bytes:
            try:
                self.array = self._mapped(rows, anew=anew)
                return
            except OSError:
                # There is no room, or no such file any more.
                self._path = None
        larger = np.zeros((rows, *self.array.shape[1:]), self.array.dtype)
        larger[: len(self.array)] = self.array
        self.array = larger

    def _mapped(self, rows: int, *, anew: bool) -> Array:
        """So many rows in the file."""
        assert self._path is not None
        size = rows * self.row_bytes
        with self._path.open("r+b") as file:
            if os.fstat(file.fileno()).st_ino != self._inode:
                raise OSError("it is a file of somebody else, in the place of one that was removed")
            if anew:
                file.truncate(0)
            _allocate(file.fileno(), size)
            mapped = mmap.mmap(file.fileno(), size)
        return np.frombuffer(mapped, self.array.dtype).reshape((rows, *self.array.shape[1:]))


def _allocate(file: int, size: int) -> None:
    """Let a file have so many bytes, which are there when they are written to: else the process would end then."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.ftruncate(file, size)
