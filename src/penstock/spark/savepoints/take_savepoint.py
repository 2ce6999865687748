"""Takes a savepoint of a stopped job from its checkpoint.

Introduction:
    A savepoint stands between two batches. A job that was killed may have begun a batch, and sinks may have committed
    it already; another plan, with batches of another size, would make another batch of that number. So what has been
    begun is finished first, by the plan that began it, which lies in the checkpoint with its code.

Formulation:
    Where Spark reads sources by itself, one batch at a time is finished, and no more of theirs is read.

    Finished means: all that is in Spark's log of offsets is committed, and all rows that the sources have given, which
    may be lost to them, are processed. Extents that were planned ahead are forgotten: they can be planned again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import read_sealed
from penstock.base.plain_pickle import load_plain
from penstock.compiler.open_loops import has_open_loop
from penstock.compiler.resuming import read_record
from penstock.ir.graph import Application
from penstock.runtime.savepoints.collect_state import collect_state
from penstock.runtime.savepoints.job_state import JobState
from penstock.runtime.savepoints.program_changes import describe_program
from penstock.runtime.savepoints.savepoint_files import Savepoint
from penstock.runtime.sources.outside_rows import own_sources
from penstock.runtime.sources.rounds import rounds_folder
from penstock.spark.checkpoint.inspection import inspect_checkpoint
from penstock.spark.checkpoint.lock import CheckpointLock
from penstock.spark.checkpoint.plan_record import BEGAN, FOLLOWS
from penstock.spark.checkpoint.spark_files import FOLDER
from penstock.spark.gate.gating import STARTED
from penstock.spark.job.query import Job
from penstock.spark.savepoints.outside_positions import Positions, outside_operators, read_positions, refuse_bound
from penstock.spark.savepoints.stored_state import read_gate_state, read_pes
from penstock.spark.sinks.sink_pe import JOB_ID, SINKS_STATE
from penstock.spark.sources.data_source import load_job
from penstock.spark.sources.log import SourceLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Finish = Callable[[Job], object]
"""Runs a job until it has nothing more to do."""

PROGRAM = "program.pickle"

_OF_PROGRAM = ("application", "graph", "open_loop", "gate", "python", "code")
"""What a savepoint keeps of the record of its plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Position:
    """How far a job has come by Spark's logs.

    Attributes:
        done: How many batches of this plan are committed.
        begun: How many it has begun.
        planned: The number of the next batch of the sources' log.
    """

    done: int
    begun: int
    planned: int


def take_savepoint(
    spark: SparkSession, checkpoint: Path, lock: CheckpointLock, finish: Finish | None
) -> tuple[Savepoint, Application]:
    """A savepoint of the job that a checkpoint belongs to, and the program that ran; the caller holds the lock.

    Args:
        spark: The session.
        checkpoint: The job's folder.
        lock: On it.
        finish: Runs a job until it has nothing more to do; without it what the job has begun is left out.

    Raises:
        UserError: There is no job, its checkpoint is damaged, or it reads what can begin nowhere else.
    """
    record = read_record(checkpoint)
    if record is None or not (checkpoint / PROGRAM).exists():
        raise UserError(f"no job has run with the checkpoint `{checkpoint}`")
    (program, plan, environment), build = load_job(str(checkpoint / PROGRAM))
    refuse_bound(program.application)
    first: int = record.get("first_batch", 0)
    began: Positions = record.get(BEGAN, {})
    has_log, is_outside = bool(own_sources(plan)), bool(outside_operators(plan))
    inspect_checkpoint(checkpoint, has_log=has_log, first_batch=first)
    log = SourceLog(checkpoint / "sources")
    position = _position(checkpoint / FOLDER, first)
    while finish is not None and (position.begun > position.done or _has_rows(log, position.planned)):
        finish(
            Job(
                program=program,
                plan=plan,
                build=build,
                environment=environment,
                checkpoint=checkpoint,
                lock=lock,
                first_batch=first,
                follows=record.get(FOLLOWS, False),
                plans=False,
                once=is_outside,
                began=began,
            )
        )
        position = _position(checkpoint / FOLDER, first)
    batch = first + position.done
    positions = read_positions(checkpoint / FOLDER, plan, position.done, began)
    described = {name: record[name] for name in _OF_PROGRAM} | {"operators": describe_program(program.application)}
    engine = _engine_notes(checkpoint, program.application, batch)
    if not batch:
        empty = JobState(application=program.application.name, batch=0, groups=plan.groups)
        return Savepoint(state=empty, program=described, engine=engine, positions=positions), program.application
    gate = read_gate_state(spark, checkpoint, plan, environment, is_first=not position.done)
    if gate is not None:
        engine["gate"] = gate
    state = collect_state(
        plan,
        build.pieces,
        sources=log.state(position.planned) if has_log else None,
        pes=read_pes(spark, checkpoint, plan, is_first=not position.done, first_batch=first),
        sinks=load_plain(read_sealed(checkpoint / "sinks" / f"{batch - 1:020d}.state", SINKS_STATE), SINKS_STATE),
        batch=batch,
        has_ended=has_log and log.planned_batch(position.planned - 1).has_ended,
    )
    return Savepoint(state=state, program=described, engine=engine, positions=positions), program.application


def _position(folder: Path, first: int) -> _Position:
    begun, done = (_count(folder / name) for name in ("offsets", "commits"))
    planned = first
    if done:
        lines = (folder / "offsets" / str(done - 1)).read_text(encoding="utf-8").splitlines()
        ours = [json.loads(line) for line in lines[2:] if line.startswith("{")]
        planned = next((line["batch"] for line in ours if line.keys() == {"batch", "ended"}), first)
    return _Position(done=done, begun=begun, planned=planned)


def _count(folder: Path) -> int:
    names = [path.name for path in folder.iterdir()] if folder.exists() else []
    return 1 + max((int(name) for name in names if name.isdecimal()), default=-1)


def _has_rows(log: SourceLog, number: int) -> bool:
    """Whether a batch was planned whose rows are nowhere else."""
    batch = log.batch(number)
    return batch is not None and batch.rows is not None


def _engine_notes(checkpoint: Path, application: Application, batch: int) -> dict[str, Any]:
    """What a checkpoint holds beside the state: the id of the job, its start, and what goes round its loop."""
    notes: dict[str, Any] = {}
    if (checkpoint / "sinks" / JOB_ID).exists():
        notes["job"] = read_sealed(checkpoint / "sinks" / JOB_ID, "the id of the job")
    if (checkpoint / STARTED).exists():
        notes["started"] = read_sealed(checkpoint / STARTED, "the start of the job")
    if has_open_loop(application) and batch:
        path = rounds_folder(checkpoint / "sinks") / f"{batch - 1:020d}.arrow"
        notes["round"] = path.read_bytes()
    return notes
