"""PostgresSink of a job: the rows of a batch and its id in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.expr.values import rows_from_batch
from penstock.ir.graph import Operator
from penstock.runtime.sinks.order import Chunk
from penstock.toolkit.adapters.postgres_sink import table_of

if TYPE_CHECKING:
    from penstock.runtime.sinks.kinds import JobOutput


class PostgresBatchSink:
    """Writes batches to a table."""

    def __init__(self, operator: Operator, output: JobOutput) -> None:
        self._table = table_of(operator, output.evaluator)
        self._schema = operator.inputs[0].schema
        self._job = output.id
        self._batch = -1
        self._is_new: bool | None = None
        self._table.open()

    def begin(self, batch: int) -> None:
        """A batch comes; the transaction begins with its first tuple."""
        self._batch, self._is_new = batch, None

    def take(self, chunk: Chunk) -> None:
        """Add rows, unless the batch is there."""
        if not chunk.tuples.num_rows:
            return
        if self._is_new is None:
            self._is_new = self._table.begin(self._job, self._batch)
        if self._is_new:
            self._table.add(rows_from_batch(chunk.tuples, self._schema))

    def commit(self, *, has_ended: bool) -> None:
        """Commit the rows and the batch's id."""
        if self._is_new:
            self._table.commit()

    def close(self) -> None:
        """Let go of the connection."""
        self._table.close()
