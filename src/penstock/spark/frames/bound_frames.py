"""DataFrames in other sessions than those that they were made in.

A plan of Spark's belongs to no session; a DataFrame does, and its queries run with the settings of that session. What
our plans need is set in a clone of the user's session, which has the settings, views and functions of the original,
and the user's own session stays as it is. Cloning, and moving a plan, are private interfaces of Spark's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def bind(frame: DataFrame, session: SparkSession) -> DataFrame:
    """The same DataFrame in another session of the same context."""
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

    plan = frame._jdf.queryExecution().logical()
    datasets: Any = session._jvm.org.apache.spark.sql.classic.Dataset  # type: ignore[union-attr]
    return ClassicDataFrame(datasets.ofRows(session._jsparkSession, plan), session)


def session_with(session: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """The session, if it has these settings, or else a clone of it that has."""
    if all(session.conf.get(name, None) == value for name, value in settings.items()):
        return session
    from pyspark.sql import SparkSession

    clone = SparkSession(session.sparkContext, session._jsparkSession.cloneSession())
    for name, value in settings.items():
        clone.conf.set(name, value)
    return clone


def check_frame(name: str, frame: Any) -> None:
    """Refuse what is no DataFrame that can be transformed.

    Raises:
        UserError: It is none.
    """
    module = type(frame).__module__
    if module.startswith("pyspark.sql.connect"):
        hint = "make the session without `remote`"
        raise UserError(f"the input `{name}` is a DataFrame of Spark Connect, whose plans lie elsewhere", hint=hint)
    if not module.startswith("pyspark.sql") or not hasattr(frame, "mapInArrow"):
        raise UserError(f"the input `{name}` is a DataFrame of Spark, found {type(frame).__name__}")
