"""Sends the tuples of an edge to the channels of its consumer.

A value, an IPC stream of many items, is split into one for each channel: by the key group, of which a table tells the
channel, or into runs of equal length where any channel will do. Ends of streams and pulses go to every channel. Window
markers go to none: inside a region nobody waits for them, and behind it they would come several times
(`penstock.parallel.markers`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from penstock.codegen.plan.physical import Edge, PhysicalPlan, Route
from penstock.codegen.rows.places import Array
from penstock.codegen.transport.batches import (
    ARROW_SCHEMA,
    FINAL,
    PULSE,
    REPORT,
    TUPLE,
    encoded_batches,
    read_batches,
    values_as_rows,
)
from penstock.codegen.transport.headers import are_alike
from penstock.ir.types import Schema
from penstock.parallel.routing import group_of

Routing = Mapping[int, tuple[Edge, Schema]]
"""The edges that leave a PE, with what they carry."""


def routing_of(plan: PhysicalPlan, pe: int) -> Routing:
    """The edges that leave a PE, with their schemas; small, for it goes to every worker."""
    streams = plan.application.streams
    return {edge.index: (edge, streams[edge.stream].schema) for edge in plan.out_of(pe)}


class Router:
    """Routes what leaves one instance of a PE.

    Args:
        routing: Of the PE.
        channel: The instance's own.
    """

    def __init__(self, routing: Routing, channel: int = 0) -> None:
        self._routing = routing
        self._channel = channel

    def rows(self, left: Iterable[tuple[int, Sequence[bytes]]]) -> Iterator[pa.RecordBatch]:
        """Values that leave, by edge, as rows for Spark."""
        for number, values in left:
            route = Route.ONE if number == REPORT else self._routing[number][0].route
            if route is Route.ONE:
                yield values_as_rows(number, values)
            elif route is Route.SAME:
                yield values_as_rows(number, values, self._channel)
            else:
                yield from self._split(number, values)

    def _split(self, number: int, values: Sequence[bytes]) -> Iterator[pa.RecordBatch]:
        edge, schema = self._routing[number]
        for value in values:
            yield _as_rows(number, list(split(edge, schema, *read_batches(value))))

    def batch(self, number: int, header: pa.RecordBatch, tuples: pa.RecordBatch) -> pa.RecordBatch:
        """Items that leave by an edge and are not encoded yet, as rows for Spark."""
        edge, schema = self._routing[number]
        if edge.route is Route.ONE:
            return values_as_rows(number, [encoded_batches(header, tuples)])
        return _as_rows(number, list(split(edge, schema, header, tuples)))


def _as_rows(edge: int, parts: Sequence[tuple[int, bytes]]) -> pa.RecordBatch:
    """Values of an edge with their channels as rows for Spark."""
    columns = [
        pa.array([edge] * len(parts), pa.int32()),
        pa.array([channel for channel, _ in parts], pa.int32()),
        pa.array([part for _, part in parts], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)


def rerouted(routing: Routing, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Rows that know nothing of channels yet, with those for several channels split."""
    if all(edge.route is Route.ONE for edge, _ in routing.values()):
        yield batch
        return
    pairs = zip(batch.column("edge").to_pylist(), batch.column("tuples").to_pylist(), strict=True)
    yield from Router(routing).rows((number, [value]) for number, value in pairs)


def split(edge: Edge, schema: Schema, header: pa.RecordBatch, tuples: pa.RecordBatch) -> Iterator[tuple[int, bytes]]:
    """Items as a value for each channel that gets any."""
    kind = header.column(3).to_numpy()
    items = np.flatnonzero(kind == TUPLE)
    goes_to_all = (kind == FINAL) | (kind == PULSE)
    is_one_path = header.num_rows > 1 and not goes_to_all.any() and are_alike(header.column(2))
    for channel, chosen in enumerate(_dealt(edge, schema, tuples)):
        if len(chosen) or goes_to_all.any():
            yield (
                channel,
                encoded_batches(
                    _tuples(header, items[chosen]) if is_one_path else _header(header, items[chosen], goes_to_all),
                    _taken(tuples, chosen),
                ),
            )


def _dealt(edge: Edge, schema: Schema, tuples: pa.RecordBatch) -> list[Array]:
    """For each channel the positions of its tuples, in order."""
    if edge.route is Route.TURNS:
        return np.array_split(np.arange(tuples.num_rows), edge.channels)
    position = {attribute.name: i for i, attribute in enumerate(schema.attributes)}
    chosen = [position[name] for name in edge.key]
    types = [schema.attributes[i].type for i in chosen]
    channel = np.array(edge.table)[group_of([tuples.column(i) for i in chosen], len(edge.table), types)]
    # Of small numbers a stable sort is linear.
    order = np.argsort(channel.astype(np.uint16) if edge.channels < 2**16 else channel, kind="stable")
    return np.split(order, np.cumsum(np.bincount(channel, minlength=edge.channels))[:-1])


def _header(header: pa.RecordBatch, items: Array, goes_to_all: Array) -> pa.RecordBatch:
    chosen = goes_to_all.copy()
    chosen[items] = True
    return header.filter(pa.array(chosen))


def _tuples(header: pa.RecordBatch, items: Array) -> pa.RecordBatch:
    """The places of some of many tuples that have come by one path."""
    columns = [
        pa.array(header.column(0).to_numpy()[items]),
        pa.array(header.column(1).to_numpy()[items]),
        header.column(2).slice(0, len(items)),
        pa.array(np.full(len(items), TUPLE, np.uint8)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=header.schema)


def _taken(batch: pa.RecordBatch, rows: Array) -> pa.RecordBatch:
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return batch.slice(rows[0], len(rows))
    return batch.take(pa.array(rows))
