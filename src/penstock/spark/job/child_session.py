"""The Spark session that a run gets from Python: a child of the user's, or of ours.

A child session shares the context, and so the cluster, with its parent, but has SQL settings of its own. What a job
relies on is set there; the user's session keeps its settings. What belongs to the context (the daemon of Python
workers, the memory of the driver) only makes a job faster, and is left as it is.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from pyspark.sql import SparkSession

from penstock.base.diagnostics import UserError
from penstock.spark.job.session import job_settings, open_session


def find_session(given: Any, master: str) -> SparkSession:
    """A session to run a job in.

    Args:
        given: The user's session; without it the one that there is, or else a new one.
        master: Of a new one.

    Raises:
        UserError: It is no session that a job can run in; there is no Java, or no such master.
    """
    found: Any = given if given is not None else SparkSession._instantiatedSession
    if found is None or (given is None and _is_stopped(found)):
        return open_session(master)
    _check(found)
    child: SparkSession = found.newSession()
    for name, value in job_settings(str(found.sparkContext.master)).items():
        child.conf.set(name, value)
    return child


def _check(session: Any) -> None:
    if type(session).__module__.startswith("pyspark.sql.connect"):
        hint = "give one that is made without `remote`, or leave `spark` out"
        raise UserError("a session of Spark Connect cannot run Penstock's jobs, which hold their sinks here", hint=hint)
    if not hasattr(session, "newSession"):
        raise UserError(f"`spark` is a SparkSession, found {session!r}")
    if _is_stopped(session):
        raise UserError("the Spark session has been stopped", hint="make a new one, or leave `spark` out")
    _check_python(session.sparkContext)


def _check_python(context: Any) -> None:
    """See that the workers of a session on this machine have what they need; they would fail without saying so."""
    python = context.pythonExec
    if python == sys.executable or not str(context.master).startswith("local"):
        return
    asks = f"import sys, penstock; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    try:
        has_all = subprocess.run([python, "-c", asks], capture_output=True, check=False).returncode == 0
    except OSError:
        has_all = False
    if not has_all:
        message = (
            f"the workers of this session run `{python}`, in which there is no Penstock for this version of Python"
        )
        hint = f"set PYSPARK_PYTHON={sys.executable} in the environment before the session is made"
        raise UserError(message, hint=hint)


def _is_stopped(session: Any) -> bool:
    return getattr(session.sparkContext, "_jsc", None) is None
