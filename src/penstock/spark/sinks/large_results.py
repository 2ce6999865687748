"""Rows of a task that are too many to be sent: they go to a file, and the driver is told its name.

What tasks send lies in the memory of the driver's JVM until we have read it. So a task sends a part of its rows and
writes the rest to a file under the checkpoint, which driver and workers see by the same path. The driver's memory is
bounded then, whatever the size of a batch. Only the names that arrive count: another attempt writes other files.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from penstock.codegen.transport.batches import ROWS_FILE, values_as_rows

SENT_BYTES = 16 << 20
"""How much a task sends."""


def spill_large(rows: Iterable[pa.RecordBatch], folder: str, most_bytes: int = SENT_BYTES) -> Iterator[pa.RecordBatch]:
    """The first rows as they are, and a row with the name of a file that holds the others, if there are any.

    Args:
        rows: Of the transport.
        folder: Where the file goes.
        most_bytes: When to begin with it.
    """
    sent = 0
    writer: pa.RecordBatchWriter | None = None
    name = f"{folder}/{uuid.uuid4().hex}.arrow"
    with ExitStack() as files:
        for batch in rows:
            if sent < most_bytes:
                sent += batch.nbytes
                yield batch
                continue
            if writer is None:
                Path(folder).mkdir(parents=True, exist_ok=True)
                file = files.enter_context(pa.OSFile(name, "wb"))
                writer = files.enter_context(pa.ipc.new_stream(file, batch.schema))
            writer.write_batch(batch)
    if writer is not None:
        yield values_as_rows(ROWS_FILE, [name.encode()])


def read_spilled(name: bytes) -> Iterator[pa.RecordBatch]:
    """The rows of a file; it is removed behind the last."""
    path = Path(name.decode())
    with pa.OSFile(str(path)) as file:
        yield from pa.ipc.open_stream(file)
    path.unlink()
