"""The names of the files that a FileSink writes.

A name that depends on a tuple may be anything, so it is not let out of the folder that the program gives it: the output
folder, or the one that the name begins with as in `"/data/out/" + sym`.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from pathlib import Path

from penstock.base.diagnostics import UserError

DEAD_LETTERS = "dead_letters.jsonl"
"""The file, among the outputs of a run, that holds what was set aside: one JSON object a line."""

LONGEST_PART_BYTES = 255
LONGEST_BYTES = 4095


def check_name(name: str, prefix: str, folder: Path) -> None:
    """Make sure that a name that comes from data names a plain file in its folder.

    Args:
        name: The whole name.
        prefix: What it begins with that does not come from data.
        folder: Where relative names begin.

    Raises:
        UserError: It does not.

    Example:
        >>> check_name("../x", "", Path("out"))
        Traceback (most recent call last):
        penstock.UserError: error: `../x` cannot name a file: it leads out of the output folder
    """
    base = folder / prefix[: prefix.rfind("/") + 1]
    rest = name[prefix.rfind("/") + 1 :]
    problem = _problem_of_text(rest) or _problem_of_place(base, base / rest, folder)
    if problem is not None:
        raise UserError(f"`{name}` cannot name a file: {problem}")


def _problem_of_text(name: str) -> str | None:
    """The problem with the text of a relative name, wherever it leads; None if there is none."""
    parts = name.split("/")
    if not name:
        return "it is empty"
    if "\0" in name:
        return "it has a NUL character"
    if name.startswith("/") or ".." in parts:
        return "it leads out of the output folder"
    if parts[-1] in ("", "."):
        return "it is the name of a folder"
    try:
        sizes = [len(os.fsencode(part)) for part in parts]
    except UnicodeEncodeError:
        return "it has characters that no file name has"
    return "it is too long" if max(sizes) > LONGEST_PART_BYTES else None


def _problem_of_place(base: Path, path: Path, folder: Path) -> str | None:
    """The problem with the place that a name leads to; None if there is none."""
    if len(os.fsencode(path)) > LONGEST_BYTES:
        return "it is too long"
    try:
        real = path.resolve()
        found = real.stat() if real.exists() else None
    except OSError as error:
        return str(error.strerror)
    except RuntimeError:
        return "symbolic links lead round in a circle"
    if not real.is_relative_to(base.resolve()):
        return "a symbolic link leads out of the output folder"
    if real == (folder / DEAD_LETTERS).resolve():
        return "the records that were set aside are there"
    if found is not None and not stat.S_ISREG(found.st_mode):
        return "there is a folder or a device of that name"
    if any(parent.exists() and not parent.is_dir() for parent in real.parents):
        return "it leads through something that is no folder"
    return None


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
