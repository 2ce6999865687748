"""Builds the query of a job: sources, then the PEs one behind the other, and one `foreachBatch` for all sinks.

The PEs stand in one line, in an order in which every edge leads forward. A PE takes the rows of its own edges and
passes the others on untouched. So a stream with several subscribers needs no second plan for each of them, which Spark
would compute again from the source up to there (it shares an exchange between branches only if no stateful operator
stands below it), and every operator runs once for each tuple whatever the number of sinks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark.sql.functions as F

from penstock.codegen.build import Build
from penstock.codegen.plan.physical import PE, PhysicalPlan, Route
from penstock.codegen.transport.batches import SPARK_SCHEMA
from penstock.compiler.open_loops import has_open_loop
from penstock.expr.environment import Environment
from penstock.runtime.sources.batch_size import TURNS_PER_BATCH
from penstock.runtime.sources.outside_rows import own_sources
from penstock.runtime.sources.rounds import rounds_folder
from penstock.runtime.sources.waiting import has_gate
from penstock.spark.checkpoint.lock import CheckpointLock
from penstock.spark.checkpoint.plan_record import clear_false_start
from penstock.spark.checkpoint.spark_files import FOLDER as SPARK_FOLDER
from penstock.spark.checkpoint.spark_files import SparkFiles
from penstock.spark.gate.gating import with_gate
from penstock.spark.job.outside_sources import outside_source
from penstock.spark.job.slots import channel_keys
from penstock.spark.sinks.sink_pe import Committing, SinkPE
from penstock.spark.sources.data_source import FORMAT, SourceReader, dump, plan_ahead
from penstock.spark.sources.door import register_door
from penstock.spark.workers.initial_state import INITIAL
from penstock.spark.workers.instances import stateless_pe
from penstock.spark.workers.stateful_door import stateful_door
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A program on its way to Spark.

    Attributes:
        program: The program to run.
        plan: How it is cut into PEs.
        build: Their code.
        environment: Of the program as it runs.
        checkpoint: Where Spark's checkpoint, the source logs and the sinks' state lie.
        lock: Held by us on the checkpoint.
        turns_per_batch: How many turns a source takes for one batch.
        continuous: Whether to wait for more where sources can have more.
        first_batch: The number of the first batch of Spark's own checkpoint: batches go on where another plan has
            stopped.
        has_ended: Whether all sources had ended before that one.
        follows: Whether what was planned was planned to wait for more, though this run does not.
        plans: Whether batches are planned; otherwise only those are processed that have been.
    """

    program: Program
    plan: PhysicalPlan
    build: Build
    environment: Environment
    checkpoint: Path
    lock: CheckpointLock
    turns_per_batch: int = TURNS_PER_BATCH
    continuous: bool = False
    first_batch: int = 0
    has_ended: bool = False
    follows: bool = False
    plans: bool = True


def start(spark: SparkSession, job: Job) -> tuple[StreamingQuery, SinkPE]:
    """Start the query of a job; it ends when every source has ended, unless it is continuous."""
    folder = job.checkpoint / SPARK_FOLDER
    clear_false_start(folder)
    pickled = pickled_program(job)
    dump(job.program, job.plan, job.environment, job.build, pickled)
    job.build.write(job.checkpoint / "build")
    register_door(spark, FORMAT, SourceReader)
    spark.conf.set("spark.sql.shuffle.partitions", str(job.plan.channels))
    spark.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(_bytes_at_once(job.plan)))
    frame = _line(spark, job, pickled)
    committing = _guard(job.lock, SparkFiles(folder))
    sinks = SinkPE(job.program, job.plan, job.environment, job.checkpoint / "sinks", committing)
    writer = frame.writeStream.foreachBatch(lambda frame, batch: sinks.write(frame, job.first_batch + batch))
    writer = writer.trigger(processingTime="0 seconds") if job.continuous else writer.trigger(availableNow=True)
    query = (
        # As a URI, because what a bare path means to Spark depends on its settings (`fs.defaultFS`).
        writer.option("checkpointLocation", folder.as_uri()).queryName(job.program.application.name).start()
    )
    return query, sinks


def pickled_program(job: Job) -> Path:
    """The file that workers load a job's program from."""
    return job.checkpoint / "program.pickle"


