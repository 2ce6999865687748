"""Sources that Spark reads by itself, without a source PE: imported streams, and Kafka."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import write_durably
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Operator
from penstock.runtime.sources.outside_rows import SourcePE, source_pe
from penstock.spark.frames.bound_frames import bind, check_frame
from penstock.spark.frames.encode_frames import InputForm, encode_frame
from penstock.spark.frames.row_types import check_columns
from penstock.spark.kafka.connector import messages, transport_rows
from penstock.spark.kafka.kafka_streams import imported_rows, kafka_streams
from penstock.spark.sources.door import register_door
from penstock.spark.streams.imported import FORMAT, ImportReader
from penstock.spark.streams.stream_tables import streams_folder
from penstock.toolkit.adapters import import_, kafka_consumer
from penstock.toolkit.adapters.import_ import wanted_by
from penstock.toolkit.adapters.kafka_consumer import message_form, topics_of
from penstock.toolkit.adapters.kafka_params import kafka_properties
from penstock.toolkit.core.logic_runtime import symbol
from penstock.toolkit.frames import from_spark
from penstock.toolkit.frames.from_spark import input_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MESSAGES_PER_BATCH = 200
"""Of exported streams over Kafka; a message has many tuples."""


def outside_source(
    spark: SparkSession,
    plan: PhysicalPlan,
    pe: int,
    environment: Environment,
    checkpoint: Path,
    *,
    items_per_batch: int,
    continuous: bool = False,
    inputs: Mapping[str, DataFrame] | None = None,
    began: Mapping[str, Any] | None = None,
) -> DataFrame | None:
    """The rows of a source that Spark reads by itself; None if a source PE has to run.

    Args:
        spark: The session.
        plan: Of the job.
        pe: The source's PE.
        environment: Files, settings and the clock of the run.
        checkpoint: The job's folder.
        items_per_batch: About how many items a batch has at most.
        continuous: Whether the run goes on when there is nothing new.
        inputs: The streams of Spark that the program takes, by name.
        began: Where the source stood before the first batch of the query, where it goes on from a savepoint.
    """
    (id_,) = plan.pes[pe].operators
    operator = plan.application.operator[id_]
    if not operator.facts.is_read_by_engine:
        return None
    reading = _Reading(
        operator=operator,
        source=source_pe(plan, pe),
        environment=environment,
        evaluator=Evaluator(functions=plan.application.functions, environment=environment),
        checkpoint=checkpoint,
        items_per_batch=items_per_batch,
        continuous=continuous,
        dead=plan.dead[operator.outputs[0].stream],
        inputs=inputs or {},
        began=began,
    )
    return READERS[operator.kind](spark, reading)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """The arguments of a reader: the source, and how the job reads it; see `outside_source`."""

    operator: Operator
    source: SourcePE
    environment: Environment
    evaluator: Evaluator
    checkpoint: Path
    items_per_batch: int
    continuous: bool
    dead: frozenset[str]
    inputs: Mapping[str, DataFrame]
    began: Mapping[str, Any] | None


def _imported(spark: SparkSession, reading: _Reading) -> DataFrame:
    streams = kafka_streams()
    options = import_options(reading.operator, reading.evaluator)
    if streams is not None:
        wanted = wanted_by(reading.operator, reading.evaluator)
        found = messages(
            spark,
            streams.pattern(wanted),
            streams.properties,
            latest=False,
            per_batch=MESSAGES_PER_BATCH,
            began=reading.began,
        )
        return imported_rows(found.coalesce(1), reading.source, wanted, options.get("filter"))
    source = reading.checkpoint / f"source-{reading.source.pe}.pickle"
    write_durably(source, pickle.dumps(reading.source))
    register_door(spark, FORMAT, ImportReader)
    if reading.began is not None:
        options["began"] = json.dumps(reading.began)
    return (
        spark.readStream.format(FORMAT)
        .options(**options)
        .option("streams", str(streams_folder(reading.environment)))
        .option("source", str(source))
        .option("items_per_batch", str(reading.items_per_batch))
        .option("continuous", str(reading.continuous).lower())
        .load()
    )


def _from_kafka(spark: SparkSession, reading: _Reading) -> DataFrame:
    operator, evaluator = reading.operator, reading.evaluator
    topics = topics_of(operator, evaluator)
    found = messages(
        spark,
        topics,
        kafka_properties(operator, evaluator, reading.environment),
        latest=symbol(operator, "startPosition", "Beginning") == "End",
        per_batch=reading.items_per_batch,
        began=reading.began,
    )
    return transport_rows(found, reading.source, message_form(operator, evaluator), topics)


def _from_frame(spark: SparkSession, reading: _Reading) -> DataFrame:
    name = input_name(reading.operator, reading.evaluator)
    if name not in reading.inputs:
        raise UserError(f"there is no input `{name}`", hint=f'bring it: app.run(inputs={{"{name}": df}})')
    frame, form = reading.inputs[name], reading.operator.outputs[0].schema
    check_frame(name, frame)
    check_columns(name, frame.schema, form)
    given = InputForm(source=reading.source, operator=reading.operator, dead=reading.dead)
    return encode_frame(given, bind(frame, spark))


READERS: Mapping[str, Callable[[SparkSession, _Reading], DataFrame]] = {
    import_.DEFINITION.kind: _imported,
    kafka_consumer.DEFINITION.kind: _from_kafka,
    from_spark.DEFINITION.kind: _from_frame,
}
"""The readers of all sources that the engine reads by itself, by the kinds of their definitions."""


def import_options(operator: Operator, evaluator: Evaluator) -> dict[str, str]:
    """The options of the reader of stream tables for an Import."""
    wanted = wanted_by(operator, evaluator)
    asked = {
        "schema": str(wanted.schema),
        "stream_id": wanted.stream_id,
        "application": wanted.application,
        "subscription": wanted.subscription,
        "changes": wanted.changes,
    }
    found = {"wanted": json.dumps(asked)}
    for value in operator.param("filter"):
        found["filter"] = str(evaluator.constant(value))
    return found
