"""FileSink with `format: parquet`: a folder of Parquet files, `part-00000.parquet` and so on, in order.

A Parquet file is complete only with its footer, and cannot be added to. So what is written between two points where the
sink may be continued is a file of its own: on Spark one for each batch that brings tuples, in the reference interpreter
one in all. What a crash has left after the last such point is removed; a file from before it that is missing or was
changed ends the run. Spark, pandas and pyarrow read the folder as one table, in this order.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from penstock.expr.environment import Tuple
from penstock.expr.values import batch_from_rows
from penstock.ir.arrow import arrow_schema
from penstock.ir.graph import Operator
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Parts, Whole
from penstock.toolkit.core.projection import projection
from penstock.toolkit.core.runtime import Context, Submit
from penstock.toolkit.files.file_records import ChecksummedFile, FileRecord, FileRecords
from penstock.toolkit.formats.format_params import written_schema

ROWS_AT_ONCE = 20_000


class ParquetSinkRuntime(LogicRuntime):
    """Writes a folder of Parquet files."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._schema = written_schema(operator)
        self._folder = context.environment.output_path(self.constant("file"))
        self._records = FileRecords(f"FileSink `{operator.id}`", self._folder)
        self._is_fresh = True
        self._rows: list[Tuple] = []
        self._raw: ChecksummedFile | None = None
        self._writer: parquet.ParquetWriter | None = None

    def taker(self, port: int) -> Submit:
        """A function that writes a tuple with others."""
        select = projection(self.operator.inputs[0].schema, self._schema.names)

        def write(tuple_: Tuple) -> None:
            self._rows.append(select(tuple_))
            if len(self._rows) == ROWS_AT_ONCE:
                self._write_rows()

        return write

    def batch_taker(self) -> Callable[[pa.RecordBatch], None] | None:
        """A function that writes all tuples of a batch."""
        if self.logic is not None:
            return None
        chosen = [self.operator.inputs[0].schema.position[name] for name in self._schema.names]
        return lambda batch: self._write(batch.select(chosen))

    def take_window_marker(self, port: int) -> None:
        """Markers are not written."""

    def finish(self) -> None:
        """Complete the file; a stream without tuples leaves one without rows."""
        if not self._records.known and not self._rows:
            self._write(batch_from_rows([], self._schema), even_empty=True)
        self._complete_file()

    def close(self) -> None:
        """Let go of a file that is not complete."""
        if self._writer is not None and self._raw is not None:
            self._writer.close()
            self._raw.close()
            self._writer = self._raw = None

    def snapshot_into(self, whole: Whole, parts: Parts) -> None:
        """Complete the file, and add what all files hold."""
        super().snapshot_into(whole, parts)
        self._complete_file()
        whole["files"] = self._records.as_data()
        self._records.sync()

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Remove the files that came after."""
        super().restore_from(whole, parts)
        self._cut_back(whole["files"])

    def _next_path(self) -> Path:
        return self._folder / f"part-{len(self._records.known):05d}.parquet"

    def _cut_back(self, records: Mapping[str, FileRecord]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._records.take_over(records)
        self._records.cut_back(records)
        for path in self._folder.glob("part-*.parquet*"):
            if path.name not in records:
                path.unlink()
        self._is_fresh = False

    def _write_rows(self) -> None:
        rows, self._rows = self._rows, []
        self._write(batch_from_rows(rows, self._schema))

    def _write(self, batch: pa.RecordBatch, *, even_empty: bool = False) -> None:
        if not batch.num_rows and not even_empty:
            return
        if self._is_fresh:
            self._cut_back({})
        if self._writer is None:
            self._raw = ChecksummedFile(self._next_path().with_suffix(".parquet.part"))
            self._raw.cut(0, 0)
            self._writer = parquet.ParquetWriter(_Whole(self._raw), arrow_schema(self._schema))
        self._writer.write_batch(batch)

    def _complete_file(self) -> None:
        self._write_rows()
        if self._is_fresh:
            self._cut_back({})
        if self._writer is None or self._raw is None:
            return
        self._writer.close()
        path = self._next_path()
        # Renaming sets the time that the record tells.
        os.replace(path.with_suffix(".parquet.part"), path)
        self._records.note(path.name, self._raw.record())
        self._raw.close()
        self._writer = self._raw = None


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
