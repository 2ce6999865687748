"""A copy of an instance's tables in files, which whoever processes its next batch on this machine goes on with.

Introduction:
    Spark gives the batches of a channel to whichever worker is free. State that a worker holds is of no use to another,
    and reading it from the store costs what is known. So tables lie in files that workers map: it costs nothing to
    take them over, whatever their size.

Formulation:
    The store decides what holds. A stamp tells which state lies in the files; if it is not that of the store, because
    a batch failed, ran again or ran elsewhere, the files are made anew. The stamp is taken away before a batch changes
    anything. A lock keeps others out; who does not get it, because a task that was given up still runs, works without
    files.

When it does not apply:
    Tables that hold more than arrays (keys that only Python compares, values that only Arrow holds) lie in no files.
"""

from __future__ import annotations

import fcntl
import pickle
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from penstock.runtime.pes.pe_instance import PEInstance
from penstock.runtime.pes.state_log import Head, Store, read

_STAMP = "stamp"


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What the files hold.

    Attributes:
        stamp: Of the head.
        tables: The sizes of each table.
        files: The size of each file.
    """

    stamp: str
    tables: list[list[Any]]
    files: dict[str, int]


class TableFiles:
    """The files of one channel of a PE; a context in which nobody else has them.

    Args:
        folder: Where they are, for this state alone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> TableFiles:
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = (self._folder / "lock").open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._lock = lock
        except OSError:
            lock.close()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None) -> None:
        if self._lock is not None:
            self._lock.close()

    def attach(self, instance: PEInstance, head: Head, store: Store) -> bool:
        """Let an instance go on with the files, if they hold the state of a head; tells whether they do."""
        found = self._take_stamp()
        if found is None or found.stamp != head.stamp or found.files != self._sizes_of_files():
            return False
        instance.restore(pickle.loads(head.outline), lambda: read(head, store.get))
        for number, (table, sizes) in enumerate(zip(instance.tables.values(), found.tables, strict=True)):
            table.attach(self._folder / str(number), sizes)
        return True

    def _take_stamp(self) -> _Stamp | None:
        """What the files hold; from now on nobody can say so, until they are kept again."""
        if self._lock is None:
            return None
        path = self._folder / _STAMP
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        path.unlink()
        found: _Stamp = pickle.loads(data)
        return found

    def _sizes_of_files(self) -> dict[str, int]:
        """The size of each file, which tells whether all are there."""
        return {str(p.relative_to(self._folder)): p.stat().st_size for p in self._folder.glob("*/*")}

    def hold(self, instance: PEInstance) -> None:
        """Let the tables of an instance lie in the files from now on, if they can."""
        if self._lock is None:
            return
        for number, table in enumerate(instance.tables.values()):
            folder = self._folder / str(number)
            if not table.is_in_files and table.arrays is not None:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                table.move_to(folder)

    def keep(self, instance: PEInstance, stamp: str) -> None:
        """Let others go on with what an instance has left."""
        tables = list(instance.tables.values())
        if self._lock is not None and all(table.is_in_files for table in tables):
            part = self._folder / "stamp.part"
            held = _Stamp(stamp, [table.sizes() for table in tables], self._sizes_of_files())
            part.write_bytes(pickle.dumps(held))
            part.replace(self._folder / _STAMP)
