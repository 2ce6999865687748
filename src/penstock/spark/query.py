"""Builds the query of a job: sources, PEs, exchanges, and one `foreachBatch` for all sinks."""

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
    frames: dict[int, DataFrame] = {}
    for pe in job.plan.pes:
        if pe.role == "source":
            frames[pe.index] = _source(spark, job, pe, pickled)
        elif pe.role != "sink":
            frames[pe.index] = _pe(job, pe, frames, pickled)
    sink = next((pe.index for pe in job.plan.pes if pe.role == "sink"), None)
    sinks = SinkPE(job.program, job.plan, sink, job.environment, job.checkpoint / "sinks")
    query = (
        _result(job, sink, frames)
        .writeStream.foreachBatch(sinks.write)
        .option("checkpointLocation", str(job.checkpoint / "spark"))
        .trigger(availableNow=True)
        .queryName(job.program.application.name)
        .start()
    )
    return query, sinks


def _result(job: Job, sink: int | None, frames: dict[int, DataFrame]) -> DataFrame:
    """What reaches the driver: all that leads to the sinks, and the PEs whose tuples nobody takes."""
    ends = [
        pe.index
        for pe in job.plan.pes
        if (pe.role != "sink" and {e.consumer for e in job.plan.out_of(pe.index)} <= {sink})
        or any(e.consumer == sink for e in job.plan.out_of(pe.index))
    ]
    return reduce(_union, (frames[i] for i in ends))


def _source(spark: SparkSession, job: Job, pe: PE, pickled: Path) -> DataFrame:
    return (
        spark.readStream.format(FORMAT)
        .option("program", str(pickled))
        .option("pe", str(pe.index))
        .option("log", str(job.checkpoint / "sources" / str(pe.index)))
        .option("turns_per_batch", str(job.turns_per_batch))
        .load()
    )


def _pe(job: Job, pe: PE, frames: dict[int, DataFrame], pickled: Path) -> DataFrame:
    entering = _entering(job, pe, frames)
    if pe.role == "stateful":
        grouped = entering.withColumn("channel", F.lit(0)).groupBy("channel")
        processor = StatefulPE(str(pickled), pe.index)
        made = grouped.transformWithStateInPandas(processor, SPARK_SCHEMA, "Append", "None")
    else:
        made = entering.coalesce(1).mapInArrow(stateless_pe(str(pickled), pe.index), SPARK_SCHEMA)
    consumers = {e.consumer for e in job.plan.out_of(pe.index)}
    # Consumers that differ only above an exchange share it, so that the PE runs once however many there are.
    return made.repartition(1) if len(consumers) > 1 else made


def _entering(job: Job, pe: PE, frames: dict[int, DataFrame]) -> DataFrame:
    producers = dict.fromkeys(e.producer for e in job.plan.into(pe.index))
    return reduce(_union, (frames[p] for p in producers))


def _union(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.unionAll(right)
