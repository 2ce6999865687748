"""The sinks on Spark that take whole batches and commit each under its id."""

from __future__ import annotations

from penstock.ir.graph import Operator
from penstock.runtime.sinks.kinds import BatchSink, BatchSinks, JobOutput
from penstock.runtime.sinks.postgres import PostgresBatchSink
from penstock.runtime.sources.rounds import END, LoopSink, StoredRounds, rounds_folder
from penstock.spark.kafka.kafka_sink import KafkaSink
from penstock.spark.kafka.kafka_streams import KafkaExportSink, kafka_streams
from penstock.spark.sinks.spark_writer import SparkWriterSink
from penstock.spark.streams.exported import ExportSink
from penstock.toolkit.adapters import export, kafka_producer, postgres_sink, spark_sink


def _export_sink(operator: Operator, output: JobOutput) -> BatchSink:
    streams = kafka_streams()
    return ExportSink(operator, output) if streams is None else KafkaExportSink(operator, output, streams)


def _loop_sink(operator: Operator, output: JobOutput) -> BatchSink:
    return LoopSink(operator, StoredRounds(rounds_folder(output.folder)))


SPARK_SINKS: BatchSinks = {
    export.DEFINITION.kind: _export_sink,
    kafka_producer.DEFINITION.kind: KafkaSink,
    END: _loop_sink,
    postgres_sink.DEFINITION.kind: PostgresBatchSink,
    spark_sink.DEFINITION.kind: SparkWriterSink,
}
