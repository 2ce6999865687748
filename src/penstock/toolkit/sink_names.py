"""The names of the files that a FileSink writes."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path


def expand_name(name: str, number: int, now_ns: int) -> str:
    """A name with its placeholders filled in.

    Args:
        name: As the parameter gives it.
        number: How many files have been opened before.
        now_ns: The time.

    Example:
        >>> expand_name("{id}-{gmtime:%Y}.csv", 3, 0)
        '3-1970.csv'
    """
    seconds = now_ns // 1_000_000_000
    name = name.replace("{id}", str(number))
    name = re.sub(r"\{localtime:([^}]*)\}", lambda m: time.strftime(m[1], time.localtime(seconds)), name)
    return re.sub(r"\{gmtime:([^}]*)\}", lambda m: time.strftime(m[1], time.gmtime(seconds)), name)


def move_into(path: Path, directory: Path) -> Path:
    """Move a file into a directory, which is made if need be; where it then lies."""
    directory.mkdir(parents=True, exist_ok=True)
    return Path(shutil.move(path, directory / path.name))


def move_back(path: Path, directory: Path, inode: int) -> None:
    """Undo `move_into` if the file with this inode was moved."""
    moved = directory / path.name
    if moved.exists() and moved.stat().st_ino == inode:
        shutil.move(moved, path)
