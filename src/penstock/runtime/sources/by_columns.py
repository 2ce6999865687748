"""Sources read by columns: in Spark's tasks, or where batches are planned.

Alone in its program, such a source is read in the tasks (`read_part`): the plan of a batch holds only the extents.
Beside other sources it is a `column_run.ColumnRun`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.transport.batches import (
    FINAL,
    HEADER,
    ITEMS_PER_VALUE,
    PULSE,
    PULSE_NUMBER,
    REPORT,
    TUPLE,
    WINDOW,
    Item,
    encode,
    encoded_batches,
    pruned,
    values_as_rows,
)
from penstock.codegen.transport.placed_frames import PlacedFrame, source_frame
from penstock.codegen.transport.routes import Router, Routing, rerouted, routing_of
from penstock.expr.environment import Environment
from penstock.profiler.clock import cpu_ns
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.reports import Report, add
from penstock.runtime.sources.selection import Selection, selection
from penstock.toolkit.core.column_source import Chunk, ColumnSource, Extent, Planned, Position, ReadByColumns, SetsClock
from penstock.toolkit.core.program import Program

Array = Any
"""A numpy array."""

NEW_CHECKPOINT = "put back what was there, or start with a new checkpoint folder"


class ColumnPE:
    """A source PE whose operator is read by columns.

    Attributes:
        source: What is read.
        start_ns: The time at which the application starts.
    """

    def __init__(
        self, program: Program, plan: PhysicalPlan, pe: int, environment: Environment, *, follows: bool = False
    ) -> None:
        self._container = Container(program, plan, pe, environment)
        (self._operator,) = plan.pes[pe].operators
        self._node = self._container.node[self._operator]
        source = _columns(self._container, self._operator, follows)
        if source is None:
            raise UserError(f"what `{self._operator}` reads is not there any more", hint=NEW_CHECKPOINT)
        self.source: ColumnSource = source
        self.start_ns = environment.clock.now_ns
        self.edges = [e.index for e in plan.out_of(pe)]
        self.schema = self._node.operator.outputs[0].schema
        self.routing: Routing = routing_of(plan, pe)
        self._plan, self._pe = plan, pe
        self._late = 0

    @cached_property
    def _dead(self) -> frozenset[str]:
        """The attributes that need not travel; who only plans does not ask."""
        return self._plan.dead[self._node.operator.outputs[0].stream]

    @cached_property
    def _selections(self) -> dict[int, Selection | None]:
        return {e.index: selection(self._plan, e) for e in self._plan.out_of(self._pe)}

    def read(self, extents: Iterable[Extent], *, again: bool = False) -> Iterator[Chunk]:
        """The tuples of extents; what is malformed is set aside, or ends the run.

        Args:
            extents: What to read.
            again: Whether it has been read before, so that what is malformed has been set aside already.

        Raises:
            OperatorFailed: A tuple cannot be made, or the operator's policy is to fail on what is malformed.
        """
        for extent in extents:
            try:
                for chunk in self._timed(self.source.read(extent)):
                    for record in () if again else chunk.malformed:
                        self._node.reject(record.record, record.reason)
                    self._late += 0 if again else chunk.late
                    yield chunk
            except Exception as error:
                raise self._failure(error) from error

    def plan(self, position: Position, rows: int, until_ns: int | None = None) -> Planned:
        """The extents of the next rows after a position.

        Raises:
            OperatorFailed: The source cannot plan them.
        """
        try:
            return self.source.plan(position, rows, until_ns)
        except Exception as error:
            raise self._failure(error) from error

    def look(self, position: Position, now_ns: int) -> tuple[Position, int]:
        """How far the clock may go: to the time on the wall, unless the source has times that it waits for.

        Args:
            position: Where the source stands.
            now_ns: The application's time, by the wall.

        Returns:
            The position with what was seen, and the application's time.

        Raises:
            OperatorFailed: It cannot be found out.
        """
        if not isinstance(self.source, SetsClock):
            return position, now_ns
        try:
            seen, clock_ns = self.source.look(position, now_ns - self.start_ns)
        except Exception as error:
            raise self._failure(error) from error
        return seen, self.start_ns + clock_ns

    def _failure(self, error: Exception) -> OperatorFailed:
        """The failure of the operator, as the reference interpreter tells it."""
        return error if isinstance(error, OperatorFailed) else OperatorFailed(self._node.operator, reason_of(error))

    def _timed(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """The chunks, while their CPU time is noted if the source is profiled."""
        signals = self._container.signals
        if signals is None:
            yield from chunks
            return
        while True:
            began = cpu_ns()
            chunk = next(chunks, None)
            signals.produced(self._operator, cpu_ns() - began)
            if chunk is None:
                return
            yield chunk

    def tuples(self, batch: pa.RecordBatch, time_ns: Array, number: Array) -> Iterator[pa.RecordBatch]:
        """Tuples on their way to every subscriber, as rows for Spark that know nothing of channels yet."""
        for i, edge in enumerate(self.edges):
            yield self._rows(edge, i, batch, time_ns, number)

    def _rows(self, edge: int, step: int, batch: pa.RecordBatch, time_ns: Array, number: Array) -> pa.RecordBatch:
        items = self._items(edge, step, batch, time_ns, number, ITEMS_PER_VALUE)
        return values_as_rows(edge, [encoded_batches(*each) for each in items])

    def tuples_beside(
        self, mine: int, batch: pa.RecordBatch, time_ns: Array, number: Array
    ) -> Iterator[PlacedFrame | pa.RecordBatch]:
        """Tuples on their way to every subscriber; those of one edge, whose PE works in this process, as a frame."""
        for i, edge in enumerate(self.edges):
            if edge == mine:
                yield source_frame(*self._wanted(edge, batch, time_ns, number), i, self.schema)
            else:
                yield self._rows(edge, i, batch, time_ns, number)

    def routed(self, batch: pa.RecordBatch, time_ns: Array, number: Array) -> Iterator[pa.RecordBatch]:
        """Tuples on their way to the channels of every subscriber."""
        router = Router(self.routing)
        for i, edge in enumerate(self.edges):
            # Of what is split, each channel gets a part.
            size = ITEMS_PER_VALUE * self.routing[edge][0].channels
            for header, tuples in self._items(edge, i, batch, time_ns, number, size):
                yield router.batch(edge, header, tuples)

    def _items(
        self, edge: int, step: int, batch: pa.RecordBatch, time_ns: Array, number: Array, most: int
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        """The tuples that somebody behind an edge wants, with their places."""
        return _pieces(*self._wanted(edge, batch, time_ns, number), step.to_bytes(4), most)

    def _wanted(
        self, edge: int, batch: pa.RecordBatch, time_ns: Array, number: Array
    ) -> tuple[pa.RecordBatch, Array, Array]:
        chosen = self._selections[edge]
        wanted = None if chosen is None else chosen.wanted(batch)
        if wanted is not None:
            batch, time_ns, number = batch.filter(pa.array(wanted)), time_ns[wanted], number[wanted]
        return pruned(batch, self._dead), time_ns, number

    def marks(self, kind: int, time_ns: int, number: int) -> Iterator[pa.RecordBatch]:
        """A mark on its way to every subscriber."""
        for i, edge in enumerate(self.edges):
            path = b"" if kind == PULSE else i.to_bytes(4)
            yield values_as_rows(edge, list(encode([Item(time_ns, number, path, kind)], self.schema)))

    def end(self, time_ns: int, number: int) -> Iterator[pa.RecordBatch]:
        """The marks behind the last tuple: a window marker if the source ends with one, and the final marker."""
        if self.source.ends_with_marker:
            yield from self.marks(WINDOW, time_ns, number)
        yield from self.marks(FINAL, time_ns, number + 1)

    @property
    def has_letters(self) -> bool:
        """Whether anything was set aside that has not been told of."""
        return bool(self._container.engine.dead_letters)

    def forget(self) -> None:
        """Forget what a task has set aside and dropped that failed before it could tell."""
        self._container.engine.dead_letters.clear()
        self._late = 0
        for chosen in filter(None, self._selections.values()):
            chosen.forget()

    def report(self, submitted: int) -> pa.RecordBatch:
        """The report since the last one: counts, dead letters, late tuples and signals."""
        letters = tuple(self._container.engine.dead_letters)
        self._container.engine.dead_letters.clear()
        late, self._late = self._late, 0
        signals = self._container.signals
        dropped = (chosen.told() for chosen in self._selections.values() if chosen is not None)
        report = Report(
            pe=self._container.pe,
            received=reduce(add, dropped, {}),
            submitted={self._operator: [submitted]},
            dead_letters=letters,
            signals=() if signals is None else (signals.take().to_json(),),
            late={self._operator: late} if late else {},
        )
        return values_as_rows(REPORT, report.encode())


def is_read_by_columns(
    program: Program, plan: PhysicalPlan, pe: int, environment: Environment, *, follows: bool
) -> bool:
    """Whether a source can be read by columns."""
    (operator,) = plan.pes[pe].operators
    return _columns(Container(program, plan, pe, environment), operator, follows) is not None


def _columns(container: Container, operator: str, follows: bool) -> ColumnSource | None:
    runtime = container.node[operator].runtime
    return runtime.columns(follows=follows) if isinstance(runtime, ReadByColumns) else None


def read_part(pe: ColumnPE, part: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """The rows of one part of a batch: the tuples of its extents, then the marks and a report.

    A part for a channel (`channel_parts`) has tuples for no other.

    Args:
        pe: The source.
        part: `extents`, `time_ns` to add to the times of the tuples, `end` (time and number) where nothing follows,
            `pulse` (a time) in the last part of a batch.
    """
    for rows in _rows_of_part(pe, part, None):
        assert isinstance(rows, pa.RecordBatch)
        yield rows


def read_part_beside(pe: ColumnPE, part: dict[str, Any], mine: int) -> Iterator[PlacedFrame | pa.RecordBatch]:
    """The rows of one part of a batch, which is for a channel: the tuples of an edge as frames, not encoded.

    Args:
        pe: The source.
        part: As for `read_part`.
        mine: The edge, which leads to a PE in this process.
    """
    return _rows_of_part(pe, part, mine)


def _rows_of_part(pe: ColumnPE, part: dict[str, Any], mine: int | None) -> Iterator[PlacedFrame | pa.RecordBatch]:
    pe.forget()
    submitted, channel = 0, part.get("channel")
    for batch, time_ns, number in _tuples_of(pe, part):
        submitted += batch.num_rows
        if not batch.num_rows:
            continue
        if channel is None:
            yield from pe.routed(batch, time_ns, number)
        elif mine is None:
            yield from (_for_channel(rows, channel) for rows in pe.tuples(batch, time_ns, number))
        else:
            for left in pe.tuples_beside(mine, batch, time_ns, number):
                yield left if isinstance(left, PlacedFrame) else _for_channel(left, channel)
    for mark in _marks(pe, part):
        if channel is None:
            yield from rerouted(pe.routing, mark)
        else:
            yield _for_channel(mark, channel)
    yield pe.report(submitted)


def _tuples_of(pe: ColumnPE, part: dict[str, Any]) -> Iterator[tuple[pa.RecordBatch, Array, Array]]:
    """The tuples of a part with their times and numbers."""
    slices, of = part.get("slices", [[0, 1]] * len(part["extents"])), part.get("of", 1)
    for extent, (first, end) in zip(part["extents"], slices, strict=True):
        # Who begins with an extent tells what is malformed in it.
        for chunk in pe.read([extent], again=first > 0):
            count = chunk.batch.num_rows
            rows = slice(count * first // of, count * end // of)
            batch = chunk.batch.slice(rows.start, rows.stop - rows.start)
            yield batch, times_of(chunk)[rows] + part["time_ns"], numbers_of(chunk)[rows]


def _for_channel(rows: pa.RecordBatch, channel: int) -> pa.RecordBatch:
    return rows.set_column(1, rows.schema.field(1), pa.array([channel] * rows.num_rows, pa.int32()))


def _marks(pe: ColumnPE, part: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """The marks behind the tuples of a part: the end of the stream, and a pulse."""
    if part["end"] is not None:
        yield from pe.end(*part["end"])
    if part["pulse"] is not None:
        yield from pe.marks(PULSE, part["pulse"], PULSE_NUMBER)


def times_of(chunk: Chunk) -> Array:
    """The times of the tuples of a chunk, from the start of the source."""
    if chunk.times_ns is not None:
        return chunk.times_ns
    return np.arange(chunk.batch.num_rows, dtype=np.int64) * chunk.period_ns + chunk.time_ns


def numbers_of(chunk: Chunk) -> Array:
    """The numbers of the tuples of a chunk."""
    return np.arange(chunk.batch.num_rows, dtype=np.int64) * chunk.step + chunk.number


def _pieces(
    batch: pa.RecordBatch, time_ns: Array, number: Array, path: bytes, most: int
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """The places and the values of tuples, in pieces of equal size, of which none is larger than a bound."""
    pieces = -(-batch.num_rows // most)
    for piece in range(pieces):
        start = batch.num_rows * piece // pieces
        values = batch.slice(start, batch.num_rows * (piece + 1) // pieces - start)
        end = start + values.num_rows
        columns = [
            pa.array(time_ns[start:end]),
            pa.array(number[start:end]),
            pa.repeat(pa.scalar(path, pa.binary()), values.num_rows),
            pa.array(np.full(values.num_rows, TUPLE, np.uint8)),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=HEADER), values
