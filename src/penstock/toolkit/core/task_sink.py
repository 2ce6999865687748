"""Sinks that tasks write: one half works in every task, the other commits what all tasks of a batch have done.

A task writes where nobody looks, and tells in notes what it has written; notes travel to the driver in the place of
tuples, and only those of tasks that have succeeded arrive. What other attempts have left is rubbish, and is removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

Note = dict[str, Any]
"""What a task has written, as JSON."""


class TaskWriter(Protocol):
    """The half of a sink in a task: it takes tuples that are in order, a run."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take tuples."""

    def finish(self) -> list[Note]:
        """Complete what was written; what the driver needs to commit it."""

    def abandon(self) -> None:
        """Drop what was written: the task has failed."""


@runtime_checkable
class TakesPlaces(Protocol):
    """A writer that wants to know where tuples stand in the sequential order."""

    def write_placed(self, batch: pa.RecordBatch, places: pa.RecordBatch) -> None:
        """Take tuples in the place of `write`; places are as the transport has them, a row for each tuple."""


class TaskSink(Protocol):
    """Opens writers in tasks; it travels to them, so it holds no open files or connections."""

    def open(self, batch: int) -> TaskWriter:
        """A writer for a run of a batch."""


@runtime_checkable
class CommitsParts(Protocol):
    """The half of a sink in the driver."""

    def leave_to_tasks(self) -> None:
        """Tuples that come here are left alone from now on: tasks write them."""

    def take_parts(self, notes: Sequence[Note]) -> None:
        """Take over what the tasks of a batch have written, in the order of their first tuples."""
