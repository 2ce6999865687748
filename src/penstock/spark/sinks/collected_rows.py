"""The rows of a batch on their way to the driver, as Arrow, each partition as soon as it is there.

`DataFrame.toArrow` would hold the whole batch in memory before we see the first row; here the caller sees the rows of a
partition while Spark still works on the others. The order of partitions is that of their arrival.

What tasks send passes through the memory of the driver's JVM, so a task with many rows sends a part of them and writes
the others to a file (`large_results`). Where Spark ends a job nevertheless, because its tasks together would send more
than `spark.driver.maxResultSize`, the batch is computed again, and all rows go to files; so do those of the batches
that follow.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors.exceptions.captured import unwrap_spark_exception
from pyspark.sql.pandas.serializers import ArrowStreamSerializer
from pyspark.util import _load_from_socket

from penstock.codegen.transport.batches import ROWS_FILE
from penstock.spark.sinks.large_results import read_spilled

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


Rows = Iterable[tuple[int, bytes]]
"""Edges and IPC streams."""

_LIMIT = "spark.driver.maxResultSize"


class RowsOfBatches:
    """Brings the rows of batch after batch to the driver.

    Args:
        folder: Where large batches may lie while they are read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._are_large = False

    def hand_to(self, write: Callable[[Rows], None], frame: DataFrame) -> None:
        """Call a function with the rows of a batch; again, if they turn out to be too many to be sent.

        Args:
            write: Takes all rows before it does anything with them.
            frame: The batch.
        """
        if not self._are_large:
            try:
                with self._emptied():
                    write(rows_of(frame))
                return
            except Exception as error:
                if _LIMIT not in str(error):
                    raise
                self._are_large = True
        with self._emptied():
            self._folder.mkdir(parents=True)
            write(_rows_by_files(frame, self._folder))

    @contextmanager
    def _emptied(self) -> Iterator[None]:
        shutil.rmtree(self._folder, ignore_errors=True)
        try:
            yield
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def _rows_by_files(frame: DataFrame, folder: Path) -> Iterator[tuple[int, bytes]]:
    """The pairs of a batch; each task writes a file, and tells its name."""
    place = str(folder)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next(batches, None)
        if first is None:
            return
        name = f"{place}/{uuid.uuid4().hex}.arrow"
        with pa.OSFile(name, "wb") as file, pa.ipc.new_stream(file, first.schema) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)
        yield pa.record_batch({"file": [name]})

    for row in frame.select("edge", "tuples").mapInArrow(write, "file string").collect():
        with pa.OSFile(row["file"]) as file:
            for batch in pa.ipc.open_stream(file):
                yield from _pairs(batch)
        Path(row["file"]).unlink()


def _pairs(batch: pa.RecordBatch) -> Iterator[tuple[int, bytes]]:
    for edge, value in zip(batch.column("edge").to_pylist(), batch.column("tuples").to_pylist(), strict=True):
        if edge == ROWS_FILE:
            for spilled in read_spilled(value):
                yield from _pairs(spilled)
        else:
            yield edge, value


def rows_of(frame: DataFrame) -> Iterator[tuple[int, bytes]]:
    """The (edge, IPC stream) pairs of a batch; those of one partition come together and in order."""
    jframe: Any = frame._jdf
    port, secret, server = jframe.collectAsArrowToPython()
    try:
        with _load_from_socket((port, secret), _AsTheyCome()) as batches:
            for batch in batches:
                yield from _pairs(batch)
    finally:
        # What failed in the JVM is raised here, in its own words.
        with unwrap_spark_exception():
            server.getResult()
