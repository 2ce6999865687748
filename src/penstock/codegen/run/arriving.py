"""The input of a piece in one batch: put in the sequential order, one frame for each edge."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np

from penstock.codegen.kernels.column_operations import typed
from penstock.codegen.rows.frames import Frame, concatenated
from penstock.codegen.rows.paths import Paths
from penstock.codegen.rows.places import NOWHERE, Array, Places
from penstock.codegen.transport.batches import FINAL, PULSE, PULSE_NUMBER, TUPLE, WINDOW, Item
from penstock.codegen.transport.placed_frames import PlacedFrame, PlacedFrames
from penstock.expr.values import rows_from_batch
from penstock.ir.types import Schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arriving:
    """The items of a batch, numbered in the sequential order.

    Attributes:
        latest_ns: The latest time that anything in the batch tells of; 0 if there is nothing.
        pulses: Time and number of the pulses, in order.
        time_ns: Of each item.
        number: Of each item: what it descends from, at that time.
        paths: Of each item.
        edge: Of each item.
        kind: Of each item; that of a pulse for one that does not count.
        frames: The tuples and window markers of each edge.
    """

    latest_ns: int
    pulses: tuple[tuple[int, int], ...]
    time_ns: Array
    number: Array
    paths: Paths
    edge: Array
    kind: Array
    frames: dict[int, Frame]

    @property
    def pulse(self) -> int:
        """The number of the last pulse."""
        return max([PULSE_NUMBER, *(number for _, number in self.pulses)])

    @property
    def finals(self) -> list[tuple[int, int]]:
        """The ends of streams, as (item, edge), in order."""
        ends = np.flatnonzero(self.kind == FINAL)
        return list(zip(ends.tolist(), self.edge[ends].tolist(), strict=True))

    def items(self, schemas: Mapping[int, Schema]) -> list[tuple[int, Item]]:
        """The items and pulses as Python objects, in order, each with the edge it came by."""
        columns = (self.time_ns, self.number, self.paths.array(), self.kind)
        lists = [*(column.tolist() for column in columns), self._rows(schemas)]
        made = map(tuple.__new__, repeat(Item), zip(*lists, strict=True))
        found = list(zip(self.edge.tolist(), made, strict=True))
        if (self.kind == PULSE).any():
            found = [(edge, item) for edge, item in found if item.kind != PULSE]
        # From the last to the first, so that each still finds its position.
        for time_ns, number in reversed(self.pulses):
            is_earlier = (self.time_ns < time_ns) | ((self.time_ns == time_ns) & (self.number < number))
            before = int(np.count_nonzero(is_earlier & (self.kind != PULSE)))
            found.insert(before, (-1, Item(time_ns, number, b"", PULSE)))
        return found

    def _rows(self, schemas: Mapping[int, Schema]) -> list[Any]:
        """The tuple of each item, None for what is no tuple."""
        rows: list[Any] = [None] * len(self.kind)
        for edge, frame in self.frames.items():
            found = rows_from_batch(frame.batch(schemas[edge]), schemas[edge])
            if len(found) == len(rows):
                return found
            for item, row in zip(frame.places.item.tolist(), found, strict=True):
                rows[item] = row
        return rows


def arriving(came: PlacedFrames, schemas: Mapping[int, Schema], merged: Collection[int] = ()) -> Arriving:
    """Put a batch in order.

    Args:
        came: By edge.
        schemas: Of the edges.
        merged: The edges that bring tuples of several channels: only the last of their ends counts, and window markers
            do not, because they come once from each channel.
    """
    order = _Order({edge: came.get(edge, ()) for edge in schemas})
    frames = {edge: _frame(order, edge, came.get(edge, ()), schema) for edge, schema in schemas.items()}
    kind = _counting(order, merged) if merged else order.kind
    for edge, frame in frames.items():
        frame.marks = NOWHERE if edge in merged else frame.marks
    return Arriving(
        latest_ns=order.latest_ns,
        pulses=order.pulses,
        time_ns=order.time_ns,
        number=order.number,
        paths=order.paths,
        edge=order.edge,
        kind=kind,
        frames=frames,
    )


def _counting(order: _Order, merged: Collection[int]) -> Array:
    """The kinds of items, that of a pulse for those of merged edges that do not count."""
    kind = order.kind.copy()
    for edge in merged:
        kind[order.items(edge, WINDOW)] = PULSE
        kind[order.items(edge, FINAL)[:-1]] = PULSE
    return kind


class _Order:
    """The items of a batch as one sequence, sorted by place."""

    def __init__(self, came: PlacedFrames) -> None:
        parts = [part for frames in came.values() for part in frames]
        self.pulses = tuple(sorted(chain.from_iterable(part.pulses for part in parts)))
        self.time_ns, self.number = (_joined([getattr(p, name) for p in parts]) for name in ("time_ns", "number"))
        self.kind = _joined([part.kind for part in parts])
        self.edge = np.repeat(
            np.array(list(came), np.int64), [sum(len(p.kind) for p in frames) for frames in came.values()]
        )
        self.paths = Paths.concatenated([part.paths for part in parts])
        self.latest_ns = max([int(self.time_ns.max(initial=0)), *(time_ns for time_ns, _ in self.pulses)])
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


def _joined(parts: Sequence[Array]) -> Array:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _frame(order: _Order, edge: int, came: Sequence[PlacedFrame], schema: Schema) -> Frame:
    items = order.items(edge, TUPLE)
    marks = Places(order.items(edge, WINDOW))
    whole = came[0].tuples if len(came) == 1 else _whole([part.tuples for part in came], schema)
    positions = order.value_positions(edge, items)
    if positions is None or (np.diff(positions) == 1).all():
        return whole.at(Places(items), marks)
    return whole.take(positions).at(Places(items), marks)


def _whole(frames: Sequence[Frame], schema: Schema) -> Frame:
    """The rows of frames one behind the other."""
    if not frames:
        return Frame(NOWHERE, {a.name: typed([], a.type) for a in schema.attributes})
    columns = {name: concatenated([frame[name] for frame in frames]) for name in schema.names}
    return Frame(Places(np.arange(sum(map(len, frames)))), columns)
