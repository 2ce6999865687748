"""The traffic of one task by key group: from which group of its own to which group of the PE behind it.

Channels hold many key groups, and a table says which. To choose the table by what is sent, it has to be known which
groups talk to each other. A tuple carries the item of the sources that it descends from, so what leaves a PE is traced
to what came in: its group is known by its key, and that of its descendants by theirs.

Where tuples stay on their channel from one PE of a region to the next, an attribute with the name of the key is taken
for the key. If it is another by then, groups are taken for others, and the tables that follow are less good.

This reads what comes and goes once more, so it is done where it is asked for (`PhysicalPlan.meters_groups`). It changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.plan.physical import Edge, PhysicalPlan, Route
from penstock.codegen.transport.batches import TUPLE, read_batches
from penstock.ir.types import Schema
from penstock.parallel.routing import group_of

_FACTOR = np.uint64(0x9E3779B97F4A7C15)

Ints = np.ndarray[Any, np.dtype[np.int64]]
Codes = np.ndarray[Any, np.dtype[np.uint64]]


class GroupMeter:
    """Counts what goes from group to group in one task.

    Args:
        plan: Of the job.
        pe: Whose task it is.

    Attributes:
        arrived: By key group how many tuples have come.
        sent: By edge, group of the tuple that came, and group of what left: tuples and bytes.
    """

    def __init__(self, plan: PhysicalPlan, pe: int) -> None:
        streams = plan.application.streams
        own = plan.keys.get(plan.pes[pe].region or "", ())
        self._into = {edge.index: (edge.key or own, streams[edge.stream].schema) for edge in plan.into(pe)}
        self._out_of: dict[int, tuple[Edge, Schema]] = {
            edge.index: (edge, streams[edge.stream].schema) for edge in plan.out_of(pe) if edge.route is Route.KEY
        }
        self._groups = plan.groups
        self._items: list[Codes] = []
        self._of_item: list[Ints] = []
        self.arrived: dict[int, int] = {}
        self.sent: dict[tuple[int, int, int], list[int]] = {}

    def take_all(self, rows: Iterable[tuple[int, int, Any]]) -> None:
        """Note the tuples of rows of edge, channel and value; what comes from this process itself is not looked at."""
        for edge, _, value in rows:
            if isinstance(value, bytes):
                self.take(edge, value)

    def take(self, edge: int, value: bytes) -> None:
        """Note tuples that have come."""
        key, schema = self._into[edge]
        found = self._read(value, key, schema) if key else None
        if found is None:
            return
        items, groups = found
        self._items.append(items)
        self._of_item.append(groups)
        for group, count in zip(*np.unique(groups, return_counts=True), strict=True):
            self.arrived[int(group)] = self.arrived.get(int(group), 0) + int(count)

    def give(self, batch: pa.RecordBatch) -> None:
        """Count tuples that leave."""
        edges = batch.column(0).to_pylist()
        for row, edge in enumerate(edges):
            if edge in self._out_of and self._items:
                self._count(edge, batch.column(2)[row].as_py())

    def rows(self) -> list[list[int]]:
        """What was sent, as plain data: edge, group, group, tuples, bytes."""
        return [[*way, *counted] for way, counted in self.sent.items()]

    def _count(self, edge: int, value: bytes) -> None:
        leads, schema = self._out_of[edge]
        found = self._read(value, leads.key, schema)
        if found is None or not len(found[0]):
            return
        items, groups = found
        known, of_item = np.concatenate(self._items), np.concatenate(self._of_item)
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known[order], items), len(known) - 1)
        is_known = known[order][at] == items
        pairs = of_item[order][at][is_known] * self._groups + groups[is_known]
        bytes_each = len(value) / len(items)
        for pair, count in zip(*np.unique(pairs, return_counts=True), strict=True):
            counted = self.sent.setdefault((edge, int(pair) // self._groups, int(pair) % self._groups), [0, 0])
            counted[0] += int(count)
            counted[1] += round(int(count) * bytes_each)

    def _read(self, value: bytes, key: Iterable[str], schema: Schema) -> tuple[Codes, Ints] | None:
        """The items that tuples descend from, and their groups by a key; None if it did not travel."""
        header, tuples = read_batches(value)
        is_tuple = header.column(3).to_numpy() == TUPLE
        times, numbers = (header.column(place).to_numpy()[is_tuple].astype(np.int64) for place in (0, 1))
        position = {attribute.name: i for i, attribute in enumerate(schema.attributes)}
        if any(name not in position for name in key):
            return None
        places = [position[name] for name in key]
        columns = [tuples.column(place) for place in places]
        if any(pa.types.is_null(column.type) for column in columns):
            return None
        groups = group_of(columns, self._groups, [schema.attributes[place].type for place in places])
        # One number for both: what falls together by chance is counted with another group.
        return numbers.view(np.uint64) + times.view(np.uint64) * _FACTOR, groups
