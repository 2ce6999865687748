"""Builds the query of a job: sources, then the PEs one behind the other, and one `foreachBatch` for all sinks.

The PEs stand in one line, in an order in which every edge leads forward. A PE takes the rows of its own edges and
passes the others on untouched. So a stream with several subscribers needs no second plan for each of them, which Spark
would compute again from the source up to there (it shares an exchange between branches only if no stateful operator
stands below it), and every operator runs once for each tuple whatever the number of sinks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark.sql.functions as F

from penstock.codegen.plan import PE, PhysicalPlan
from penstock.codegen.transport import SPARK_SCHEMA
from penstock.expr.environment import Environment
from penstock.spark.sinks import SinkPE
from penstock.spark.sources import FORMAT, PenstockSource, dump
from penstock.spark.workers import StatefulPE, stateless_pe
from penstock.toolkit.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A program on its way to Spark.

    Attributes:
        program: What to run.
        plan: How it is cut into PEs.
        environment: Its surroundings.
        checkpoint: Where Spark's checkpoint, the source logs and the sinks' state lie.
        turns_per_batch: How many turns a source takes for one batch.
    """

    program: Program
    plan: PhysicalPlan
    environment: Environment
    checkpoint: Path
    turns_per_batch: int = 50_000


def start(spark: SparkSession, job: Job) -> tuple[StreamingQuery, SinkPE]:
    """Start the query of a job; it ends when every source has ended."""
    job.checkpoint.mkdir(parents=True, exist_ok=True)
    pickled = job.checkpoint / "program.pickle"
    dump(job.program, job.plan, job.environment, pickled)
    spark.dataSource.register(PenstockSource)
    sources = [_source(spark, job, pe, pickled) for pe in job.plan.pes if pe.role == "source"]
    frame = reduce(_union, sources)
    for pe in job.plan.pes:
        if pe.role in ("stateless", "stateful"):
            frame = _pe(pe, frame, pickled)
    sink = next((pe.index for pe in job.plan.pes if pe.role == "sink"), None)
    sinks = SinkPE(job.program, job.plan, sink, job.environment, job.checkpoint / "sinks")
    query = (
        frame.writeStream.foreachBatch(sinks.write)
        .option("checkpointLocation", str(job.checkpoint / "spark"))
        .trigger(availableNow=True)
        .queryName(job.program.application.name)
        .start()
    )
    return query, sinks


def _source(spark: SparkSession, job: Job, pe: PE, pickled: Path) -> DataFrame:
    return (
        spark.readStream.format(FORMAT)
        .option("program", str(pickled))
        .option("pe", str(pe.index))
        .option("log", str(job.checkpoint / "sources" / str(pe.index)))
        .option("turns_per_batch", str(job.turns_per_batch))
        .load()
    )


def _pe(pe: PE, frame: DataFrame, pickled: Path) -> DataFrame:
    if pe.role == "stateless":
        return frame.coalesce(1).mapInArrow(stateless_pe(str(pickled), pe.index), SPARK_SCHEMA)
    grouped = frame.withColumn("channel", F.lit(0)).groupBy("channel")
    processor = StatefulPE(str(pickled), pe.index)
    return grouped.transformWithStateInPandas(processor, SPARK_SCHEMA, "Append", "None")


def _union(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.unionAll(right)
