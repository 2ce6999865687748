"""Lets a job go on with another plan, or from a savepoint: what happens before a query starts.

    a new checkpoint, and a savepoint is given     the job begins with it
    a checkpoint of another plan                   its savepoint is taken, and the job goes on with that
    a checkpoint of this plan                      nothing

From the moment at which a savepoint is complete until the record of the new plan is written, the record of the
checkpoint says `switching`, and where the savepoint lies. A job that is killed in between begins there again, with
whatever plan it then has.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.compiler.resuming import RECORD, read_record
from penstock.runtime.savepoints.program_changes import fit_savepoint
from penstock.runtime.savepoints.savepoint_files import HEAD, Savepoint, read_savepoint, write_savepoint
from penstock.spark.checkpoint.lock import CheckpointLock
from penstock.spark.checkpoint.plan_record import (
    FOLLOWS,
    SWITCHING,
    compare_code,
    has_other_plan,
    record_of,
    refuse_other_program,
    refuse_remains,
    write_record,
)
from penstock.spark.checkpoint.spark_files import FOLDER
from penstock.spark.savepoints.apply_savepoint import Target, apply_savepoint
from penstock.spark.savepoints.take_savepoint import PROGRAM, Finish, take_savepoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN = "savepoint"
"""The folder under a checkpoint with the savepoint of the plan before, while it is needed."""

FROM, SECONDS = "from", "switch_seconds"
"""Notes in the record of a plan: the savepoint that a job began with, and how long the last change of plans took."""


def switch_plan(
    spark: SparkSession,
    target: Target,
    code: Mapping[str, str],
    checkpoint: Path,
    lock: CheckpointLock,
    *,
    finish: Finish,
    start: Path | None = None,
    accept_changed_code: bool = False,
    allow_dropped_state: bool = False,
    notice: Callable[[str], None] = print,
) -> dict[str, float]:
    """Bring a checkpoint to a plan; the caller holds the lock.

    Args:
        spark: The session.
        target: What is to run.
        code: The fingerprint of each operator that is written in Python.
        checkpoint: The job's folder.
        lock: On it.
        finish: Runs a job until it has nothing more to do.
        start: The savepoint to begin with, if the checkpoint is new.
        accept_changed_code: Whether code of operators with state may have changed.
        allow_dropped_state: Whether state may be dropped of operators that are gone, or are others now.
        notice: Is told what happens.

    Returns:
        The seconds of each phase; nothing if there was nothing to do.

    Raises:
        UserError: State cannot be carried over, or the checkpoint has another job already.
    """
    theirs, began = read_record(checkpoint), time.perf_counter()
    phases: dict[str, float] = {}
    if theirs is None:
        if start is None:
            return {}
        refuse_remains(checkpoint)
        theirs = {SWITCHING: str(start.absolute()), FROM: str(start.absolute())}
        savepoint = read_savepoint(start)
    elif SWITCHING in theirs:
        savepoint = read_savepoint(checkpoint / theirs[SWITCHING])
    else:
        _refuse_another_start(theirs, start, checkpoint)
        if not has_other_plan(theirs, record_of(target.plan, code)):
            return {}
        if not _has_run(checkpoint):
            # It was ended before it began, so there is nothing to go on from.
            (checkpoint / RECORD).unlink()
            return {}
        savepoint = _take(spark, checkpoint, lock, finish)
        phases["savepoint"] = time.perf_counter() - began
        theirs = {**theirs, SWITCHING: OWN}
    mine = record_of(target.plan, code)
    refuse_other_program(savepoint.program, mine, checkpoint)
    compare_code(checkpoint, target.plan.application, savepoint.program, mine, accept_changed_code, notice)
    savepoint = fit_savepoint(
        savepoint, target.program, f"the checkpoint `{checkpoint}`", allowed=allow_dropped_state, notice=notice
    )
    phases["deal out"] = _deal_out(savepoint, target, code, checkpoint, theirs)
    write_record(checkpoint, {**(read_record(checkpoint) or {}), SECONDS: phases})
    notice(f"going on from batch {savepoint.state.batch} with another plan: {_describe(phases)}")
    return phases


def _has_run(checkpoint: Path) -> bool:
    """Whether there is anything of the job of a checkpoint but its record: its program comes before all else."""
    return any((checkpoint / name).exists() for name in (PROGRAM, FOLDER, "sinks", "sources"))


def _deal_out(
    savepoint: Savepoint, target: Target, code: Mapping[str, str], checkpoint: Path, theirs: Mapping[str, Any]
) -> float:
    """Give the state of a savepoint to the PEs of a plan, while the record still says `switching`; the seconds."""
    began = time.perf_counter()
    notes = {name: theirs[name] for name in (FROM, FOLLOWS) if name in theirs}
    apply_savepoint(savepoint, target, code, checkpoint, meanwhile=theirs, notes=notes)
    shutil.rmtree(checkpoint / OWN, ignore_errors=True)
    return time.perf_counter() - began


def _take(spark: SparkSession, checkpoint: Path, lock: CheckpointLock, finish: Finish) -> Savepoint:
    """A savepoint of the job, stored under its checkpoint."""
    folder = checkpoint / OWN
    shutil.rmtree(folder, ignore_errors=True)
    savepoint, application = take_savepoint(spark, checkpoint, lock, finish)
    write_savepoint(savepoint, application, folder)
    return read_savepoint(folder)


def _refuse_another_start(theirs: Mapping[str, Any], start: Path | None, checkpoint: Path) -> None:
    if start is not None and theirs.get(FROM) != str(start.absolute()):
        raise UserError(
            f"the checkpoint `{checkpoint}` has a job already, which did not begin with `{start / HEAD}`",
            hint="name a new folder with --checkpoint, or leave --from out to resume the job",
        )


def _describe(phases: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {seconds:.2f} s" for name, seconds in phases.items())
