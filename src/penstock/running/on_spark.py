"""Runs an application on Spark."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import PenstockError, UserError
from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.running.handle import Control, Outcome, Work
from penstock.running.inputs import streams_of
from penstock.running.options import RunOptions, goes_on, tell_warnings
from penstock.toolkit.core.program import Program


def prepare_on_spark(program: Program, options: RunOptions, environment: Environment) -> Work:
    """Open the session, at once; the job is compiled and run in the background.

    Raises:
        UserError: There is no session to run in.
    """
    from penstock.spark.checkpoint.lock import check_unlocked
    from penstock.spark.job.child_session import find_session

    if options.checkpoint is not None:
        check_unlocked(options.checkpoint)
    session = find_session(options.spark, options.master)

    def work(control: Control) -> Outcome:
        try:
            return _run(program, options, environment, session, control)
        except PenstockError:
            raise
        except Exception as error:
            raise _in_users_terms(error, session) from error

    return work


def _run(program: Program, options: RunOptions, environment: Environment, session: Any, control: Control) -> Outcome:
    from penstock.spark.job.rescaling import run_program
    from penstock.spark.job.session import cores_of
    from penstock.spark.measure.profiling import keep_profile_of, measure_shortly

    inputs = streams_of(options.inputs)
    compiling = Options(
        environment=environment,
        channels=options.channels,
        fusion=options.fusion,
        batch=options.batch,
        checkpoint=options.checkpoint,
        key_groups=options.key_groups,
        cores=cores_of(session),
        continuous=goes_on(program, environment, options),
        tell=tell_warnings,
        # A stream of Spark cannot be read for a while and then once more from its beginning.
        measure=None if inputs else partial(measure_shortly, spark=session),
    )
    with keep_state(options.checkpoint) as checkpoint:
        control.rescale = partial(ask_for_channels, checkpoint)
        job, outcome = run_program(
            program,
            compiling,
            session,
            checkpoint=checkpoint,
            on_progress=control.look,
            notice=tell_warnings,
            stops=lambda: control.stops,
            seconds=options.seconds,
            accept_changed_code=options.accept_changed_code,
            start_from=options.start_from,
            allow_dropped_state=options.allow_dropped_state,
            state_limit=options.state_limit,
            inputs=inputs,
        )
    keep_profile_of(job, outcome, program.application)
    return Outcome.of(outcome)


def ask_for_channels(
    checkpoint: Path, channels: int, is_over: Callable[[float], bool]
) -> tuple[dict[str, float], list[int]] | None:
    """Ask a run for other channels, and wait until it has them; None if it is over before.

    Args:
        checkpoint: Of the run.
        channels: How many.
        is_over: Waits for so many seconds, and tells whether the run is over.
    """
    from penstock.compiler.resuming import read_record
    from penstock.spark.savepoints.rescale_requests import LOOK_SECONDS, answer_to, drop_request, write_request

    while read_record(checkpoint) is None:
        # It has not begun.
        if is_over(LOOK_SECONDS):
            return None
    try:
        id_ = write_request(checkpoint, channels)
    except FileNotFoundError:  # the run is over, and its folder was for this run alone
        return None
    while "seconds" not in (answer := answer_to(checkpoint, id_)):
        if "refused" in answer:
            raise UserError(answer["refused"], hint="the run goes on as it was")
        if is_over(LOOK_SECONDS) and "seconds" not in (answer := answer_to(checkpoint, id_)):
            drop_request(checkpoint)
            return None
    return answer["seconds"], answer["channels"]


@contextmanager
def keep_state(checkpoint: Path | None) -> Iterator[Path]:
    """The folder that the state of a job is kept in: the one given, or else one that is gone after the run."""
    if checkpoint is not None:
        yield checkpoint
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "job"


def _in_users_terms(error: Exception, session: Any) -> Exception:
    """The error that Spark raised, without its Java where the user can do something about it."""
    text = str(error)
    if "No module named 'penstock'" in text or "PYTHON_VERSION_MISMATCH" in text:
        python = session.sparkContext.pythonExec
        message = f"the Python of Spark's workers, `{python}`, is not the one that runs this: {sys.executable}"
        hint = "set the environment variable PYSPARK_PYTHON to it before the session is made"
        return UserError(message, hint=hint)
    if type(error).__module__.startswith(("py4j", "pyspark")):
        return UserError(f"Spark has failed: {_first_line(error)}", hint="is its session still running?")
    return error


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if not line.startswith(("at ", "py4j"))), type(error).__name__)[:300]
