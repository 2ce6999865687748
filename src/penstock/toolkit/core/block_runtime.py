"""Operators that take blocks: all rows that have come, at once, as Arrow.

Code that was written for an engine with batches sees as many rows as its engine has at hand, and what it gives for them
has no row of its own that it comes from. Such an operator says which row of the block it gives a batch of rows behind.
On an engine with batches a block is what comes to a channel in one of them; the reference has one block, of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from penstock.expr.environment import Tuple
from penstock.expr.values import batch_from_rows, rows_from_batch
from penstock.ir.graph import Operator
from penstock.toolkit.core.runtime import Context, Runtime, Submit

Given = Iterator[tuple[Any, pa.RecordBatch]]
"""Rows that an operator gives, and behind which row of the block: one number for all, or an array with one for each.

They come in ascending order of these numbers."""


class BlockRuntime(Runtime):
    """The base of operators that take blocks; in the reference the block is complete when the input ends."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self.inputs = operator.inputs[0].schema
        self.outputs = operator.outputs[0].schema
        self._waiting: list[Tuple] = []

    def take_block(self, block: pa.RecordBatch) -> Given:
        """Take all rows that have come, which are at least one."""
        raise NotImplementedError

    def receiver(self, port: int) -> Submit:
        """Let a tuple wait for the others."""
        return self._waiting.append

    def on_window_punctuation(self, port: int) -> None:
        """Drop the marker: what it would stand behind waits."""

    def finish(self) -> None:
        """Take all rows."""
        self.flush()

    def flush(self) -> None:
        """Take the rows that wait, as one block."""
        waiting, self._waiting[:] = list(self._waiting), []
        if waiting:
            for _, rows in self.take_block(batch_from_rows(waiting, self.inputs)):
                for tuple_ in rows_from_batch(rows, self.outputs):
                    self.submit[0](tuple_)

    def snapshot(self) -> Any:
        """The state between blocks."""
        assert not self._waiting, "a block is taken as a whole"
        return super().snapshot()
