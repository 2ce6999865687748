"""The Spark session that a run gets from Python: a child of the user's, or of ours.

A child session shares the context, and so the cluster, with its parent, but has SQL settings of its own. What a job
relies on is set there; the user's session keeps its settings. What belongs to the context (the daemon of Python
workers, the memory of the driver) only makes a job faster, and is left as it is.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from penstock.base.diagnostics import UserError
from penstock.spark.job.session import job_settings, open_session
from penstock.spark.workers.interpreter import check_python


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
    check_python(session.sparkContext)


def _is_stopped(session: Any) -> bool:
    return getattr(session.sparkContext, "_jsc", None) is None
