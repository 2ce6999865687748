"""The rounds of an open loop: the items that one batch sends round, with which the next one begins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import make_folder, write_durably
from penstock.codegen.transport.batches import TUPLE
from penstock.ir.graph import Operator
from penstock.ir.types import Schema
from penstock.runtime.sinks.order import Chunk
from penstock.runtime.sources.stored_items import file_rows, file_schema

START, END = "loop::Start", "loop::End"
"""The operators that stand for the two ends of an open loop."""

FOLDER = "loop"
KEPT = 3
"""How many rounds are kept: Spark may ask for the last batch again, which was planned with the one before it."""


class Rounds(Protocol):
    """The rounds of a loop, by the batch that has sent them."""

    def read(self, batch: int, schema: Schema) -> Sequence[pa.RecordBatch]:
        """The items that a batch sent round, as rows of `stored_items`; nothing before the first batch."""

    def write(self, batch: int, rows: Sequence[pa.RecordBatch], schema: pa.Schema) -> None:
        """Keep what a batch sends round."""


class RoundsInMemory:
    """The last round, for a run that is not resumed."""

    def __init__(self) -> None:
        self._rows: Sequence[pa.RecordBatch] = ()

    def read(self, batch: int, schema: Schema) -> Sequence[pa.RecordBatch]:
        """The items that the last batch sent round."""
        return self._rows

    def write(self, batch: int, rows: Sequence[pa.RecordBatch], schema: pa.Schema) -> None:
        """Keep it until the next one comes."""
        self._rows = tuple(rows)


class StoredRounds:
    """Rounds under a checkpoint.

    Each batch is a file, written as a whole before the batch counts as done, and an empty one where nothing goes round.
    A batch that comes again writes the same file again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, batch: int, schema: Schema) -> Sequence[pa.RecordBatch]:
        """The items that a batch sent round; nothing before the first batch.

        Raises:
            UserError: The file of the batch is missing.
        """
        if batch < 0:
            return []
        path = self._path(batch)
        if not path.exists():
            message = f"the checkpoint has lost what goes round the loop: there is no `{path}`"
            raise UserError(message, hint="start with a new checkpoint folder")
        with pa.OSFile(str(path)) as file:
            found = pa.ipc.open_stream(file)
            assert found.schema.equals(file_schema(schema))
            return list(found)

    def write(self, batch: int, rows: Sequence[pa.RecordBatch], schema: pa.Schema) -> None:
        """Write the file of a batch."""
        make_folder(self._folder)
        encoded = pa.BufferOutputStream()
        with pa.ipc.new_stream(encoded, schema) as writer:
            for part in rows:
                writer.write_batch(part)
        write_durably(self._path(batch), encoded.getvalue().to_pybytes())
        self._path(batch - KEPT).unlink(missing_ok=True)

    def _path(self, batch: int) -> Path:
        return self._folder / f"{batch:020d}.arrow"


def rounds_folder(sinks: Path) -> Path:
    """Where the rounds lie, under the folder of the sinks."""
    return sinks / FOLDER


class LoopSink:
    """The end of a loop."""

    def __init__(self, operator: Operator, rounds: Rounds) -> None:
        self._rounds = rounds
        self._schema = file_schema(operator.inputs[0].schema)
        self._batch = -1
        self._rows: list[pa.RecordBatch] = []

    def begin(self, batch: int) -> None:
        """A batch comes."""
        self._batch, self._rows = batch, []

    def take(self, chunk: Chunk) -> None:
        """Take what goes round: tuples alone, for a feedback edge passes no markers on."""
        is_tuple = chunk.kind == TUPLE
        tuples = Chunk(time_ns=chunk.time_ns[is_tuple], kind=chunk.kind[is_tuple], tuples=chunk.tuples)
        self._rows.append(file_rows(tuples, self._schema))

    def commit(self, *, has_ended: bool) -> None:
        """Write the round."""
        self._rounds.write(self._batch, self._rows, self._schema)

    def close(self) -> None:
        """Nothing is open."""
