"""A disk that keeps only what was synced, for tests of what a power loss leaves.

While a `Disk` records, every `os.fsync` of this process is seen. A file that is synced has its present content from
then on, a folder its present names. What the disk holds after a power loss is then one of:

- the names and the content that were synced, and nothing else (`names="synced"`);
- all names of the moment, with content only where it was synced, for a file system may write a name before the content
  that it stands for (`names="all"`): such files are empty.
"""

from __future__ import annotations

import os
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path


class Disk:
    """What has been synced under a folder.

    Args:
        root: The folder; what is in it at the start is on the disk.
        on_sync: Is called after every sync.
    """

    def __init__(self, root: Path, on_sync: Callable[[], None] = lambda: None) -> None:
        self.root = root
        self._on_sync = on_sync
        self._content: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._folders: set[int] = set()
        self._held: dict[int, int] = {}
        self._one_at_a_time = threading.Lock()
        self._fsync = os.fsync
        for folder, _, files in os.walk(root):
            self._note_folder(os.stat(folder).st_ino, Path(folder))
            for path in (Path(folder, name) for name in files):
                self._content[path.stat().st_ino] = path.read_bytes()

    def __enter__(self) -> Disk:
        os.fsync = self._sync
        return self

    def __exit__(self, *exception: object) -> None:
        os.fsync = self._fsync
        for descriptor in self._held.values():
            os.close(descriptor)

    def restore(self, to: Path, names: str) -> None:
        """Make a folder what the disk holds if the power fails now."""
        shutil.rmtree(to, ignore_errors=True)
        self._restore(os.stat(self.root).st_ino, self.root, to, names == "all")

    def _sync(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path.is_relative_to(self.root):
            with self._one_at_a_time:
                self._hold(found.st_ino, path)
                if stat.S_ISDIR(found.st_mode):
                    self._note_folder(found.st_ino, path)
                else:
                    self._content[found.st_ino] = path.read_bytes()
                self._on_sync()

    def _hold(self, inode: int, path: Path) -> None:
        """Keep a file open: nothing else gets its number then."""
        if inode not in self._held:
            self._held[inode] = os.open(path, os.O_RDONLY)

    def _note_folder(self, inode: int, path: Path) -> None:
        self._folders.add(inode)
        self._names[inode] = {entry.name: entry.inode() for entry in os.scandir(path)}
        for entry in os.scandir(path):
            if entry.is_dir():
                self._folders.add(entry.inode())
            self._hold(entry.inode(), Path(entry.path))

    def _restore(self, inode: int, path: Path, to: Path, all_names: bool) -> None:
        to.mkdir(parents=True)
        names = dict(self._names.get(inode, {}))
        if all_names and path.is_dir():
            names = {entry.name: entry.inode() for entry in os.scandir(path)}
            self._folders.update(entry.inode() for entry in os.scandir(path) if entry.is_dir())
        for name, child in names.items():
            if child in self._folders:
                self._restore(child, path / name, to / name, all_names)
            else:
                (to / name).write_bytes(self._content.get(child, b""))
