"""The durable stream of a loop that is open: what one batch sends round, for the next one to begin with.

Each batch is a file under the checkpoint, written as a whole before the batch counts as done, and an empty one where
nothing goes round. A batch that comes again writes the same file again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import make_folder, write_durably
from penstock.codegen.transport.batches import TUPLE
from penstock.ir.graph import Operator
from penstock.ir.types import Schema
from penstock.runtime.sinks.order import Chunk
from penstock.spark.streams.exported import file_rows, file_schema

if TYPE_CHECKING:
    from penstock.spark.sinks.kinds import JobOutput

FOLDER = "loop"
KEPT = 3
"""How many rounds are kept: Spark may ask for the last batch again, which was planned with the one before it."""


def rounds_folder(sinks: Path) -> Path:
    """Where the rounds lie, under the folder of the sinks."""
    return sinks / FOLDER


def read_round(folder: Path, batch: int, schema: Schema) -> list[pa.RecordBatch]:
    """What a batch has sent round, as rows of a stream table; nothing before the first batch.

    Raises:
        UserError: It is not there.
    """
    if batch < 0:
        return []
    path = _path(folder, batch)
    if not path.exists():
        message = f"the checkpoint has lost what goes round the loop: there is no `{path}`"
        raise UserError(message, hint="start with a new checkpoint folder")
    with pa.OSFile(str(path)) as file:
        found = pa.ipc.open_stream(file)
        assert found.schema.equals(file_schema(schema))
        return list(found)


class LoopSink:
    """The end of a loop."""

    def __init__(self, operator: Operator, output: JobOutput) -> None:
        self._folder = rounds_folder(output.folder)
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
        make_folder(self._folder)
        encoded = pa.BufferOutputStream()
        with pa.ipc.new_stream(encoded, self._schema) as writer:
            for rows in self._rows:
                writer.write_batch(rows)
        write_durably(_path(self._folder, self._batch), encoded.getvalue().to_pybytes())
        _path(self._folder, self._batch - KEPT).unlink(missing_ok=True)

    def close(self) -> None:
        """Nothing is open."""


def _path(folder: Path, batch: int) -> Path:
    return folder / f"{batch:020d}.arrow"
