"""DataFrames on their way into a job: their rows as rows of the transport, each with its place.

Where a job has one input, every task numbers the rows of its own partition, and the number of the partition comes
first: the order is that of the partitions, and nobody waits. Where it has several, or where a column tells the order,
the tuples of a batch are numbered in one task. Inputs take turns then, as sources do in the sequential program.

Of a DataFrame that is not a stream the end is known: behind its last row its stream ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as F

from penstock.codegen.rows.paths import binary_array
from penstock.codegen.rows.places import Array
from penstock.codegen.transport.batches import (
    FINAL,
    HEADER,
    ITEMS_PER_VALUE,
    PULSE,
    PULSE_NUMBER,
    REPORT,
    SPARK_SCHEMA,
    TUPLE,
    pruned,
    values_as_rows,
)
from penstock.codegen.transport.routes import Router
from penstock.ir.graph import Operator
from penstock.runtime.pes.reports import Report
from penstock.runtime.sources.outside_rows import SourcePE
from penstock.spark.frames.row_types import from_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PARTITION = "number of the partition"
"""The column that tells the number of a row's partition; no attribute can have the name."""

ORDER = "order of rows"
"""The column by which rows are put in order; likewise."""

LAST_NUMBER = 1 << 59
"""The number of the end of a stream whose tuples were not counted."""

_ROWS_OF_PARTITION = 1 << 33


def quote_column(name: str) -> str:
    """The name of a column as Spark takes it, whatever characters it has.

    Example:
        >>> quote_column("a.b")
        '`a.b`'
    """
    return f"`{name.replace('`', '``')}`"


Process = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function for `mapInArrow`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputForm:
    """The form of an input, as tasks know it.

    Attributes:
        source: Where its tuples enter the job.
        operator: That takes it.
        dead: The attributes that nobody reads, which are not brought.
        ends: Whether its end is known.
    """

    source: SourcePE
    operator: Operator
    dead: frozenset[str] = frozenset()
    ends: bool = False

    def tuples(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows as tuples, without the values that nobody reads."""
        return pruned(from_rows(rows, self.operator.outputs[0].schema, self.operator), self.dead)

    def encode(self, tuples: pa.RecordBatch, first: int) -> Iterator[pa.RecordBatch]:
        """Tuples with numbers from `first` on, on their way to every subscriber."""
        number = np.arange(first, first + tuples.num_rows, dtype=np.int64) * self.source.sources + self.source.order
        router = Router(self.source.routing)
        for step, edge in enumerate(self.source.routing):
            yield router.batch(edge, _header(number, step, TUPLE), tuples)

    def close(self, count: int, last: int | None) -> Iterator[pa.RecordBatch]:
        """The marks behind the last tuple of a batch: the end of the stream if `last` is its number, and a pulse."""
        empty = pa.RecordBatch.from_arrays([pa.nulls(0) for _ in self._names], names=self._names)
        router = Router(self.source.routing)
        for step, edge in enumerate(self.source.routing):
            if last is not None:
                number = np.array([last * self.source.sources + self.source.order], np.int64)
                yield router.batch(edge, _header(number, step, FINAL), empty)
            yield router.batch(edge, _header(np.array([PULSE_NUMBER], np.int64), None, PULSE), empty)
        report = Report(pe=self.source.pe, submitted={self.source.operator: [count]})
        yield values_as_rows(REPORT, report.encode())

    @property
    def columns(self) -> list[str]:
        """The columns that somebody reads, as Spark quotes them."""
        return [quote_column(name) for name in self._names if name not in self.dead]

    @property
    def _names(self) -> list[str]:
        return list(self.operator.outputs[0].schema.names)


def _header(number: Array, step: int | None, kind: int) -> pa.RecordBatch:
    count = len(number)
    path = pa.array([b""], pa.binary()) if step is None else binary_array(_steps(step, count))
    columns = [
        pa.array(np.zeros(count, np.int64)),
        pa.array(number),
        path,
        pa.array(np.full(count, kind, np.uint8)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=HEADER)


def _steps(step: int, count: int) -> Array:
    return np.tile(np.frombuffer(step.to_bytes(4), np.uint8), (count, 1))


def encode_frame(form: InputForm, frame: DataFrame) -> DataFrame:
    """The rows of a DataFrame as rows of the transport, in the order of its partitions."""
    return with_partitions(form, frame).mapInArrow(encode_partition(form), SPARK_SCHEMA)


def with_partitions(form: InputForm, frame: DataFrame) -> DataFrame:
    """The columns that somebody reads, and the number of each row's partition; the end is a row without one."""
    # Spark's own function, because a task may read several partitions one after the other.
    rows = frame.select(*form.columns, F.spark_partition_id().alias(PARTITION))
    if not form.ends:
        return rows
    nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in rows.schema.fields]
    return rows.unionAll(rows.sparkSession.range(0, 1, 1, 1).select(*nothing))


