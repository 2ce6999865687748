"""Frames on their way from one piece of a PE to another: what travels between PEs, without its encoding.

The items of an edge carry their places as columns, and their tuples are a frame, of which nothing is made before
somebody asks for it. Pieces of a PE hand these to each other as they are; `read_frame` and `encode_frame` stand where
tuples come from outside and where they leave (`batches`).

Example:
    >>> from penstock.codegen.transport.batches import Item
    >>> from penstock.ir.types import parse_schema
    >>> schema = parse_schema("int32 x")
    >>> frame = frame_of([Item(5, 0, b"", TUPLE, (7,)), Item(5, 9, b"", PULSE)], schema)
    >>> frame.tuples["x"].tolist(), frame.pulses, frame.stepped(1).paths.at(0)
    ([7], ((5, 9),), b'\\x00\\x00\\x00\\x01')
    >>> read_frame(encode_frame(frame, schema)[0], schema).tuples["x"].tolist()
    [7]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np
import pyarrow as pa

from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.paths import Paths
from penstock.codegen.rows.places import Array, Places
from penstock.codegen.transport.batches import (
    HEADER,
    ITEMS_PER_VALUE,
    PULSE,
    TUPLE,
    Item,
    encoded_batches,
    filled_column,
    read_batches,
)
from penstock.expr.values import batch_from_rows
from penstock.expr.vector.frame import to_column
from penstock.ir.types import Schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacedFrame:
    """Items of an edge with their places in the order of the whole application.

    Attributes:
        time_ns: Of each item.
        number: Of each item: what it descends from, at that time.
        paths: Of each item.
        kind: Of each item: tuple, window marker or end of the stream.
        tuples: The rows of those that are tuples; their places here mean nothing.
        pulses: Time and number of the pulses.
    """

    time_ns: Array
    number: Array
    paths: Paths
    kind: Array
    tuples: Frame
    pulses: tuple[tuple[int, int], ...] = ()

    def stepped(self, step: int) -> PlacedFrame:
        """The same items, each a step further on its path."""
        return replace(self, paths=self.paths.grown(np.arange(len(self.kind)), step))


PlacedFrames = Mapping[int, Sequence[PlacedFrame]]
"""By edge, what has come by it."""


def read_frame(value: bytes, schema: Schema) -> PlacedFrame:
    """The items of a value that came from another PE; attributes that did not travel have default values."""
    return _placed(*read_batches(value), schema)


def read_frames(values: Iterable[tuple[int, bytes]], schemas: Mapping[int, Schema]) -> dict[int, list[PlacedFrame]]:
    """The items of all values of some edges; those of other edges are left out."""
    found: dict[int, list[PlacedFrame]] = {edge: [] for edge in schemas}
    for edge, value in values:
        if edge in schemas:
            found[edge].append(read_frame(value, schemas[edge]))
    return found


def frame_of(items: Sequence[Item], schema: Schema) -> PlacedFrame:
    """The frame of items that are Python objects."""
    tuples = batch_from_rows([item.tuple_ for item in items if item.tuple_ is not None], schema)
    columns = [pa.array(list(map(itemgetter(i), items)), field.type) for i, field in enumerate(HEADER)]
    return _placed(pa.RecordBatch.from_arrays(columns, schema=HEADER), tuples, schema)


def _placed(header: pa.RecordBatch, tuples: pa.RecordBatch, schema: Schema) -> PlacedFrame:
    is_pulse = header.column(3).to_numpy() == PULSE
    items = header.num_rows - int(np.count_nonzero(is_pulse))
    pulses = header.filter(pa.array(is_pulse)).select([0, 1]).to_pylist()
    # Mostly the pulse is the last.
    header = header.filter(pa.array(~is_pulse)) if is_pulse[:items].any() else header.slice(0, items)
    kind = header.column(3).to_numpy()
    return PlacedFrame(
        time_ns=header.column(0).to_numpy(),
        number=header.column(1).to_numpy(),
        paths=Paths.of(header.column(2)),
        kind=kind,
        tuples=_rows(tuples, schema),
        pulses=tuple((pulse["_t"], pulse["_n"]) for pulse in pulses),
    )


def source_frame(tuples: pa.RecordBatch, time_ns: Array, number: Array, step: int, schema: Schema) -> PlacedFrame:
    """The tuples of a source with their times and numbers, all a step on their path."""
    return PlacedFrame(
        time_ns=time_ns,
        number=number,
        paths=Paths.one_step(step, tuples.num_rows),
        kind=np.full(tuples.num_rows, TUPLE, np.uint8),
        tuples=_rows(tuples, schema),
    )


def _rows(tuples: pa.RecordBatch, schema: Schema) -> Frame:
    columns = {
        attribute.name: to_column(filled_column(tuples.column(i), attribute.type), attribute.type)
        for i, attribute in enumerate(schema.attributes)
    }
    return Frame(Places(np.arange(tuples.num_rows)), columns)


def encode_frame(frame: PlacedFrame, schema: Schema, dead: Collection[str] = ()) -> list[bytes]:
    """The items as values of bounded size, nothing of attributes that are dead, the pulses last."""
    values, header = frame.tuples.batch(schema, dead), _header(frame)
    before = np.concatenate([[0], np.cumsum(header.column(3).to_numpy() == TUPLE)])
    encoded = []
    for start in range(0, header.num_rows, ITEMS_PER_VALUE):
        end = min(start + ITEMS_PER_VALUE, header.num_rows)
        first, last = int(before[start]), int(before[end])
        encoded.append(encoded_batches(header.slice(start, end - start), values.slice(first, last - first)))
    return encoded


def _header(frame: PlacedFrame) -> pa.RecordBatch:
    pulses = frame.pulses
    columns = [
        pa.array(np.append(frame.time_ns, [time_ns for time_ns, _ in pulses]).astype(np.int64)),
        pa.array(np.append(frame.number, [number for _, number in pulses]).astype(np.int64)),
        pa.concat_arrays([frame.paths.array(), pa.array([b""] * len(pulses), pa.binary())]),
        pa.array(np.append(frame.kind, [PULSE] * len(pulses)).astype(np.uint8)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=HEADER)
