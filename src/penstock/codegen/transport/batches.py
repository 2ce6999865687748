"""How tuples travel between PEs: as Arrow record batches, one binary value a batch, with what keeps their order.

Spark moves rows (`edge`, `channel`, `tuples`): which edge, which channel of its consumer, and an Arrow IPC stream. The
JVM never looks inside, so a crossing costs a copy of memory and not a conversion of every value.

Each item carries its place in the sequential order as three columns:

    _t   the application's time, in ns
    _n   which item of the sources it descends from, at that time; -1 for what a timer made
    _k   the path that it took: four bytes for each PE it has left, counting what left that PE for one item that came

Sorted by (_t, _n, _k), the items of one batch are in the order of the sequential program: a PE takes them one by one,
and what leaves it while it works on one item leaves in depth-first order. Places that follow from those before them do
not travel (`headers`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from penstock.codegen.transport.headers import compact, expanded
from penstock.expr.environment import Tuple
from penstock.expr.values import batch_from_rows, default_value, rows_from_batch, to_arrow_array
from penstock.ir.types import Schema, Type

TUPLE, WINDOW, FINAL, PULSE = range(4)
"""The kinds of items: tuple, window marker, end of the stream, and pulse, which marks a batch complete to a time."""

REPORT = -1
"""Stands for the edge in a row that carries a PE's report of a batch instead of tuples."""

PART = -2
"""Stands for the edge in a row that tells what a task has written for a sink (`runtime.sinks.task_parts`)."""

ROWS_FILE = -3
"""Stands for the edge in a row that names a file with more rows of its task (`spark.sinks.large_results`)."""

TRAFFIC = -4
"""Stands for the edge in a row that tells what a task has sent, and where it ran."""

SPARK_SCHEMA = "edge int, channel int, tuples binary"
ARROW_SCHEMA = pa.schema([("edge", pa.int32()), ("channel", pa.int32()), ("tuples", pa.binary())])
ITEMS_PER_VALUE = 20_000

_ORDER = [pa.field("_t", pa.int64()), pa.field("_n", pa.int64()), pa.field("_k", pa.binary())]
_MARK = pa.field("_p", pa.uint8())
HEADER = pa.schema([*_ORDER, _MARK])
"""The columns that say where items stand and what they are."""

PULSE_NUMBER = 2**62
"""The number of a pulse: it comes after all items of its time."""

LAST_PULSE = PULSE_NUMBER + 1
"""The number of the pulse behind which no source has anything: time goes on only for what operators hold back."""


class Item(NamedTuple):
    """An item of a stream with its place in the sequential order."""

    time_ns: int
    number: int
    path: bytes
    kind: int
    tuple_: Tuple | None = None


def encode(items: Sequence[Item], schema: Schema) -> Iterable[bytes]:
    """The items of one edge as Arrow IPC streams of bounded size."""
    for start in range(0, len(items), ITEMS_PER_VALUE):
        yield _encode(items[start : start + ITEMS_PER_VALUE], schema)


def _encode(items: Sequence[Item], schema: Schema) -> bytes:
    tuples = [i.tuple_ for i in items if i.tuple_ is not None]
    values = batch_from_rows(tuples, schema)
    order = [
        pa.array([i.time_ns for i in items], pa.int64()),
        pa.array([i.number for i in items], pa.int64()),
        pa.array([i.path for i in items], pa.binary()),
        pa.array([i.kind for i in items], pa.uint8()),
    ]
    return encoded_batches(pa.RecordBatch.from_arrays(order, schema=HEADER), values)


def encoded_batches(header: pa.RecordBatch, values: pa.RecordBatch) -> bytes:
    """The places of items, and the values of those that are tuples, as one value."""
    sink = pa.BufferOutputStream()
    # Marks carry no values, so the values are a batch of their own: one row for each tuple among the items.
    for batch in (compact(header), values):
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def read_batches(value: bytes) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The header and the tuples of a value that `encoded_batches` made."""
    source = pa.BufferReader(value)
    header = pa.ipc.open_stream(source)
    places = header.read_next_batch()
    header.read_all()
    return expanded(places), pa.ipc.open_stream(source).read_next_batch()


def decode(value: bytes, schema: Schema) -> list[Item]:
    """The items of an IPC stream.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> schema = parse_schema("int32 x")
        >>> items = [Item(0, 0, b"", TUPLE, (7,)), Item(0, 1, b"", PULSE)]
        >>> decode(next(iter(encode(items, schema))), schema) == items
        True
    """
    header, values = read_batches(value)
    columns = [header.column(i).to_pylist() for i in range(4)]
    tuples = iter(rows_from_batch(filled(values, schema), schema))
    return [Item(t, n, k, p, next(tuples) if p == TUPLE else None) for t, n, k, p in zip(*columns, strict=True)]


def pruned(tuples: pa.RecordBatch, dead: Collection[str]) -> pa.RecordBatch:
    """Tuples without the values of attributes that nobody reads.

    Example:
        >>> pruned(pa.record_batch({"x": [1, 2], "text": ["a", "b"]}), ["text"]).column("text").type
        DataType(null)
    """
    for name in dead:
        tuples = tuples.set_column(tuples.schema.get_field_index(name), name, pa.nulls(tuples.num_rows))
    return tuples


def filled(tuples: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """Tuples with default values where `pruned` has left none.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> filled(pa.record_batch({"x": [1], "text": pa.nulls(1)}), parse_schema("int64 x, rstring text")).to_pylist()
        [{'x': 1, 'text': ''}]
    """
    for i, attribute in enumerate(schema.attributes):
        if pa.types.is_null(tuples.column(i).type):
            tuples = tuples.set_column(i, attribute.name, filled_column(tuples.column(i), attribute.type))
    return tuples


def filled_column(column: pa.Array, type_: Type) -> pa.Array:
    """A column, of default values if it came without any."""
    if not pa.types.is_null(column.type):
        return column
    default = to_arrow_array([default_value(type_)], type_)
    # Arrow repeats no value of a nested type zero times.
    return pa.repeat(default[0], len(column)) if len(column) else default[:0]


def rows(edge: int, items: Sequence[Item], schema: Schema) -> pa.RecordBatch:
    """The items of one edge as rows for Spark."""
    return values_as_rows(edge, list(encode(items, schema)))


def values_as_rows(edge: int, values: Sequence[bytes], channel: int = 0) -> pa.RecordBatch:
    """Encoded values as rows for Spark, all for one channel."""
    count = len(values)
    columns = [
        pa.array([edge] * count, pa.int32()),
        pa.array([channel] * count, pa.int32()),
        pa.array(values, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)
