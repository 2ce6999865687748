"""Export on Spark: each batch goes to a stream table, under its id."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.ir.graph import Operator
from penstock.runtime.sinks.order import Chunk
from penstock.runtime.sources.stored_items import file_rows, file_schema
from penstock.spark.streams.stream_tables import TableWriter, streams_folder
from penstock.toolkit.adapters.import_ import offer_of

if TYPE_CHECKING:
    from penstock.runtime.sinks.kinds import JobOutput


class ExportSink:
    """Writes the stream table of an Export."""

    def __init__(self, operator: Operator, output: JobOutput) -> None:
        offer = offer_of(operator, output.application, output.evaluator)
        self._table = TableWriter(streams_folder(output.environment), operator.id, offer, output.id)
        self._schema = file_schema(operator.inputs[0].schema)
        self._batch = -1
        self._items = 0
        self._file: pa.OSFile | None = None
        self._writer: pa.RecordBatchWriter | None = None

    def begin(self, batch: int) -> None:
        """A batch comes."""
        self._batch, self._items = batch, 0

    def take(self, chunk: Chunk) -> None:
        """Write items to the part of the batch, unless it is committed."""
        rows = file_rows(chunk, self._schema)
        if not rows.num_rows or self._table.is_committed(self._batch):
            return
        if self._writer is None:
            self._file = pa.OSFile(str(self._table.part(self._batch)), "wb")
            self._writer = pa.ipc.new_file(self._file, self._schema)
        self._writer.write_batch(rows)
        self._items += rows.num_rows

    def commit(self, *, has_ended: bool) -> None:
        """Complete the file, then the log."""
        self._finish_file()
        last = self._table.last
        ends_now = has_ended and not (last is not None and last.has_ended)
        if not self._table.is_committed(self._batch) and (self._items or ends_now):
            self._table.commit(self._batch, self._items, has_ended=has_ended)

    def close(self) -> None:
        """Let go of the table."""
        self._finish_file()
        self._table.close()

    def _finish_file(self) -> None:
        if self._writer is None or self._file is None:
            return
        self._writer.close()
        self._file.flush()
        self._file.close()
        self._writer = self._file = None
        with self._table.part(self._batch).open("rb+") as file:
            os.fsync(file.fileno())
