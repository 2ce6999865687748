"""The input of a generated PE in one batch: decoded, put in the sequential order, one frame for each edge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.paths import Paths
from penstock.codegen.rows.places import NOWHERE, Array, Places
from penstock.codegen.transport.batches import FINAL, PULSE, PULSE_NUMBER, TUPLE, WINDOW, filled_column, read_batches
from penstock.expr.vector.frame import to_column
from penstock.ir.arrow import arrow_schema
from penstock.ir.types import Schema

Values = Iterable[tuple[int, bytes]]
"""(edge, IPC stream) pairs, as they arrive."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arriving:
    """The items of a batch, numbered in the sequential order.

    Attributes:
        latest_ns: The latest time that anything in the batch tells of; 0 if there is nothing.
        pulse: The number of the last pulse.
        time_ns: Of each item.
        number: Of each item: what it descends from, at that time.
        paths: Of each item.
        frames: The tuples and window markers of each edge.
        finals: The ends of streams, as (item, edge), in order.
    """

    latest_ns: int
    pulse: int
    time_ns: Array
    number: Array
    paths: Paths
    frames: dict[int, Frame]
    finals: tuple[tuple[int, int], ...]


def arriving(values: Values, schemas: Mapping[int, Schema], merged: Collection[int] = ()) -> Arriving:
    """Decode a batch; values of edges that are not in `schemas` are left out.

    Args:
        values: What came.
        schemas: Of the edges.
        merged: The edges that bring tuples of several channels: only the last of their ends counts.
    """
    tuples: dict[int, list[pa.RecordBatch]] = {edge: [] for edge in schemas}
    headers: list[tuple[int, pa.RecordBatch]] = []
    for edge, value in values:
        if edge in schemas:
            header, batch = read_batches(value)
            tuples[edge].append(batch)
            headers.append((edge, header))
    order = _Order(headers)
    frames = {edge: _frame(order, edge, tuples[edge], schema, edge in merged) for edge, schema in schemas.items()}
    return Arriving(
        latest_ns=order.latest_ns,
        pulse=order.pulse,
        time_ns=order.time_ns,
        number=order.number,
        paths=order.paths,
        frames=frames,
        finals=tuple(_finals(order, merged)),
    )


def _finals(order: _Order, merged: Collection[int]) -> Iterator[tuple[int, int]]:
    ends = np.flatnonzero(order.kind == FINAL)
    last = {int(order.edge[i]): int(i) for i in ends}
    for i in map(int, ends):
        edge = int(order.edge[i])
        if edge not in merged or last[edge] == i:
            yield i, edge


class _Order:
    """The headers of a batch as one, sorted by place; pulses tell only of the time."""

    def __init__(self, headers: list[tuple[int, pa.RecordBatch]]) -> None:
        time_ns, number, kind = (_numbers(headers, column) for column in (0, 1, 3))
        edge = np.repeat(np.array([e for e, _ in headers], np.int64), [header.num_rows for _, header in headers])
        paths = pa.concat_arrays([h.column(2) for _, h in headers]) if headers else pa.array([], pa.binary())
        self.latest_ns = int(time_ns.max(initial=0))
        is_item = kind != PULSE
        self.pulse = int(number[~is_item].max(initial=PULSE_NUMBER))
        self.time_ns, self.number, self.kind, self.edge = (a[is_item] for a in (time_ns, number, kind, edge))
        self.paths = Paths.of(paths if is_item.all() else paths.filter(pa.array(is_item)))
        self._tuples = np.flatnonzero(self.kind == TUPLE)
        self._edges = self.edge[self._tuples]
        self.sorted = self.paths.order(self.time_ns, self.number)
        if self.sorted is not None:
            self.time_ns, self.number = self.time_ns[self.sorted], self.number[self.sorted]
            self.kind, self.edge = self.kind[self.sorted], self.edge[self.sorted]
            self.paths = self.paths.take(self.sorted)

    def items(self, edge: int, kind: int) -> Array:
        """The numbers of the items of an edge."""
        return np.flatnonzero((self.edge == edge) & (self.kind == kind))

    def value_positions(self, edge: int, items: Array) -> Array | None:
        """Where the values of the tuples lie among those of the edge as they came; None if they lie in order."""
        if self.sorted is None:
            return None
        return np.searchsorted(self._tuples[self._edges == edge], self.sorted[items])


def _numbers(headers: list[tuple[int, pa.RecordBatch]], column: int) -> Array:
    parts = [header.column(column).to_numpy(zero_copy_only=False) for _, header in headers]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _frame(order: _Order, edge: int, batches: list[pa.RecordBatch], schema: Schema, is_merged: bool) -> Frame:
    items = order.items(edge, TUPLE)
    columns = {}
    for i, attribute in enumerate(schema.attributes):
        parts = [filled_column(batch.column(i), attribute.type) for batch in batches]
        array = pa.concat_arrays(parts) if parts else pa.array([], arrow_schema(schema).field(i).type)
        columns[attribute.name] = to_column(array, attribute.type)
    # A merge drops window markers: they would come once from each channel.
    marks = NOWHERE if is_merged else Places(order.items(edge, WINDOW))
    positions = order.value_positions(edge, items)
    if positions is None or (np.diff(positions) == 1).all():
        return Frame(Places(items), columns, marks)
    return Frame(Places(np.arange(len(items))), columns).take(positions).at(Places(items), marks)
