"""Export on Spark: each batch goes to a stream table, under its id."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.codegen.transport.batches import FINAL, TUPLE
from penstock.ir.arrow import arrow_schema
from penstock.ir.graph import Operator
from penstock.ir.types import Schema
from penstock.runtime.sinks.order import Chunk
from penstock.spark.streams.stream_tables import TableWriter, streams_folder
from penstock.toolkit.adapters.import_ import offer_of

if TYPE_CHECKING:
    from penstock.spark.sinks.kinds import JobOutput

TIME, KIND = "penstock_time_ns", "penstock_kind"


def file_schema(schema: Schema) -> pa.Schema:
    """The schema of a table's files: markers are rows without values."""
    head = [pa.field(TIME, pa.int64()), pa.field(KIND, pa.uint8())]
    return pa.schema([*head, *(field.with_nullable(True) for field in arrow_schema(schema))])


def file_rows(chunk: Chunk, schema: pa.Schema) -> pa.RecordBatch:
    """Items as rows of a table's file; ends of streams are left out, for the log tells of them.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> chunk = Chunk(
        ...     time_ns=np.array([5, 5]), kind=np.array([0, 1], np.uint8), tuples=pa.record_batch({"x": [7]})
        ... )
        >>> file_rows(chunk, file_schema(parse_schema("int64 x"))).to_pylist()[1]
        {'penstock_time_ns': 5, 'penstock_kind': 1, 'x': None}
    """
    is_tuple = chunk.kind == TUPLE
    kept = chunk.kind != FINAL
    columns = list(chunk.tuples.columns)
    if not is_tuple.all():
        rows = pa.array(np.cumsum(is_tuple) - 1, mask=~is_tuple).filter(pa.array(kept))
        columns = [column.take(rows) for column in columns]
    head = [pa.array(chunk.time_ns[kept], pa.int64()), pa.array(chunk.kind[kept], pa.uint8())]
    return pa.RecordBatch.from_arrays([*head, *columns], schema=schema)


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
