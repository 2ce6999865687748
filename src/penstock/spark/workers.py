"""What runs in Spark's Python workers: a container fed with one batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.codegen.transport import REPORT, Item, decode, rows, values_as_rows
from penstock.spark.container import Container
from penstock.spark.sources import load

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import TimerValues

STATE_VERSION = 1

Values = Iterable[tuple[int, bytes]]
"""(edge, IPC stream) pairs, as they arrive."""


def stateless_pe(program: str, pe: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function of a stateless PE for `mapInArrow`."""

    def process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        container = make_container(program, pe)
        arriving = [pair for batch in batches for pair in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
        if arriving:
            yield from process_batch(container, arriving)

    return process


class StatefulPE(StatefulProcessor):
    """The processor of a stateful PE for `transformWithState`; its state is one versioned value."""

    def __init__(self, program: str, pe: int) -> None:
        self.program = program
        self.pe = pe

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self.state = handle.getValueState("pe", "version int, data binary")

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Process a batch: recall, feed, remember."""
        container = make_container(self.program, self.pe)
        before = self.state.get()
        if before is not None:
            container.recall(pickle.loads(before[1]))
        arriving = [(int(e), bytes(v)) for frame in rows for e, v in zip(frame["edge"], frame["tuples"], strict=True)]
        for batch in process_batch(container, arriving):
            yield batch.to_pandas()
        self.state.update((STATE_VERSION, pickle.dumps(container.remember(), protocol=5)))

    def close(self) -> None:
        """Nothing is held open."""


def make_container(program: str, pe: int) -> Container:
    """A fresh container of a PE."""
    loaded, plan, environment = load(program)
    return Container(loaded, plan, pe, environment)


def process_batch(container: Container, values: Values) -> Iterator[pa.RecordBatch]:
    """Feed a batch to a container, in the sequential order; yields what leaves it, and what was meant for others."""
    arriving = list(values)
    mine = {e.index for e in container.plan.into(container.pe)}
    container.take(in_order(container, arriving))
    container.pulse()
    yield values_as_rows(REPORT, [container.report().encode()])
    for edge, value in arriving:
        if edge not in mine:
            yield values_as_rows(edge, [value])
    streams = container.plan.application.streams
    for out in container.plan.out_of(container.pe):
        yield rows(out.index, container.leaving[out.index], streams[out.stream].schema)
        container.leaving[out.index] = []


def in_order(container: Container, values: Values) -> list[tuple[int, Item]]:
    """The items of a batch, sorted by their place; those of other PEs' edges are left out."""
    streams = container.plan.application.streams
    edges = {e.index: streams[e.stream].schema for e in container.plan.into(container.pe)}
    items = [(edge, item) for edge, value in values if edge in edges for item in decode(value, edges[edge])]
    items.sort(key=lambda pair: pair[1][:3])
    return items
