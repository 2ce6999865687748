"""Parquet files on their way into a folder: they are written to a staging place, and get their names when complete.

The driver's half of a sink writes them like this, and so do tasks, several at a time (`toolkit.core.task_sink`). With
`partitionBy` a writer has a file for each value. Rows wait in memory until there are enough for a group, so that many
small batches, or many values, do not make many small groups; what waits is bounded over all files of a writer.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from penstock.base.diagnostics import UserError
from penstock.ir.arrow import arrow_schema
from penstock.ir.graph import Operator
from penstock.ir.types import Schema, TupleType
from penstock.toolkit.core.task_sink import Note
from penstock.toolkit.files.file_records import ChecksummedFile
from penstock.toolkit.files.partition_folders import PartitionFolders, Reject, partition_keys
from penstock.toolkit.formats.format_params import written_schema

STAGING = ".staging"
"""Where files are while they are written; readers of the folder pass by names with a point."""

GROUP_ROWS = 1 << 20
GROUP_BYTES = 64 << 20
"""A group of rows is complete with so many rows, or bytes in memory."""

WAITING_BYTES = 128 << 20
"""How much may wait for all files of a writer."""

FILE_BYTES = 1 << 30
"""A file that has become so large is complete, and another begins."""

OPEN_FILES = 200
"""How many files of a writer may be open; the largest is completed where there are more."""

Split = Callable[[pa.RecordBatch], Iterable[tuple[str, pa.RecordBatch]]]
"""The folders of a batch of tuples, each with the columns to write."""


class ParquetParts:
    """Writes files to a staging place.

    Args:
        folder: Of the sink.
        schema: Of the files.
        split: What goes where.
    """

    def __init__(self, folder: Path, schema: pa.Schema, split: Split) -> None:
        self._staging, self._schema, self._split = folder / STAGING, schema, split
        self._files: dict[str, _GrowingFile] = {}
        self._complete: list[Note] = []
        self._waiting_bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Take tuples."""
        for folder, rows in self._split(batch):
            if rows.num_rows:
                self._add(folder, rows)

    def add_empty(self) -> None:
        """Begin a file that may stay without rows."""
        self._file("")

    def finish(self) -> list[Note]:
        """Complete all files; what is known of each."""
        for folder in list(self._files):
            self._complete_file(folder)
        complete, self._complete = self._complete, []
        return complete

    def abandon(self) -> None:
        """Remove the files that were begun, and those that are complete and nobody was told of."""
        for file in self._files.values():
            file.drop()
        for note in self._complete:
            (self._staging / note["file"]).unlink(missing_ok=True)
        self._files, self._complete, self._waiting_bytes = {}, [], 0

    def _file(self, folder: str) -> _GrowingFile:
        file = self._files.get(folder)
        if file is None:
            file = self._files[folder] = _GrowingFile(self._staging, self._schema)
        return file

    def _add(self, folder: str, rows: pa.RecordBatch) -> None:
        file = self._file(folder)
        self._waiting_bytes += file.add(rows)
        if file.rows >= GROUP_ROWS or file.waiting_bytes >= GROUP_BYTES:
            self._waiting_bytes -= file.write_group()
        while self._waiting_bytes > WAITING_BYTES:
            largest = max(self._files.values(), key=lambda each: each.waiting_bytes)
            self._waiting_bytes -= largest.write_group()
        if file.size >= FILE_BYTES:
            self._complete_file(folder)
        written = [name for name, each in self._files.items() if each.size]
        if len(written) > OPEN_FILES:
            self._complete_file(max(written, key=lambda name: self._files[name].size))

    def _complete_file(self, folder: str) -> None:
        file = self._files.pop(folder)
        self._waiting_bytes -= file.waiting_bytes
        self._complete.append({"folder": folder, **file.complete()})


class _GrowingFile:
    """A file of which groups of rows are written, and the rows of the next group."""

    def __init__(self, staging: Path, schema: pa.Schema) -> None:
        self._path, self._schema = staging / f"{uuid.uuid4().hex}.parquet", schema
        self._raw: ChecksummedFile | None = None
        self._writer: parquet.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self.rows = self.waiting_bytes = 0

    @property
    def size(self) -> int:
        """How many bytes are written."""
        return 0 if self._raw is None else self._raw.size

    def add(self, rows: pa.RecordBatch) -> int:
        """Let rows wait; returns how many bytes they are."""
        self._waiting.append(rows)
        self.rows += rows.num_rows
        self.waiting_bytes += rows.nbytes
        return int(rows.nbytes)

    def write_group(self) -> int:
        """Write the rows that wait as a group; returns how many bytes they were."""
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._raw = ChecksummedFile(self._path)
            self._writer = parquet.ParquetWriter(_Whole(self._raw), self._schema)
        table = pa.Table.from_batches(self._waiting, schema=self._schema)
        if table.num_rows:
            self._writer.write_table(table, row_group_size=table.num_rows)
        written, self._waiting, self.rows, self.waiting_bytes = self.waiting_bytes, [], 0, 0
        return written

    def complete(self) -> Note:
        """Write what waits, and the footer; what the file holds."""
        self.write_group()
        assert self._writer is not None
        assert self._raw is not None
        self._writer.close()
        self._raw.close()
        return {"file": self._path.name, "size": self._raw.size, "crc": self._raw.crc}

    def drop(self) -> None:
        """Let go of the file, and remove it."""
        if self._writer is not None and self._raw is not None:
            self._writer.close()
            self._raw.close()
            self._path.unlink(missing_ok=True)


class _Whole(io.RawIOBase):
    """A file for pyarrow, which does not look how much of its bytes was written."""

    def __init__(self, raw: ChecksummedFile) -> None:
        self._raw = raw

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._raw.size

    def write(self, data: bytes) -> int:  # type: ignore[override]  # any buffer
        self._raw.write_all(data)
        return len(data)


def check_folder(owner: str, folder: Path) -> None:
    """Refuse a folder whose name something else has.

    Raises:
        UserError: There is a file of its name.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{owner} writes a folder, but `{folder}` is a file", hint="remove it, or choose another name")


def file_schema(operator: Operator) -> Schema:
    """The attributes in the files: those that name folders are left out, as readers of such folders expect it."""
    keys = {name for name, _ in partition_keys(operator)}
    return TupleType(tuple(a for a in written_schema(operator).attributes if a.name not in keys))


def parquet_parts(operator: Operator, folder: Path, reject: Reject) -> ParquetParts:
    """A writer for a sink's folder."""
    schema = operator.inputs[0].schema
    written = file_schema(operator)
    chosen = [schema.position[name] for name in written.names]
    keys = partition_keys(operator)
    folders = PartitionFolders(schema, keys)

    def split(batch: pa.RecordBatch) -> Iterable[tuple[str, pa.RecordBatch]]:
        columns = batch.select(chosen)
        if not keys:
            yield "", columns
            return
        for name, rows in folders.split(batch, reject):
            yield name, columns.take(rows)

    return ParquetParts(folder, arrow_schema(written), split)
