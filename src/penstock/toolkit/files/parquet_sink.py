"""FileSink with `format: parquet`: a folder of Parquet files, `part-00000.parquet` and so on, in order.

A Parquet file is complete only with its footer, and cannot be added to. So what is written between two points where the
sink may be continued is a file of its own, or several: on Spark one for each task of each batch, if it brings tuples,
in the reference interpreter one in all. A file gets its name when it is complete. What a crash has left after the
last such point is removed; a file from before it that is missing or was changed ends the run. Spark, pandas and pyarrow
read the folder as one table, in this order.

With `partitionBy` there are folders in it, `sym=IBM/part-00000.parquet`; the attributes that name them are not in the
files.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from penstock.expr.environment import Tuple
from penstock.expr.values import batch_from_rows
from penstock.ir.graph import Operator
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Parts, Whole
from penstock.toolkit.core.runtime import Context, FatalUserError, Submit
from penstock.toolkit.core.task_sink import Note
from penstock.toolkit.files.file_records import FileRecord, FileRecords
from penstock.toolkit.files.parquet_parts import STAGING, check_folder, parquet_parts

ROWS_AT_ONCE = 20_000


class ParquetSinkRuntime(LogicRuntime):
    """Writes a folder of Parquet files, or takes over those that tasks have written."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._schema = operator.inputs[0].schema
        self._is_partitioned = bool(operator.param("partitionBy"))
        self._folder = context.environment.output_path(self.constant("file"))
        check_folder(f"FileSink `{operator.id}`", self._folder)
        self._records = FileRecords(f"FileSink `{operator.id}`", self._folder)
        self._numbers: Counter[str] = Counter()
        self._files = parquet_parts(operator, self._folder, context.reject)
        self._is_fresh = True
        self._is_left_to_tasks = False
        self._rows: list[Tuple] = []

    def leave_to_tasks(self) -> None:
        """Tuples that come here are left alone from now on: tasks write them."""
        self._is_left_to_tasks = True

    def taker(self, port: int) -> Submit:
        """A function that writes a tuple with others."""

        def write(tuple_: Tuple) -> None:
            if not self._is_left_to_tasks:
                self._rows.append(tuple_)
                if len(self._rows) == ROWS_AT_ONCE:
                    self._write_rows()

        return write

    def batch_taker(self) -> Callable[[pa.RecordBatch], None] | None:
        """A function that writes all tuples of a batch."""
        return self._write if self.logic is None else None

    def take_parts(self, notes: Sequence[Note]) -> None:
        """Give the files of tasks their names, in order, and remove what other attempts have left."""
        if notes:
            self._begin()
        for note in notes:
            self._take_over(note)
        shutil.rmtree(self._folder / STAGING, ignore_errors=True)

    def take_window_marker(self, port: int) -> None:
        """Markers are not written."""

    def finish(self) -> None:
        """Complete the files; a stream without tuples leaves one without rows."""
        self._begin()
        self._write_rows()
        if not self._is_partitioned and not self._records.known:
            self._files.add_empty()
        self._complete_files()

    def close(self) -> None:
        """Let go of files that are not complete."""
        self._files.abandon()

    def snapshot_into(self, whole: Whole, parts: Parts) -> None:
        """Complete the files, and add what all files hold."""
        super().snapshot_into(whole, parts)
        self._begin()
        self._write_rows()
        self._complete_files()
        whole["files"] = self._records.as_data()
        self._records.sync()

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Remove the files that came after."""
        super().restore_from(whole, parts)
        self._cut_back(whole["files"])

    def _begin(self) -> None:
        if self._is_fresh:
            self._cut_back({})

    def _cut_back(self, records: Mapping[str, FileRecord]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._records.take_over(records)
        self._records.cut_back(records)
        self._numbers = Counter(os.path.dirname(name) for name in records)
        for path in self._folder.glob("**/part-*.parquet*" if self._is_partitioned else "part-*.parquet*"):
            if str(path.relative_to(self._folder)) not in records:
                path.unlink()
        if not self._is_left_to_tasks:
            # Of tasks, those of the batch that is about to be written have left their files there.
            shutil.rmtree(self._folder / STAGING, ignore_errors=True)
        self._is_fresh = False

    def _write_rows(self) -> None:
        rows, self._rows = self._rows, []
        self._write(batch_from_rows(rows, self._schema))

    def _write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self._begin()
            self._files.write(batch)

    def _complete_files(self) -> None:
        notes = self._files.finish()
        for note in notes:
            self._take_over(note)
        if notes:
            shutil.rmtree(self._folder / STAGING, ignore_errors=True)

    def _take_over(self, note: Note) -> None:
        """Give a complete file its name."""
        folder: str = note["folder"]
        name = str(Path(folder, f"part-{self._numbers[folder]:05d}.parquet"))
        self._numbers[folder] += 1
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Renaming sets the time that the record tells.
        staged = self._folder / STAGING / note["file"]
        try:
            os.replace(staged, path)
        except FileNotFoundError as error:
            message = f"FileSink `{self.operator.id}` does not find `{staged}`, which a task has written"
            hint = "let the output folder be one that the driver and all workers share"
            raise FatalUserError(message, hint=hint) from error
        self._records.note(name, FileRecord.of(path, note["size"], note["crc"]))
