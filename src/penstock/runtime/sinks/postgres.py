"""PostgresSink of a job: the rows of a batch and its id in one transaction.

Where tasks write, each copies its rows into a table of its own, a part, and commits that. The transaction of the batch
moves the rows of all parts that were told of, and drops the parts. Those that nobody was told of, of attempts that
failed or came second, are dropped behind it.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.expr.values import rows_from_batch
from penstock.ir.graph import Operator
from penstock.ir.types import Schema
from penstock.runtime.sinks.order import Chunk
from penstock.toolkit.adapters.postgres_sink import ROWS_AT_ONCE, table_of
from penstock.toolkit.adapters.postgres_table import PostgresTable
from penstock.toolkit.core.task_sink import Note

if TYPE_CHECKING:
    from penstock.runtime.sinks.kinds import JobOutput


class PostgresBatchSink:
    """Writes batches to a table."""

    def __init__(self, operator: Operator, output: JobOutput) -> None:
        self._table = table_of(operator, output.evaluator)
        self._schema = operator.inputs[0].schema
        self._job = output.id
        self._prefix = _prefix(operator, output.id)
        self._batch = -1
        self._is_new: bool | None = None
        self._has_parts = False
        self._table.open()

    def begin(self, batch: int) -> None:
        """A batch comes; the transaction begins with its first tuple."""
        self._batch, self._is_new, self._has_parts = batch, None, False

    def take(self, chunk: Chunk) -> None:
        """Add rows, unless the batch is there."""
        if chunk.tuples.num_rows and self._is_unwritten():
            self._table.add(rows_from_batch(chunk.tuples, self._schema))

    def take_parts(self, notes: Sequence[Note]) -> None:
        """Add the rows that tasks have written, unless the batch is there."""
        self._has_parts = bool(notes)
        if notes and self._is_unwritten():
            self._table.take_parts([note["table"] for note in notes])

    def commit(self, *, has_ended: bool) -> None:
        """Commit the rows and the batch's id."""
        if self._is_new:
            self._table.commit()
        if self._has_parts:
            self._table.drop_parts(self._prefix)

    def close(self) -> None:
        """Let go of the connection."""
        self._table.close()

    def _is_unwritten(self) -> bool:
        if self._is_new is None:
            self._is_new = self._table.begin(self._job, self._batch)
        return self._is_new


def _prefix(operator: Operator, job: str) -> str:
    """What the names of a sink's parts begin with."""
    return f"penstock_part_{job[:16]}_{zlib.crc32(operator.id.encode()):08x}_"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresTaskSink:
    """Opens the writers of a sink in tasks.

    Attributes:
        table: Where the rows are to be in the end.
        schema: Of the tuples.
        prefix: Of the names of parts.
    """

    table: PostgresTable
    schema: Schema
    prefix: str

    def open(self, batch: int) -> PostgresPart:
        """A writer for a run of a batch."""
        return PostgresPart(self)


class PostgresPart:
    """Copies a run into a table of its own."""

    def __init__(self, sink: PostgresTaskSink) -> None:
        self._table, self._schema = sink.table.connected_once(), sink.schema
        self._name = f"{sink.prefix}{uuid.uuid4().hex[:20]}"
        self._table.begin_part(self._name)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            self._table.add(rows_from_batch(batch.slice(start, ROWS_AT_ONCE), self._schema), self._name)

    def finish(self) -> list[Note]:
        """Commit the part."""
        self._table.commit()
        return [{"table": self._name}]

    def abandon(self) -> None:
        """Forget the part."""
        self._table.rollback()


def postgres_task_sink(operator: Operator, output: JobOutput) -> PostgresTaskSink:
    """The half of a PostgresSink in tasks."""
    table = table_of(operator, output.evaluator)
    return PostgresTaskSink(table=table, schema=operator.inputs[0].schema, prefix=_prefix(operator, output.id))
