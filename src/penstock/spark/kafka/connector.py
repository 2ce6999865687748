"""Kafka by Spark's own connector: whether it is there, a topic as a stream, and where its partitions end.

A batch is what lies between two offsets of every partition, so one that is replayed is the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
_LATEST, _EARLIEST = -1, -2
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
    began: Mapping[str, Mapping[str, int]] | None = None,
) -> DataFrame:
    """The messages of topics as a stream; a partition of Kafka's is one of Spark's.

    Args:
        spark: The session.
        topics: By name, or a pattern of their names.
        properties: Of the brokers, as Kafka's clients take them.
        latest: Whether to begin with what comes from now on.
        per_batch: How many messages a batch has at most.
        began: By topic and partition the next message, for a job that goes on from a savepoint.

    Raises:
        UserError: Spark has no connector, or a partition is gone that the job has read.
    """
    check_connector(spark)
    names = ("subscribePattern", topics) if isinstance(topics, str) else ("subscribe", ",".join(topics))
    reader = spark.readStream.format("kafka").option(*names)
    for name, value in properties.items():
        reader = reader.option(f"kafka.{name}", value)
    start = "latest" if latest else "earliest"
    if began is not None:
        start = json.dumps(starting_offsets(_partitions_of(spark, topics, properties), began, latest=latest))
    found = reader.option("startingOffsets", start).option("maxOffsetsPerTrigger", str(per_batch)).load()
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


def starting_offsets(
    there: Mapping[str, Collection[int]], began: Mapping[str, Mapping[str, int]], *, latest: bool
) -> dict[str, dict[str, int]]:
    """Where to begin in every partition that there is, as Spark wants to be told.

    A partition that has come to a topic since is read from its first message, as Spark does while it runs.

    Args:
        there: The partitions of all topics that are read.
        began: By topic and partition the next message.
        latest: Whether a topic that was not read before begins with what comes from now on.

    Raises:
        UserError: A partition is gone.

    Example:
        >>> starting_offsets({"a": [0, 1], "b": [0]}, {"a": {"0": 7}}, latest=True)
        {'a': {'0': 7, '1': -2}, 'b': {'0': -1}}
    """
    for topic, partitions in began.items():
        gone = sorted(int(partition) for partition in partitions if int(partition) not in there.get(topic, ()))
        if gone:
            raise UserError(
                f"partition {gone[0]} of the Kafka topic `{topic}`, which the job has read, is not there any more",
                hint="read the topics that it has read, or start with a new checkpoint folder",
            )
    new = {topic: _LATEST if latest and topic not in began else _EARLIEST for topic in there}
    return {
        topic: {str(number): began.get(topic, {}).get(str(number), new[topic]) for number in sorted(partitions)}
        for topic, partitions in there.items()
    }


def _partitions_of(spark: SparkSession, topics: list[str] | str, properties: Mapping[str, str]) -> dict[str, list[int]]:
    """The partitions of topics, given by name or by a pattern."""
    with _consumer(spark, properties) as consumer:
        if isinstance(topics, list):
            return {topic: [p.partition() for p in consumer.partitionsFor(topic) or []] for topic in topics}
        known = consumer.listTopics()
        return {
            str(topic): [p.partition() for p in known.get(topic)]
            for topic in known.keySet()
            if re.fullmatch(topics, str(topic))
        }


@contextmanager
def _consumer(spark: SparkSession, properties: Mapping[str, str]) -> Iterator[Any]:
    """A client of Kafka's, to ask about topics."""
    jvm: Any = spark._jvm
    settings = jvm.java.util.Properties()
    for name, value in {**properties, "key.deserializer": _BYTES, "value.deserializer": _BYTES}.items():
        settings.put(name, value)
    consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings)
    try:
        yield consumer
    finally:
        consumer.close()


def ends_of(spark: SparkSession, topic: str, properties: Mapping[str, str]) -> dict[int, int]:
    """The offset after the last message of each partition of a topic."""
    check_connector(spark)
    jvm: Any = spark._jvm
    with _consumer(spark, properties) as consumer:
        partitions = jvm.java.util.ArrayList()
        for found in consumer.partitionsFor(topic) or []:
            partitions.add(jvm.org.apache.kafka.common.TopicPartition(topic, found.partition()))
        return {end.getKey().partition(): int(end.getValue()) for end in consumer.endOffsets(partitions).entrySet()}
