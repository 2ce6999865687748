"""Sources that Spark reads by itself, without a source PE: imported streams, and Kafka."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.codegen.plan import PhysicalPlan
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Operator
from penstock.spark.imports import FORMAT, StreamTableSource
from penstock.spark.source_rows import source_pe
from penstock.spark.stream_tables import streams_folder
from penstock.toolkit.import_ import wanted_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def outside_source(
    spark: SparkSession,
    plan: PhysicalPlan,
    pe: int,
    environment: Environment,
    checkpoint: Path,
    *,
    items_per_batch: int,
    continuous: bool = False,
) -> DataFrame | None:
    """The rows of a source that Spark reads by itself; None if a source PE has to run.

    Args:
        spark: The session.
        plan: Of the job.
        pe: The source's PE.
        environment: The job's surroundings.
        checkpoint: The job's folder.
        items_per_batch: About how many items a batch has at most.
        continuous: Whether the run goes on when there is nothing new.
    """
    (id_,) = plan.pes[pe].operators
    operator = plan.application.operator[id_]
    if operator.kind != "Import":
        return None
    source = checkpoint / f"source-{pe}.pickle"
    source.write_bytes(pickle.dumps(source_pe(plan, pe)))
    spark.dataSource.register(StreamTableSource)
    options = import_options(operator, Evaluator(functions=plan.application.functions, environment=environment))
    return (
        spark.readStream.format(FORMAT)
        .options(**options)
        .option("streams", str(streams_folder(environment)))
        .option("source", str(source))
        .option("items_per_batch", str(items_per_batch))
        .option("continuous", str(continuous).lower())
        .load()
    )


def import_options(operator: Operator, evaluator: Evaluator) -> dict[str, str]:
    """What the reader of stream tables has to know of an Import."""
    wanted = wanted_by(operator, evaluator)
    asked = {
        "schema": str(wanted.schema),
        "stream_id": wanted.stream_id,
        "application": wanted.application,
        "subscription": wanted.subscription,
    }
    found = {"wanted": json.dumps(asked)}
    for value in operator.param("filter"):
        found["filter"] = str(evaluator.constant(value))
    return found
