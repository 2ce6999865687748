"""Builds the query of a job: sources, then the PEs one behind the other, and one `foreachBatch` for all sinks.

The PEs stand in one line, in an order in which every edge leads forward. A PE takes the rows of its own edges and
passes the others on untouched. So a stream with several subscribers needs no second plan for each of them, which Spark
would compute again from the source up to there (it shares an exchange between branches only if no stateful operator
stands below it), and every operator runs once for each tuple whatever the number of sinks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.codegen.build import Build
from penstock.codegen.plan.physical import PE, PhysicalPlan
from penstock.codegen.transport.batches import SPARK_SCHEMA
from penstock.compiler.open_loops import has_open_loop
from penstock.expr.environment import Environment
from penstock.runtime.ingest.ingest_limit import Throttle
from penstock.runtime.sinks.task_parts import TaskSinks
from penstock.runtime.sinks.writer import Totals
from penstock.runtime.sources.batch_size import TURNS_PER_BATCH
from penstock.runtime.sources.by_columns import is_read_by_columns
from penstock.runtime.sources.channel_parts import channels_of_source
from penstock.runtime.sources.outside_rows import own_sources
from penstock.runtime.sources.rounds import rounds_folder
from penstock.runtime.sources.waiting import has_gate
from penstock.spark.checkpoint.lock import CheckpointLock
from penstock.spark.checkpoint.plan_record import clear_false_start
from penstock.spark.checkpoint.spark_files import FOLDER as SPARK_FOLDER
from penstock.spark.checkpoint.spark_files import SparkFiles
from penstock.spark.gate.gating import with_gate
from penstock.spark.job.hadoop_paths import hadoop_path
from penstock.spark.job.layout import Layout, lay_out, run_with_state
from penstock.spark.job.outside_sources import outside_source
from penstock.spark.job.program_file import program_path, ship_program
from penstock.spark.job.resizing import Resizer
from penstock.spark.job.session import cores_of
from penstock.spark.placement.job_status import JobStatus
from penstock.spark.placement.placement_settings import PlacementSettings
from penstock.spark.placement.placer import Placer
from penstock.spark.savepoints.rescale_requests import write_request
from penstock.spark.sinks.sink_pe import LARGE, Committing, SinkPE
from penstock.spark.sinks.task_sinks import spilling, writing
from penstock.spark.sources.data_source import FORMAT, SourceReader, dump, plan_ahead
from penstock.spark.sources.door import register_door
from penstock.spark.sources.log import SourceLog
from penstock.spark.sources.reading_pe import pe_of_reading_tasks
from penstock.spark.workers.channel_state import files_of
from penstock.spark.workers.initial_state import INITIAL
from penstock.spark.workers.instances import stateless_pe
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LONGEST_NAME = 80


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
        inputs: The streams of Spark that the program takes, by name.
        once: Whether one batch is processed, the one that was begun if there is one, and nothing more.
        state_limit: How many bytes of state a channel may hold.
        began: Where the sources stood that Spark reads by itself, before the first batch of Spark's own checkpoint.
        is_metered: Whether tasks tell what they send, and where they run.
        is_timed: Whether the run is to stop after some time.
        placement: Where its tasks are to run.
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
    inputs: Mapping[str, DataFrame] = field(default_factory=dict)
    once: bool = False
    state_limit: int | None = None
    began: Mapping[str, Any] = field(default_factory=dict)
    is_timed: bool = False
    is_metered: bool = True
    placement: PlacementSettings = field(default_factory=PlacementSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A query that runs.

    Attributes:
        query: Spark's own.
        sinks: Where its batches go.
        throttle: What holds its sources back.
        files: The folder on this machine where workers keep the files of its state.
        status: Tells what runs where.
        resizer: Brings its cores to the number that it shall have.
        pe_seconds: The processor time of each PE so far.
    """

    query: StreamingQuery
    sinks: SinkPE
    throttle: Throttle
    files: Path
    status: JobStatus
    resizer: Resizer
    pe_seconds: Mapping[int, float]


def start(spark: SparkSession, job: Job, notice: Callable[[str], None] = print) -> Started:
    """Start the query of a job; it ends when every source has ended, unless it is continuous."""
    folder = job.checkpoint / SPARK_FOLDER
    clear_false_start(folder)
    pickled = pickled_program(job)
    program = ship_program(spark, dump(job.program, job.plan, job.environment, job.build, pickled))
    job.build.write(job.checkpoint / "build")
    register_door(spark, FORMAT, SourceReader)
    spark.conf.set("spark.sql.shuffle.partitions", str(job.plan.channels))
    spark.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(_bytes_at_once(job.plan)))
    committing = _guard(job.lock, SparkFiles(folder))
    sinks = SinkPE(job.program, job.plan, job.environment, job.checkpoint / "sinks", committing, in_tasks=True)
    try:
        frame = _line(spark, job, program, sinks.in_tasks)
    except BaseException:
        sinks.close()
        raise
    throttle = Throttle(job.checkpoint, lambda: _ingested(job.plan, sinks.totals))
    placer = Placer(spark, job.plan, job.placement, notice, partial(write_request, job.checkpoint, None))
    try:
        placer.prepare()
    except BaseException:
        sinks.close()
        raise
    resizer = Resizer(spark, job.checkpoint, notice)
    pe_seconds: dict[int, float] = {}
    status = JobStatus(job.checkpoint, job.program.application.name, job.plan, job.placement, placer)

    def write(frame: DataFrame, number: int) -> None:
        batch = job.first_batch + number
        throttle.wait()
        resizer.between_batches()
        placer.before(batch)
        sinks.write(frame, batch)
        placer.after(batch, sinks.traffic)
        for task in sinks.traffic:
            pe_seconds[task.pe] = pe_seconds.get(task.pe, 0.0) + task.cpu_seconds
        status.after(batch, sinks.totals)

    writer = frame.writeStream.foreachBatch(write)
    if job.once:
        writer = writer.trigger(once=True)
    else:
        writer = writer.trigger(processingTime="0 seconds") if job.continuous else writer.trigger(availableNow=True)
    named = writer.option("checkpointLocation", hadoop_path(folder)).queryName(job.program.application.name)
    resizer.between_batches()
    query = named.start()
    placer.follow(query)
    files = files_of(program_path(program))
    return Started(
        query=query, sinks=sinks, throttle=throttle, files=files, status=status, resizer=resizer, pe_seconds=pe_seconds
    )


