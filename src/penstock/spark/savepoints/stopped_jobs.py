"""The checkpoint of a job that does not run: looking into it, taking a savepoint, changing its channels."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.base.diagnostics import UserError
from penstock.codegen.build import Build
from penstock.compiler import Options, compile
from penstock.compiler.open_loops import has_open_loop
from penstock.compiler.resuming import read_record, resumed_plan
from penstock.ir.graph import Application
from penstock.runtime.savepoints.savepoint_files import Savepoint, read_savepoint, write_savepoint
from penstock.spark.checkpoint.lock import CheckpointLock, lock_checkpoint
from penstock.spark.checkpoint.plan_record import SWITCHING
from penstock.spark.job.run import finish_job
from penstock.spark.savepoints.apply_savepoint import Target
from penstock.spark.savepoints.switch_plan import switch_plan
from penstock.spark.savepoints.take_savepoint import PROGRAM, take_savepoint
from penstock.spark.sources.data_source import Loaded, load_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Notice = Callable[[str], None]


def save_job(spark: SparkSession, checkpoint: Path, folder: Path, notice: Notice = print) -> Savepoint:
    """Write a savepoint of a stopped job; what it has begun is finished first.

    Raises:
        UserError: There is no such job, it runs, or a savepoint cannot hold what it reads.
    """
    with _locked(checkpoint, notice) as lock:
        savepoint, application = _take(spark, checkpoint, lock, finishes=True)
        write_savepoint(savepoint, application, folder)
    return savepoint


def look_into_job(spark: SparkSession, checkpoint: Path, notice: Notice = print) -> tuple[Savepoint, Application]:
    """The state of a stopped job behind the last batch that is done, and its program; nothing is changed."""
    with _locked(checkpoint, notice) as lock:
        return _take(spark, checkpoint, lock, finishes=False)


def rescale_job(
    spark: SparkSession,
    checkpoint: Path,
    channels: int | None,
    notice: Notice = print,
    tables: Mapping[str, Sequence[int]] | None = None,
) -> tuple[dict[str, float], list[int]]:
    """Give a stopped job other channels, or other tables of key groups; without a number it keeps its channels.

    Returns:
        The seconds of each phase, and the channels of its PEs.

    Raises:
        UserError: There is no such job, it runs, or its state cannot be split.
    """
    began = time.perf_counter()
    with _locked(checkpoint, notice) as lock:
        target = _with_channels(checkpoint, channels, tables)
        record = read_record(checkpoint) or {}
        waited = time.perf_counter() - began
        phases = switch_plan(
            spark, target, record.get("code", {}), checkpoint, lock, finish=partial(finish_job, spark), notice=notice
        )
    return {"lock and compile": waited, **phases} if phases else {}, [pe.channels for pe in target.plan.pes]


def _with_channels(checkpoint: Path, number: int | None, tables: Mapping[str, Sequence[int]] | None) -> Target:
    """The job of a checkpoint, cut into the same PEs, on other channels or with other tables."""
    (program, plan, environment), _ = _load(checkpoint)
    application = program.application
    if has_open_loop(application):
        raise UserError(
            "a job whose loop leads through batches cannot be rescaled so",
            hint="run it with other --channels and its checkpoint",
        )
    if number is None:
        _, number = resumed_plan(application, checkpoint) or ((), None)
    options = Options(
        environment=environment,
        channels=number,
        pes=[pe.operators for pe in plan.pes],
        loops="inside",
        checkpoint=checkpoint,
        key_groups=plan.groups,
        tables=tables or None,
    )
    job = compile(program, options)
    return Target(program=program, plan=job.plan, build=job.build, environment=environment)


def _take(
    spark: SparkSession, checkpoint: Path, lock: CheckpointLock, *, finishes: bool
) -> tuple[Savepoint, Application]:
    record = read_record(checkpoint)
    if record is not None and SWITCHING in record:
        # Its last change of plans was not completed: this is where the next start begins.
        return read_savepoint(checkpoint / record[SWITCHING]), _load(checkpoint)[0][0].application
    return take_savepoint(spark, checkpoint, lock, partial(finish_job, spark) if finishes else None)


def _load(checkpoint: Path) -> tuple[Loaded, Build]:
    if not (checkpoint / PROGRAM).exists():
        raise UserError(f"no job has run with the checkpoint `{checkpoint}`")
    return load_job(str(checkpoint / PROGRAM))


@contextmanager
def _locked(checkpoint: Path, notice: Notice) -> Iterator[CheckpointLock]:
    if read_record(checkpoint) is None:
        raise UserError(f"`{checkpoint}` is not the checkpoint of a job")
    with lock_checkpoint(checkpoint, notice=notice) as lock:
        yield lock
