"""The messages of a KafkaProducer in tasks: they are made there, and wait in files until Spark's connector takes them.

A message has the place of its tuple in the sequential order as its position, so it is the same whatever task makes it,
and messages are in order where positions are. Files are divided by key, so that one task can write all messages of a
key.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from penstock.expr.evaluate import Evaluator
from penstock.expr.values import rows_from_batch
from penstock.ir.graph import Operator
from penstock.runtime.sinks.kinds import JobOutput
from penstock.spark.job.session import active_session, cores_of
from penstock.toolkit.adapters.kafka_producer import message_writer
from penstock.toolkit.core.task_sink import Note
from penstock.toolkit.files.parquet_parts import ParquetParts

MESSAGES = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("position", pa.string())])
MOST_WRITERS = 32
"""How many tasks write the messages of a batch at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaTaskSink:
    """The half of a KafkaProducer in tasks.

    Attributes:
        operator: The sink.
        evaluator: For its parameters.
        folder: Where the messages wait.
        writers: How many tasks write them to Kafka.
    """

    operator: Operator
    evaluator: Evaluator
    folder: Path
    writers: int

    def open(self, batch: int) -> KafkaPart:
        """A writer for a run of a batch."""
        return KafkaPart(self)


def kafka_task_sink(operator: Operator, output: JobOutput) -> KafkaTaskSink:
    """The half of a KafkaProducer in tasks."""
    writers = min(cores_of(active_session()), MOST_WRITERS)
    folder = messages_folder(operator, output)
    return KafkaTaskSink(operator=operator, evaluator=output.evaluator, folder=folder, writers=writers)


def messages_folder(operator: Operator, output: JobOutput) -> Path:
    """Where the messages of a sink wait."""
    return output.folder.absolute() / f"kafka-{quote(operator.id, '')}"


class KafkaPart:
    """Makes the messages of a run."""

    def __init__(self, sink: KafkaTaskSink) -> None:
        self._schema = sink.operator.inputs[0].schema
        self._form = message_writer(sink.operator, sink.evaluator)
        self._writers = sink.writers
        self._files = ParquetParts(sink.folder, MESSAGES, self._by_key)

    def write(self, batch: pa.RecordBatch) -> None:
        """Refuse tuples without places: nobody could tell their messages from others."""
        raise NotImplementedError("messages have positions")

    def write_placed(self, batch: pa.RecordBatch, places: pa.RecordBatch) -> None:
        """Make messages."""
        rows = rows_from_batch(batch, self._schema)
        columns = [
            pa.array([self._form.key(row) for row in rows], pa.binary()),
            pa.array([self._form.value(row) for row in rows], pa.binary()),
            pa.array(positions_of(places), pa.string()),
        ]
        self._files.write(pa.RecordBatch.from_arrays(columns, schema=MESSAGES))

    def finish(self) -> list[Note]:
        """Complete the files."""
        return self._files.finish()

    def abandon(self) -> None:
        """Remove the files."""
        self._files.abandon()

    def _by_key(self, messages: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        writer = np.array([zlib.crc32(key or b"") % self._writers for key in messages.column(0).to_pylist()])
        for chosen in np.unique(writer).tolist():
            yield str(chosen), messages.take(pa.array(np.flatnonzero(writer == chosen)))


def positions_of(places: pa.RecordBatch) -> list[str]:
    """Texts for places, in the same order.

    Example:
        >>> places = pa.record_batch({"_t": [-1, 0, 0], "_n": [5, 5, 5], "_k": [b"b", b"a", b"ab"], "_p": [0, 0, 0]})
        >>> found = positions_of(places)
        >>> found == sorted(found), found[1]
        (True, '8000000000000000800000000000000561')
    """
    numbers = np.stack([places.column(0).to_numpy(), places.column(1).to_numpy()], axis=1)
    text = (numbers ^ np.int64(-(2**63))).astype(">i8").tobytes().hex()
    return [text[32 * i : 32 * i + 32] + path.hex() for i, path in enumerate(places.column(2).to_pylist())]
