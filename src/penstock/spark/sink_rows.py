"""The rows of a batch on their way to the driver, as Arrow, each partition as soon as it is there.

`DataFrame.toArrow` would hold the whole batch in memory before we see the first row; here the caller sees the rows of a
partition while Spark still works on the others. The order of partitions is that of their arrival.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors.exceptions.captured import unwrap_spark_exception
from pyspark.sql.pandas.serializers import ArrowStreamSerializer
from pyspark.util import _load_from_socket

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class _AsTheyCome(ArrowStreamSerializer):
    """Reads what the JVM sends: batches in the order of their arrival, then their right order, which we do not need."""

    def load_stream(self, stream: IO[bytes]) -> Iterator[pa.RecordBatch]:
        yield from super().load_stream(stream)
        count = _int(stream)
        if count == -1:
            raise RuntimeError(stream.read(_int(stream)).decode())
        for _ in range(count):
            _int(stream)


def _int(stream: IO[bytes]) -> int:
    return int.from_bytes(stream.read(4), signed=True)


def rows_of(frame: DataFrame) -> Iterator[tuple[int, bytes]]:
    """The (edge, IPC stream) pairs of a batch; those of one partition come together and in order."""
    jframe: Any = frame._jdf
    port, secret, server = jframe.collectAsArrowToPython()
    try:
        with _load_from_socket((port, secret), _AsTheyCome()) as batches:
            for batch in batches:
                edges, values = batch.column("edge"), batch.column("tuples")
                yield from zip(edges.to_pylist(), values.to_pylist(), strict=True)
    finally:
        # What failed in the JVM is raised here, in its own words.
        with unwrap_spark_exception():
            server.getResult()
