"""An operator that takes blocks as a piece of a PE of its own: rows come and go as columns, and nothing is a tuple.

What it gives stands behind the row of the block that it says, in the sequential order of the whole application. The
container beside it holds the operator, its state, and who has ended.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.places import NOWHERE, Array, Places
from penstock.codegen.run.arriving import Arriving, arriving
from penstock.codegen.run.leaving import Leaving
from penstock.codegen.transport.batches import FINAL, Item
from penstock.codegen.transport.placed_frames import PlacedFrame, PlacedFrames
from penstock.expr.vector.frame import to_column
from penstock.ir.arrow import arrow_schema
from penstock.ir.models import State
from penstock.ir.types import Schema
from penstock.profiler.clock import cpu_ns
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.container_instance import ContainerInstance
from penstock.runtime.pes.reports import Report, add
from penstock.toolkit.core.block_runtime import BlockRuntime, Given


def takes_blocks(container: Container) -> bool:
    """Whether a container holds one operator, which takes blocks."""
    inside = container.plan.pes[container.pe].operators
    return len(inside) == 1 and isinstance(container.node[inside[0]].runtime, BlockRuntime)


class BlockInstance(ContainerInstance):
    """One operator that takes blocks."""

    def __init__(self, container: Container) -> None:
        super().__init__(container)
        (self._id,) = container.plan.pes[container.pe].operators
        runtime = container.node[self._id].runtime
        assert isinstance(runtime, BlockRuntime)
        self._runtime = runtime
        self._edges = container.plan.into(container.pe)
        self._leaving = [edge.index for edge in container.plan.out_of(container.pe)]
        self._counts = 0, 0
        whole = container.plan.pes[container.pe]
        is_stateless = runtime.operator.model.state is State.STATELESS
        # Rows of other channels stand between those of this one, so each row needs a place of its own.
        self._is_by_row = is_stateless and whole.channels > 1 and bool(container.plan.keys.get(whole.region or ""))

    @property
    def may_be_kept(self) -> bool:
        """It is made anew for each batch: code of others may remember what it likes."""
        return False

    def take(self, frames: PlacedFrames, receive_ns: int = 0) -> dict[int, PlacedFrame]:
        """Process a batch; returns what leaves, by edge."""
        container, began = self.container, cpu_ns() - receive_ns
        schemas = container.plan.schemas(self._edges)
        came = arriving(frames, schemas, {edge.index for edge in self._edges if edge.senders > 1})
        left = Leaving(came, self._leaving)
        items, block = _together([(came.frames[i], schemas[i]) for i in schemas])
        frame = self._given(items, block)
        for number, edge in enumerate(self._leaving):
            left.add(edge, frame.branch(number))
        self._end(came, left)
        self._counts = len(items), len(frame)
        if container.signals is not None:
            container.signals.transfer("receive", cpu_ns() - began, len(items))
        return left.frames(max(container.engine.clock.now_ns, came.latest_ns))

    def report(self) -> Report:
        """The report since the last one."""
        received, submitted = self._counts
        self._counts = 0, 0
        own = super().report()
        counted = {"received": {self._id: [received]}, "submitted": {self._id: [submitted]}}
        return Report(
            pe=own.pe,
            received=add(own.received, counted["received"]),
            submitted=add(own.submitted, counted["submitted"]),
            dead_letters=own.dead_letters,
            prints=own.prints,
            signals=own.signals,
        )

    def _given(self, items: Array, block: pa.RecordBatch) -> Frame:
        """What the operator gives for a block, each row in its place."""
        schema = self._runtime.outputs
        given: list[tuple[Any, pa.RecordBatch]] = []
        if block.num_rows:
            try:
                given = [(behind, rows) for behind, rows in self._take(block) if rows.num_rows]
            except OperatorFailed:
                raise
            except Exception as error:
                raise OperatorFailed(self._runtime.operator, reason_of(error)) from error
        if not given:
            empty = [pa.array([], field.type) for field in arrow_schema(schema)]
            columns = {a.name: to_column(c, a.type) for a, c in zip(schema.attributes, empty, strict=True)}
            return Frame(NOWHERE.under(0), columns, NOWHERE.under(0))
        rows = pa.Table.from_batches([batch for _, batch in given]).combine_chunks()
        behind = items[np.concatenate([np.broadcast_to(at, batch.num_rows) for at, batch in given])]
        columns = {a.name: to_column(_whole(rows.column(a.name)), a.type) for a in schema.attributes}
        return Frame(Places(behind, (np.arange(len(behind), dtype=np.int64),)), columns, NOWHERE.under(0))

    def _take(self, block: pa.RecordBatch) -> Given:
        """What the operator gives for a block, or for each of its rows alone."""
        if not self._is_by_row:
            yield from self._runtime.take_block(block)
            return
        for row in range(block.num_rows):
            for _, rows in self._runtime.take_block(block.slice(row, 1)):
                yield row, rows

    def _end(self, came: Arriving, left: Leaving) -> None:
        """Let the ends of streams come to the operator, and go on from it."""
        container = self.container
        for item, edge in came.finals:
            container.take([(edge, Item(int(came.time_ns[item]), int(came.number[item]), b"", FINAL))])
            for leaving, items in container.leaving.items():
                if any(found.kind == FINAL for found in items):
                    left.add_final(leaving, item, self._leaving.index(leaving))
                container.leaving[leaving] = []


def _together(frames: list[tuple[Frame, Schema]]) -> tuple[Array, pa.RecordBatch]:
    """The rows of all edges in one order: for each the number of its item, and their values."""
    batches = [frame.batch(schema) for frame, schema in frames]
    items = np.concatenate([frame.places.item for frame, _ in frames])
    whole = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    if (np.diff(items) > 0).all():
        return items, whole
    order = np.argsort(items, kind="stable")
    return items[order], whole.take(pa.array(order))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
