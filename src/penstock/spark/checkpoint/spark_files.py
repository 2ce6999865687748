"""Spark's own files in a checkpoint: synced with each batch, because Spark does not.

    CHECKPOINT/spark/
        metadata          the id of the query
        offsets/N         what batch N is made of, written before it runs
        commits/N         written when batch N is done
        state/OPERATOR/CHANNEL/   N+1.changelog: the state behind batch N, written by the tasks of batch N, and
                                  N+1.zip with SSTs: a whole one now and then

Spark writes each of them under another name, renames it, and leaves the rest to the operating system. After a power
loss a commit may then be there without the state that it stands for, and the job cannot go on. So all that is new is
synced when the tasks of a batch are done, and before its sinks are written: its offsets and its state, and the commit
of the batch before. The commit of the batch itself comes later; if it is lost the batch is written again, from files
that are all there, and changes nothing.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from penstock.base.durable_files import sync_file, sync_folder

FOLDER = "spark"
_AT_ONCE = 8
"""File systems write what several threads sync at once in one go."""


class SparkFiles:
    """The files of a query, and which of them are synced.

    Args:
        folder: Spark's own, inside the checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._synced: dict[Path, frozenset[tuple[str, int]]] = {}

    def sync(self) -> None:
        """Let everything that is there now survive a power loss."""
        files, folders = self._changed()
        if not files and not folders:
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(_sync_file, files))
            list(pool.map(_sync_folder, folders))

    def _changed(self) -> tuple[list[Path], list[Path]]:
        """The files that are new since the last time, and the folders whose names have changed."""
        files: list[Path] = []
        # Spark has made its own folder, too.
        folders: list[Path] = [] if self._synced else [self._folder.parent]
        waiting = [self._folder]
        while waiting:
            folder = waiting.pop()
            names, inside = _entries(folder)
            waiting += inside
            known = self._synced.get(folder)
            if known != names:
                files += [folder / name for name, inode in names - (known or frozenset())]
                folders.append(folder)
                self._synced[folder] = names
        return files, folders


def _entries(folder: Path) -> tuple[frozenset[tuple[str, int]], list[Path]]:
    """The files of a folder, each with what tells it from an earlier one of its name; and the folders in it."""
    names, inside = set(), []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    inside.append(Path(entry.path))
                elif not entry.name.endswith(".tmp"):
                    names.add((entry.name, entry.inode()))
    except FileNotFoundError:
        pass
    return frozenset(names), inside


def _sync_file(path: Path) -> None:
    # Spark may have removed it meanwhile, as it does with what is old.
    try:
        sync_file(path)
    except FileNotFoundError:
        return


def _sync_folder(path: Path) -> None:
    try:
        sync_folder(path)
    except FileNotFoundError:
        return
