"""A copy of an instance's tables in files, which whoever processes its next batch on this machine goes on with.

Introduction:
    Spark gives the batches of a channel to whichever worker is free. State that a worker holds is of no use to another,
    and reading it from the store costs what is known. So tables lie in files that workers map: it costs nothing to
    take them over, whatever their size.

Formulation:
    The store decides what holds. A stamp tells which state lies in the files; if it is not that of the store, because
    a batch failed, ran again or ran elsewhere, the files are made anew. The stamp is taken away before a batch changes
    anything. A lock keeps others out; who does not get it, because a task that was given up still runs, works without
    files. So does who cannot write them, because the disk is full or the folder is gone: they are only a copy.

When it does not apply:
    Tables that hold more than arrays (keys that only Python compares, values that only Arrow holds) lie in no files.
"""

from __future__ import annotations

import fcntl
import json
import os
import pickle
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from penstock.runtime.pes.pe_instance import PEInstance
from penstock.runtime.pes.state_log import Head, Store, read

_STAMP = "stamp"
"""The file that tells which state lies in the others: the stamp of its head, the sizes of tables and of files."""

_LOCK = "lock"


class TableFiles:
    """The files of one channel of a PE; a context in which nobody else has them.

    Args:
        folder: Where they are, for this state alone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> TableFiles:
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = _take_lock(self._folder / _LOCK)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None) -> None:
        self._let_go()

    def _let_go(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _are_ours(self) -> bool:
        return self._lock is not None and _is_at(self._lock, self._folder / _LOCK)

    def attach(self, instance: PEInstance, head: Head, store: Store) -> bool:
        """Let an instance go on with the files, if they hold the state of a head; tells whether they do."""
        found = self._take_stamp()
        if found.get("stamp") != head.stamp or found["files"] != self._sizes_of_files():
            return False
        try:
            for number, (table, sizes) in enumerate(zip(instance.tables.values(), found["tables"], strict=True)):
                table.attach(self._folder / str(number), sizes)
        except OSError:
            return False
        instance.restore(pickle.loads(head.outline), lambda: read(head, store.get))
        return True

    def _take_stamp(self) -> dict[str, Any]:
        """What the files hold; from now on nobody can say so, until they are kept again."""
        if self._lock is None:
            return {}
        path = self._folder / _STAMP
        try:
            data = path.read_bytes()
            path.unlink()
            found = json.loads(data)
        except (FileNotFoundError, ValueError):
            return {}
        except OSError:
            # A stamp that stays would tell of files that are about to change.
            self._let_go()
            return {}
        return found if isinstance(found, dict) else {}

    def _sizes_of_files(self) -> dict[str, int]:
        """The size of each file, which tells whether all are there."""
        return {str(p.relative_to(self._folder)): p.stat().st_size for p in self._folder.glob("*/*")}

    def hold(self, instance: PEInstance) -> None:
        """Let the tables of an instance lie in the files from now on, if they can."""
        if not self._are_ours():
            return
        for number, table in enumerate(instance.tables.values()):
            arrays, folder = table.arrays, self._folder / str(number)
            if arrays is None or table.is_in_files:
                continue
            if not any(array.is_mapped for array in arrays):
                shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                folder.mkdir(exist_ok=True)
                table.move_to(folder)

    def keep(self, instance: PEInstance, stamp: str) -> None:
        """Let others go on with what an instance has left."""
        tables = list(instance.tables.values())
        if not self._are_ours() or not all(table.is_in_files for table in tables):
            return
        with suppress(OSError):
            files = self._sizes_of_files()
            part = self._folder / "stamp.part"
            part.write_text(json.dumps({"stamp": stamp, "tables": [table.sizes() for table in tables], "files": files}))
            part.replace(self._folder / _STAMP)


def _take_lock(path: Path) -> IO[bytes] | None:
    """A file that is locked; None if somebody else has it."""
    lock = path.open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(lock, path):
            return lock
    except OSError:
        pass
    lock.close()
    return None


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Whether a file is still in its place: its folder may have been removed, and made anew by somebody else."""
    try:
        return os.fstat(file.fileno()).st_ino == path.stat().st_ino
    except OSError:
        return False