def _ingested(plan: PhysicalPlan, totals: Totals) -> int:
    """How many tuples the sources have given so far."""
    sources = [operator.id for operator in plan.application.operators if not operator.inputs]
    return sum(sum(totals.submitted.get(id_, ())) for id_ in sources)


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


def _line(spark: SparkSession, job: Job, program: str, sinks: TaskSinks) -> DataFrame:
    """The sources, and all other PEs one behind the other; of the sinks those that tasks write."""
    plan = job.plan
    channels = _channels_of_source(job)
    along = pe_of_reading_tasks(plan, channels, cores_of(spark), last_writes=bool(sinks.edges))
    last = next((pe for pe in reversed(plan.pes) if pe.role in ("stateful", "stateless")), None)
    large = str(job.checkpoint / "sinks" / LARGE)
    frame = reduce(_union, _sources(spark, job, program, _reading(channels, along, large if along is last else None)))
    if has_gate(plan.application):
        frame = with_gate(frame, spark, plan, job.environment, job.checkpoint, job.continuous or job.follows, job.began)
    layout = Layout.SPREAD if has_gate(plan.application) else Layout.SOURCES if channels is None else Layout.BY_CHANNEL
    for pe in plan.pes:
        if pe is along:
            continue
        if pe.role == "stateful":
            initial = job.checkpoint / INITIAL if job.first_batch else None
            mine = large if pe is last and not sinks.edges else None
            limit = job.state_limit
            frame = run_with_state(pe, frame, plan, program, initial, mine, limit, metered=job.is_metered)
            layout = Layout.SPREAD
        elif pe.role == "stateless":
            frame, layout = lay_out(pe, frame, layout, plan, channels is not None)
            process = stateless_pe(program, plan, pe.index, metered=job.is_metered)
            if pe is last:
                # The worker of the last PE writes, too, so that tuples need not cross once more.
                process = writing(sinks, job.first_batch, process) if sinks.edges else process
                return frame.mapInArrow(_named(spilling(process, large), pe), SPARK_SCHEMA)
            frame = frame.mapInArrow(_named(process, pe), SPARK_SCHEMA)
    return frame.mapInArrow(spilling(writing(sinks, job.first_batch), large), SPARK_SCHEMA) if sinks.edges else frame


def _named(process: Callable[..., Any], pe: PE) -> Callable[..., Any]:
    """A function that Spark's plans and pages call by the operators of its PE."""
    process.__name__ = f"PE_{pe.index}_{'_'.join(pe.operators)}"[:_LONGEST_NAME]
    return process


def _bytes_at_once(plan: PhysicalPlan) -> int:
    """How much of a crossing Spark gathers before Python gets it.

    Next to nothing where PEs overlap: a row with many tuples goes on at once, so that the next PE works on it while
    this one goes on. A stateful PE takes a batch as a whole.
    """
    overlap = any(pe.role == "stateless" for pe in plan.pes)
    return 1 << 16 if overlap else 1 << 23


def _channels_of_source(job: Job) -> int | None:
    """How many channels tasks of the source read for; None if what they read has to be routed."""
    channels = channels_of_source(job.plan)
    if channels is None or len(own_sources(job.plan)) != 1:
        return None
    (source,) = own_sources(job.plan)
    follows = job.continuous or job.follows
    if not is_read_by_columns(job.program, job.plan, source, job.environment.renewed(), follows=follows):
        return None
    # What was planned when it could not be read so is in the log.
    return channels if SourceLog(job.checkpoint / "sources").is_by_columns else None


def _reading(channels: int | None, along: PE | None, large: str | None) -> dict[str, str]:
    """The options that tell tasks of a source what they read for, and which PE they run."""
    options = {"channels": str(channels or 0)}
    if along is not None:
        options["along"] = str(along.index)
        options |= {} if large is None else {"large": large}
    return options


def _sources(spark: SparkSession, job: Job, program: str, reading: dict[str, str]) -> Iterator[DataFrame]:
    """The inputs of the query: each source that Spark reads itself, and one reader for all others."""
    for pe in job.plan.pes:
        outside = None if pe.role != "source" else _outside_source(spark, job, pe)
        if outside is not None:
            yield outside
    if own_sources(job.plan):
        options = {
            "program": str(pickled_program(job)),
            "shipped": program,
            "log": str(job.checkpoint / "sources"),
            "epoch": str(job.lock.epoch),
            "turns_per_batch": str(job.turns_per_batch),
            "continuous": str(job.continuous or job.follows).lower(),
            "first_batch": str(job.first_batch),
            "ended": str(int(job.has_ended)),
            "plans": str(job.plans).lower(),
            "metered": str(job.is_metered).lower(),
            "timed": str(job.is_timed).lower(),
            **reading,
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
        continuous=job.continuous or job.follows,
        began=job.began.get(pe.operators[0]),
        inputs=job.inputs,
    )


def _union(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.unionAll(right)
