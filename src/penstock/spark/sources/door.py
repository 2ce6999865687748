"""Spark's door to a stream of rows of the transport, small enough to be carried around.

Spark unpickles the class of a Python data source in several processes for each query, and only one of them goes on to
read. This class is pickled by value and imports the reader when it is asked for one, so the others import nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader
from pyspark.sql.types import StructType

from penstock.codegen.transport.batches import SPARK_SCHEMA
from penstock.spark.sources.admission import check_admission


def register_door(spark: SparkSession, format_: str, reader: type[DataSourceStreamReader]) -> None:
    """Let a session find a reader under a name.

    Spark looks for another source of this name in the session that is active in this thread, not in this one, and takes
    what a parent has registered for one of its own formats. So this one is made active meanwhile.

    Raises:
        UserError: This Spark has not what our readers need.
    """
    check_admission()
    with _active(spark):
        spark.dataSource.register(source_door(format_, reader.__module__, reader.__name__))


@contextmanager
def _active(spark: SparkSession) -> Iterator[None]:
    """What Spark does in this thread concerns this session."""
    sessions: Any = spark._jvm.org.apache.spark.sql.classic.SparkSession  # type: ignore[union-attr]
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def source_door(format_: str, module: str, reader: str) -> type[DataSource]:
    """A class for `spark.dataSource.register`; being local to a function, it is pickled by value.

    Args:
        format_: The name under which it is registered.
        module: Where the class of the reader is.
        reader: Its name; it is made with the options of the stream.
    """
    columns = SPARK_SCHEMA

    class Door(DataSource):
        """The data source, which gives Spark a schema and a reader."""

        @classmethod
        def name(cls) -> str:
            """The format under which it is registered."""
            return format_

        def schema(self) -> str:
            """Rows of the transport."""
            return columns

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:
            """The reader of a stream."""
            made: DataSourceStreamReader = getattr(import_module(module), reader)(dict(self.options))
            return made

    return Door
