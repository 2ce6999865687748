"""The sinks on Spark that tasks write, and the function by which they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from penstock.ir.graph import Operator
from penstock.runtime.sinks.kinds import JobOutput
from penstock.runtime.sinks.parquet_task_sink import parquet_task_sink
from penstock.runtime.sinks.postgres import postgres_task_sink
from penstock.runtime.sinks.task_parts import TaskSinks, write_rows
from penstock.spark.kafka.kafka_parts import kafka_task_sink
from penstock.spark.sinks.large_results import spill_large
from penstock.spark.sinks.spark_writer import spark_task_sink
from penstock.toolkit.adapters import file_sink, kafka_producer, postgres_sink, spark_sink
from penstock.toolkit.core.task_sink import TaskSink

if TYPE_CHECKING:
    import pyarrow as pa

TASK_SINKS: Mapping[str, Callable[[Operator, JobOutput], TaskSink | None]] = {
    file_sink.DEFINITION.kind: parquet_task_sink,
    kafka_producer.DEFINITION.kind: kafka_task_sink,
    postgres_sink.DEFINITION.kind: postgres_task_sink,
    spark_sink.DEFINITION.kind: spark_task_sink,
}
"""By the kind of the operator; None stands for one whose tuples have to come to the driver."""

BATCH = "streaming.sql.batchId"
"""The property in which Spark tells tasks the number of the batch."""

Process = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
"""A function for `mapInArrow`."""


def writing(sinks: TaskSinks, first_batch: int, before: Process | None = None) -> Process:
    """A function that writes what is for sinks of tasks and passes on the rest.

    Args:
        sinks: All that write in tasks.
        first_batch: The number of the first batch of Spark's own checkpoint.
        before: What the same worker does first.
    """

    def process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        batch = None if context is None else context.getLocalProperty(BATCH)
        if batch is None:
            raise RuntimeError("Spark does not tell its tasks which batch they work on")
        yield from write_rows(sinks, first_batch + int(batch), batches if before is None else before(batches))

    return process


def spilling(process: Process, folder: str) -> Process:
    """A function whose rows go to files in a folder where they are too many to be sent to the driver."""
    return lambda batches: spill_large(process(batches), folder)
