"""Files of Spark's writers, brought to their place so that a batch is there once.

A batch is written aside, and its files are then moved to their place under names that tell job and batch. One that
comes again first removes what it has left there. On this machine files and folders are synced. In any other file
system that Hadoop knows (HDFS, `s3a://`, `abfss://`, ...) a file is moved by itself, which such stores do at once or
not at all; nothing is appended, linked or locked.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.durable_files import sync_file, sync_folder
from penstock.spark.job.hadoop_paths import hadoop_path
from penstock.toolkit.files.parquet_parts import STAGING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UNIQUE = re.compile(r"^part-\d+-[0-9a-f-]{36}(?:[.-]c\d+)?")


def place_files(save: Callable[[str], None], target: Path, job: str, prefix: str) -> None:
    """Write the files of a batch to a folder of this machine.

    Args:
        save: Writes them to an address.
        target: The folder.
        job: Names the job and its sink.
        prefix: Of the names of files: of the job, the sink and the batch.
    """
    aside = target / STAGING / job
    shutil.rmtree(aside, ignore_errors=True)
    aside.parent.mkdir(parents=True, exist_ok=True)
    save(hadoop_path(aside))
    for left in target.rglob(f"{prefix}*"):
        left.unlink()
    written = sorted(p for p in aside.rglob("part-*") if p.is_file())
    for number, path in enumerate(written):
        place = target / path.relative_to(aside).parent / _placed(prefix, number, path.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        sync_file(path)
        path.rename(place)
    for folder in {target, *(target / p.relative_to(aside).parent for p in written)}:
        sync_folder(folder)
    shutil.rmtree(target / STAGING, ignore_errors=True)


def _placed(prefix: str, number: int, name: str) -> str:
    return f"{prefix}{number:05d}{_UNIQUE.sub('', name)}"


class StoreFolder:
    """A folder in a file system that Hadoop knows by a scheme.

    Raises:
        Exception: Of Java's, where there is no such file system, or it does not answer.
    """

    def __init__(self, session: SparkSession, address: str) -> None:
        context: Any = session.sparkContext
        self._hadoop = context._jvm.org.apache.hadoop.fs
        self._address = address.rstrip("/")
        self._root = self._hadoop.Path(self._address)
        self._files = self._root.getFileSystem(context._jsc.hadoopConfiguration())
        if self._files.exists(self._root) and not self._files.getFileStatus(self._root).isDirectory():
            raise NotADirectoryError("a file has its name")

    def place(self, save: Callable[[str], None], job: str, prefix: str, *, again: bool) -> None:
        """Write the files of a batch.

        Args:
            save: Writes them to an address.
            job: Names the job and its sink.
            prefix: Of the names of files: of the job, the sink and the batch.
            again: Whether the batch may have left some there.
        """
        aside = f"{self._address}/{STAGING}/{job}"
        self._files.delete(self._hadoop.Path(aside), True)
        save(aside)
        if again:
            for left in self._names(self._address):
                if left.rpartition("/")[2].startswith(prefix):
                    self._files.delete(self._hadoop.Path(f"{self._address}/{left}"), False)
        written = sorted(name for name in self._names(aside) if name.rpartition("/")[2].startswith("part-"))
        for number, name in enumerate(written):
            folder, slash, file = name.rpartition("/")
            place = self._hadoop.Path(f"{self._address}/{folder}{slash}{_placed(prefix, number, file)}")
            self._files.mkdirs(place.getParent())
            if not self._files.rename(self._hadoop.Path(f"{aside}/{name}"), place):
                raise OSError(f"`{place}` cannot be made")
        self._files.delete(self._hadoop.Path(f"{self._address}/{STAGING}"), True)

    def _names(self, folder: str) -> list[str]:
        """All files below a folder, by their path from there."""
        root, found = self._hadoop.Path(folder), []
        whole = self._files.makeQualified(root).toString()
        listed = self._files.listFiles(root, True)
        while listed.hasNext():
            found.append(listed.next().getPath().toString().removeprefix(whole).lstrip("/"))
        return found