def _guard(lock: CheckpointLock, files: SparkFiles) -> Committing:
    """A context to write a batch in: the job still holds the checkpoint, and Spark's files are on the disk."""

    @contextmanager
    def committing(batch: int) -> Iterator[None]:
        with lock.committing():
            files.sync()
            yield

    return committing


def _line(spark: SparkSession, job: Job, pickled: Path) -> DataFrame:
    """The sources, and all other PEs but the sinks one behind the other."""
    plan = job.plan
    frame = reduce(_union, _sources(spark, job, pickled))
    if has_gate(plan.application):
        frame = with_gate(frame, spark, plan, job.environment, job.checkpoint, job.continuous)
    layout = Layout.SPREAD if has_gate(plan.application) else Layout.SOURCES
    for pe in plan.pes:
        if pe.role == "stateful":
            frame, layout = _stateful(pe, frame, job, pickled), Layout.SPREAD
        elif pe.role == "stateless":
            frame, layout = _laid_out(pe, frame, layout, plan)
            frame = frame.mapInArrow(stateless_pe(str(pickled), plan, pe.index), SPARK_SCHEMA)
    return frame


def _bytes_at_once(plan: PhysicalPlan) -> int:
    """How much of a crossing Spark gathers before Python gets it.

    Next to nothing where PEs overlap: a row with many tuples goes on at once, so that the next PE works on it while
    this one goes on. A stateful PE takes a batch as a whole.
    """
    overlap = any(pe.role == "stateless" for pe in plan.pes)
    return 1 << 16 if overlap else 1 << 23


class Layout(Enum):
    """How rows lie in partitions: as sources give them, all in one, by channel, or anyhow in several."""

    SOURCES = "as the sources give them"
    ONE = "in one partition"
    BY_CHANNEL = "by channel"
    SPREAD = "in several partitions"


def _laid_out(pe: PE, frame: DataFrame, layout: Layout, plan: PhysicalPlan) -> tuple[DataFrame, Layout]:
    """Bring the rows of each channel of a stateless PE together."""
    if pe.channels == 1:
        if plan.channels == 1 or layout in (Layout.SOURCES, Layout.ONE):
            return frame.coalesce(1), Layout.ONE
        # Not `coalesce`, which would let one task do the work of all channels.
        return frame.repartition(1), Layout.ONE
    if layout is Layout.BY_CHANNEL and all(edge.route is Route.SAME for edge in plan.into(pe.index)):
        return frame, layout
    return frame.repartitionById(plan.channels, F.col("channel")), Layout.BY_CHANNEL


def _stateful(pe: PE, frame: DataFrame, job: Job, pickled: Path) -> DataFrame:
    # Spark places groups by the hash of their key, so each channel has a key that is hashed to a partition of its own.
    keys = F.array(*(F.lit(key) for key in channel_keys(job.plan.channels)))
    grouped = frame.withColumn("slot", keys[F.col("channel")]).groupBy("slot")
    initial = job.checkpoint / INITIAL if job.first_batch else None
    processor = stateful_door(str(pickled), job.plan, pe.index, initial)
    return grouped.transformWithStateInPandas(processor, SPARK_SCHEMA, "Append", "None")


def _sources(spark: SparkSession, job: Job, pickled: Path) -> Iterator[DataFrame]:
    """The inputs of the query: each source that Spark reads itself, and one reader for all others."""
    for pe in job.plan.pes:
        outside = None if pe.role != "source" else _outside_source(spark, job, pe)
        if outside is not None:
            yield outside
    if own_sources(job.plan):
        options = {
            "program": str(pickled),
            "log": str(job.checkpoint / "sources"),
            "epoch": str(job.lock.epoch),
            "turns_per_batch": str(job.turns_per_batch),
            "continuous": str(job.continuous or job.follows).lower(),
            "first_batch": str(job.first_batch),
            "ended": str(int(job.has_ended)),
            "plans": str(job.plans).lower(),
        }
        if has_open_loop(job.program.application):
            options["rounds"] = str(rounds_folder(job.checkpoint / "sinks"))
        elif not job.continuous and job.plans:
            plan_ahead(job.program, job.plan, job.environment, options)
        yield spark.readStream.format(FORMAT).options(**options).load()


def _outside_source(spark: SparkSession, job: Job, pe: PE) -> DataFrame | None:
    return outside_source(
        spark,
        job.plan,
        pe.index,
        job.environment,
        job.checkpoint,
        items_per_batch=job.turns_per_batch,
        continuous=job.continuous,
    )


def _union(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.unionAll(right)
