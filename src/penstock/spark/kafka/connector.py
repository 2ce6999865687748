"""Kafka by Spark's own connector: whether it is there, a topic as a stream, and where its partitions end.

A batch is what lies between two offsets of every partition, so one that is replayed is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.base.diagnostics import UserError
from penstock.codegen.transport.batches import SPARK_SCHEMA
from penstock.runtime.sources.outside_rows import SourcePE
from penstock.spark.kafka.messages import tuples_of
from penstock.toolkit.adapters.kafka_consumer import MessageForm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROVIDER = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13"
_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


def check_connector(spark: SparkSession) -> None:
    """Make sure that Spark has its Kafka connector.

    Raises:
        UserError: It has not; the hint says how to get it.
    """
    jvm: Any = spark._jvm
    try:
        jvm.org.apache.spark.util.Utils.classForName(PROVIDER, True, False)
    except Exception as error:
        version = spark.version
        raise UserError(
            "Spark has no Kafka connector on this machine",
            hint=f"let Spark download it with --packages {PACKAGE}:{version} (or PENSTOCK_PACKAGES), "
            "or name a folder of its jars with --jars (or PENSTOCK_JARS), or put them into the `jars` folder of Spark",
        ) from error


def messages(
    spark: SparkSession,
    topics: list[str] | str,
    properties: Mapping[str, str],
    *,
    latest: bool,
    per_batch: int,
) -> DataFrame:
    """The messages of topics, given by name or by a pattern, as a stream; a partition of Kafka's is one of Spark's."""
    check_connector(spark)
    names = ("subscribePattern", topics) if isinstance(topics, str) else ("subscribe", ",".join(topics))
    reader = spark.readStream.format("kafka").option(*names)
    for name, value in properties.items():
        reader = reader.option(f"kafka.{name}", value)
    found = (
        reader.option("startingOffsets", "latest" if latest else "earliest")
        .option("maxOffsetsPerTrigger", str(per_batch))
        .load()
    )
    micros = "unix_micros(timestamp) AS micros"
    return found.selectExpr("key", "value", "topic", "partition", "offset", micros)


def transport_rows(frame: DataFrame, source: SourcePE, form: MessageForm, topics: Sequence[str]) -> DataFrame:
    """Messages of topics as rows of the transport; a task gives those of a partition."""

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = list(batches)
        if any(batch.num_rows for batch in found):
            items, letters = tuples_of(pa.Table.from_batches(found), form, source.operator, topics)
            yield from source.rows(items, letters=letters)

    return frame.mapInArrow(rows, SPARK_SCHEMA)


def ends_of(spark: SparkSession, topic: str, properties: Mapping[str, str]) -> dict[int, int]:
    """The offset after the last message of each partition of a topic."""
    check_connector(spark)
    jvm: Any = spark._jvm
    settings = jvm.java.util.Properties()
    for name, value in {**properties, "key.deserializer": _BYTES, "value.deserializer": _BYTES}.items():
        settings.put(name, value)
    consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings)
    try:
        partitions = jvm.java.util.ArrayList()
        for found in consumer.partitionsFor(topic) or []:
            partitions.add(jvm.org.apache.kafka.common.TopicPartition(topic, found.partition()))
        return {end.getKey().partition(): int(end.getValue()) for end in consumer.endOffsets(partitions).entrySet()}
    finally:
        consumer.close()
