"""A savepoint as the start of a run in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock.compiler import CompiledJob
from penstock.runtime.savepoints.job_state import JobState
from penstock.runtime.savepoints.program_changes import fit_savepoint
from penstock.runtime.savepoints.savepoint_files import read_savepoint
from penstock.spark.checkpoint.code_fingerprint import fingerprint_code
from penstock.spark.checkpoint.plan_record import compare_code, record_of, refuse_other_program


def read_start(
    job: CompiledJob,
    folder: Path,
    *,
    accept_changed_code: bool,
    allow_dropped_state: bool,
    notice: Callable[[str], None],
) -> JobState:
    """The state of a savepoint, for a job that is to go on from it.

    Args:
        job: What is to run.
        folder: Of the savepoint.
        accept_changed_code: Whether code of operators with state may have changed.
        allow_dropped_state: Whether state may be dropped of operators that are gone, or are others now.
        notice: Is told what has changed.

    Raises:
        UserError: It is no savepoint, or one of another program, or of one that has changed too much.
    """
    savepoint = read_savepoint(folder)
    mine = record_of(job.plan, fingerprint_code(job.program))
    refuse_other_program(savepoint.program, mine, folder)
    compare_code(folder, job.plan.application, savepoint.program, mine, accept_changed_code, notice)
    what = f"the savepoint `{folder}`"
    return fit_savepoint(savepoint, job.program, what, allowed=allow_dropped_state, notice=notice).state
