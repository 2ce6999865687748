"""Spark's door to a stream of rows of the transport, small enough to be carried around.

Spark unpickles the class of a Python data source in several processes for each query, and only one of them goes on to
read. This class is pickled by value and imports the reader when it is asked for one, so the others import nothing.
"""

from __future__ import annotations

from importlib import import_module

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader
from pyspark.sql.types import StructType

from penstock.codegen.transport.batches import SPARK_SCHEMA


def register_door(spark: SparkSession, format_: str, reader: type[DataSourceStreamReader]) -> None:
    """Let a session find a reader under a name.

    A session that Spark has cloned has what was registered in the one before it, and lets nobody register it again.
    """
    try:
        spark.dataSource.register(source_door(format_, reader.__module__, reader.__name__))
    except AnalysisException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


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
