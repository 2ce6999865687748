"""KafkaProducer on Spark: a message for each tuple (`topic` says how each is written exactly once)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from penstock.expr.values import rows_from_batch
from penstock.ir.graph import Operator
from penstock.runtime.sinks.order import Chunk
from penstock.spark.job.hadoop_paths import hadoop_pattern
from penstock.spark.kafka.kafka_parts import messages_folder
from penstock.spark.kafka.topic import TopicWriter
from penstock.toolkit.adapters.kafka_params import kafka_properties
from penstock.toolkit.adapters.kafka_producer import message_writer
from penstock.toolkit.core.task_sink import Note
from penstock.toolkit.files.parquet_parts import STAGING

if TYPE_CHECKING:
    from penstock.runtime.sinks.kinds import JobOutput


class KafkaSink:
    """Writes the messages of a KafkaProducer."""

    def __init__(self, operator: Operator, output: JobOutput) -> None:
        properties = kafka_properties(operator, output.evaluator, output.environment)
        name = str(output.evaluator.constant(operator.param("topic")[0]))
        note = output.folder / f"kafka-{quote(operator.id, '')}.json"
        self._topic = TopicWriter(name, properties, output.id, note)
        self._form = message_writer(operator, output.evaluator)
        self._staging = messages_folder(operator, output) / STAGING
        self._files: dict[str, list[str]] = {}
        self._schema = operator.inputs[0].schema

    def begin(self, batch: int) -> None:
        """A batch comes."""
        self._files = {}
        self._topic.begin(batch)

    def take(self, chunk: Chunk) -> None:
        """Write messages."""
        rows = rows_from_batch(chunk.tuples, self._schema)
        self._topic.add([self._form.key(row) for row in rows], [self._form.value(row) for row in rows])

    def take_parts(self, notes: Sequence[Note]) -> None:
        """Take the messages that tasks have made."""
        for note in notes:
            self._files.setdefault(note["folder"], []).append(hadoop_pattern(self._staging / note["file"]))

    def commit(self, *, has_ended: bool) -> None:
        """Write what waits."""
        self._topic.flush()
        self._topic.write_files(self._files)
        shutil.rmtree(self._staging, ignore_errors=True)

    def close(self) -> None:
        """Nothing is held open."""