def encode_partition(form: InputForm) -> Process:
    """Encodes a partition as it comes; its number is in a column, and the end of the stream in a row without one."""

    def process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        count, is_blank, has_ended = 0, True, False
        for batch in _of_good_size(batches):
            partition = batch.column(PARTITION)
            # Spark puts the end into the task of the rows where these lie in one partition.
            rows = batch.slice(0, batch.num_rows - partition.null_count)
            is_blank, has_ended = False, has_ended or partition.null_count > 0
            if rows.num_rows:
                yield from form.encode(form.tuples(rows), partition[0].as_py() * _ROWS_OF_PARTITION + count)
                count += rows.num_rows
        if not is_blank:
            yield from form.close(count, LAST_NUMBER if has_ended else None)

    return process


def _of_good_size(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that travel well."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= ITEMS_PER_VALUE:
            yield from _cut(waiting)
            waiting, rows = [], 0
    if waiting:
        yield from _cut(waiting)


def _cut(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    whole = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    for start in range(0, whole.num_rows, ITEMS_PER_VALUE):
        yield whole.slice(start, ITEMS_PER_VALUE)


# Several inputs, or an order by a column: two steps.

PACKED = "part int, piece int, source int, tuples binary"
_PACKED = pa.schema([("part", pa.int32()), ("piece", pa.int32()), ("source", pa.int32()), ("tuples", pa.binary())])


def pack_partition(form: InputForm, *, by_column: bool) -> Process:
    """Packs the tuples of a partition, to be numbered elsewhere, with the column that orders them if one does."""

    def process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for piece, batch in enumerate(_of_good_size(batches)):
            tuples = form.tuples(batch)
            if by_column:
                tuples = tuples.append_column(ORDER, batch.column(ORDER))
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, tuples.schema) as writer:
                writer.write_batch(tuples)
            packed = bytes(sink.getvalue())
            values = [batch.column(PARTITION)[0].as_py(), piece, form.source.order, packed]
            yield pa.RecordBatch.from_arrays(
                [pa.array([v], f.type) for v, f in zip(values, _PACKED, strict=True)], schema=_PACKED
            )

    return process


def number_packed(forms: tuple[InputForm, ...]) -> Process:
    """Numbers all tuples of a batch; in one task."""
    by_order = {form.source.order: form for form in forms}

    def process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [row for batch in batches for row in batch.to_pylist()]
        if not rows:
            return
        for order, form in by_order.items():
            mine = sorted((row["part"], row["piece"], row["tuples"]) for row in rows if row["source"] == order)
            first = 0
            for tuples in _in_order([_unpack(value) for _, _, value in mine]):
                yield from form.encode(tuples, first)
                first += tuples.num_rows
            yield from form.close(first, first if form.ends else None)

    return process


def _unpack(value: bytes) -> pa.RecordBatch:
    return pa.ipc.open_stream(value).read_next_batch()


def _in_order(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The tuples of a batch in their order, which a column may tell."""
    if not batches or ORDER not in batches[0].schema.names:
        yield from batches
        return
    whole = pa.concat_batches(batches)
    chosen = whole.take(sort_rows(whole.column(ORDER))).drop_columns([ORDER])
    for start in range(0, chosen.num_rows, ITEMS_PER_VALUE):
        yield chosen.slice(start, ITEMS_PER_VALUE)


def sort_rows(column: pa.Array) -> pa.Array:
    """The positions of rows in ascending order of a column, as Spark has it: nulls first, NaN last, ties as they come.

    Example:
        >>> sort_rows(pa.array([2.0, float("nan"), None, 1.0, 2.0])).to_pylist()
        [2, 3, 0, 4, 1]
    """
    if pa.types.is_floating(column.type):
        known = np.flatnonzero(np.asarray(column.is_valid()))
        values = np.asarray(column.filter(column.is_valid())) + 0.0
        nulls = np.flatnonzero(np.asarray(column.is_null()))
        return pa.array(np.concatenate([nulls, known[np.argsort(values, kind="stable")]]))
    return pc.array_sort_indices(column, null_placement="at_start")
