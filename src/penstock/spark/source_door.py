"""Spark's door to the sources of a job, small enough to be carried around.

Spark unpickles the class of a Python data source in several processes for each query, and only one of them goes on to
read. This class is pickled by value and imports the reader when it is asked for one, so the others import nothing.
"""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceStreamReader
from pyspark.sql.types import StructType

from penstock.codegen.transport import SPARK_SCHEMA
from penstock.spark.sources import FORMAT


def source_door() -> type[DataSource]:
    """A class for `spark.dataSource.register`; being local to a function, it is pickled by value."""
    format_, columns = FORMAT, SPARK_SCHEMA

    class Door(DataSource):
        """What Spark asks for a schema and a reader."""

        @classmethod
        def name(cls) -> str:
            """The format under which it is registered."""
            return format_

        def schema(self) -> str:
            """Rows of the transport."""
            return columns

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:
            """The reader of a stream."""
            from penstock.spark.sources import SourceReader

            return SourceReader(dict(self.options))

    return Door
