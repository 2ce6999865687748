"""Writes messages to a Kafka topic, each exactly once, by the headers that it carries.

Spark's Kafka sink writes at least once. So every message says in its headers which job, which batch and which place in
the batch it is. Before a batch is written, the ends of the topic's partitions are noted under the checkpoint. A batch
that comes again finds its own note: then the topic is read from there, and what it holds of the batch is not written
again. All messages of a key are written by one task, in order, so what a partition holds of a key is the first of them,
and the rest follows in its place.

A task that Spark tries again does not write: it fails, and the driver first reads what the task before it has written.

When it does not apply:
    The writer that was interrupted must be dead when the batch is written again. An executor that outlives its driver,
    and writes on, can add messages twice; who reads the headers can tell. Consumers see messages of a batch before it
    is complete: there are no Kafka transactions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.base.durable_files import write_durably
from penstock.spark.job.session import active_session
from penstock.spark.kafka.connector import check_connector, ends_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

JOB, BATCH, POSITION = "penstock.job", "penstock.batch", "penstock.position"
SCHEMA = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("position", pa.string())])
SPARK_SCHEMA = "key binary, value binary, position string"
PER_WRITE = 100_000
BYTES_PER_WRITE = 64 << 20
"""How many messages, and bytes, are handed to Spark at a time."""
ATTEMPTS = 3


class TopicWriter:
    """Writes the batches of one sink to one topic.

    Args:
        topic: Its name.
        properties: Of the brokers, as Kafka's clients take them.
        job: What tells the job from all others.
        note: Where to note the ends of the topic.
    """

    def __init__(self, topic: str, properties: Mapping[str, str], job: str, note: Path) -> None:
        self._topic, self._properties, self._job, self._note = topic, properties, job, note
        self._batch = -1
        self._next = 0
        self._waiting: list[pa.RecordBatch] = []
        self._ends: dict[int, int] = {}
        self._there: frozenset[str] = frozenset()

    def begin(self, batch: int) -> None:
        """Note where the topic ends, or find out what it holds of a batch that has been begun before."""
        self._batch, self._next, self._waiting, self._there = batch, 0, [], frozenset()
        noted = _read_note(self._note)
        if noted is not None and noted[0] == batch:
            self._ends = noted[1]
            self._there = self._read_back()
        else:
            self._ends = ends_of(active_session(), self._topic, self._properties)
            _write_note(self._note, batch, self._ends)

    def add(self, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> None:
        """Add messages to the batch."""
        positions = pa.array([str(n) for n in range(self._next, self._next + len(values))], pa.string())
        columns = [pa.array(keys, pa.binary()), pa.array(values, pa.binary()), positions]
        self._waiting.append(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))
        self._next += len(values)
        rows, size = (sum(getattr(batch, what) for batch in self._waiting) for what in ("num_rows", "nbytes"))
        if rows >= PER_WRITE or size >= BYTES_PER_WRITE:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        table = pa.Table.from_batches(self._waiting, schema=SCHEMA)
        self._waiting = []

        def write_missing() -> None:
            there = pa.array(sorted(self._there), pa.string())
            missing = table.filter(pc.invert(pc.is_in(table.column("position"), there)))
            if missing.num_rows:
                self._write(missing)

        self._until_written(write_missing)

    def write_files(self, files: Mapping[str, Sequence[str]]) -> None:
        """Write messages that wait in files; those of one name by one task, in the order of their positions."""

        def write_missing() -> None:
            frames = [self._missing(active_session().read.schema(SPARK_SCHEMA).parquet(*f)) for f in files.values()]
            # No exchange, so no stage is ever run again: a task that is tried again can be told.
            ordered = [frame.coalesce(1).sortWithinPartitions("position") for frame in frames]
            self._save(reduce(lambda left, right: left.unionAll(right), ordered))

        if files:
            self._until_written(write_missing)

    def _missing(self, frame: DataFrame) -> DataFrame:
        if not self._there:
            return frame
        there = active_session().createDataFrame([(position,) for position in sorted(self._there)], "position string")
        return frame.join(there.hint("broadcast"), "position", "left_anti").select("key", "value", "position")

    def _until_written(self, write: Callable[[], None]) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                write()
                return
            except Exception:
                if attempt == ATTEMPTS:
                    raise
                self._there = self._read_back()

    def _write(self, table: pa.Table) -> None:
        self._save(active_session().createDataFrame(table).coalesce(1))

    def _save(self, frame: DataFrame) -> None:
        check_connector(active_session())
        made = frame.mapInArrow(_first_attempt_only, SPARK_SCHEMA)
        writer = made.selectExpr("key", "value", f"{self._headers()} AS headers").write.format("kafka")
        for name, value in self._properties.items():
            writer = writer.option(f"kafka.{name}", value)
        writer.option("topic", self._topic).option("includeHeaders", "true").save()

    def _headers(self) -> str:
        pairs = ((JOB, f"'{self._job}'"), (BATCH, f"'{self._batch}'"), (POSITION, "CAST(position AS STRING)"))
        structs = (f"named_struct('key', '{name}', 'value', CAST({value} AS BINARY))" for name, value in pairs)
        return f"array({', '.join(structs)})"

    def _read_back(self) -> frozenset[str]:
        """The positions of this batch whose messages the topic holds."""
        ends = ends_of(active_session(), self._topic, self._properties)
        if all(self._ends.get(partition, 0) >= end for partition, end in ends.items()):
            return frozenset()
        starts = {str(partition): min(self._ends.get(partition, 0), end) for partition, end in ends.items()}
        found: Any = _positions(self._tail(starts), self._job, self._batch).collect()
        return frozenset(row[0] for row in found)

    def _tail(self, starts: dict[str, int]) -> DataFrame:
        reader = active_session().read.format("kafka").option("subscribe", self._topic).option("includeHeaders", "true")
        for name, value in self._properties.items():
            reader = reader.option(f"kafka.{name}", value)
        return reader.option("startingOffsets", json.dumps({self._topic: starts})).load()


def _positions(frame: DataFrame, job: str, batch: int) -> DataFrame:
    named = "map_from_entries(transform(headers, h -> struct(h.key, CAST(h.value AS STRING))))"
    found = frame.where("headers IS NOT NULL").selectExpr(f"{named} AS named")
    mine = found.where(f"named['{JOB}'] = '{job}' AND named['{BATCH}'] = '{batch}'")
    return mine.selectExpr(f"named['{POSITION}']").distinct()


def _first_attempt_only(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        raise RuntimeError("the task before this one may have written messages; the driver has to look first")
    yield from batches


def _read_note(path: Path) -> tuple[int, dict[int, int]] | None:
    if not path.exists():
        return None
    read = json.loads(path.read_text(encoding="utf-8"))
    return int(read["batch"]), {int(partition): int(end) for partition, end in read["ends"].items()}


def _write_note(path: Path, batch: int, ends: dict[int, int]) -> None:
    write_durably(path, json.dumps({"batch": batch, "ends": ends}).encode())
