"""Sources read by columns: in Spark's tasks, or where batches are planned.

Alone in its program, such a source is read in the tasks: the plan of a batch holds only the extents. Beside other
sources the numbers of its tuples depend on how many came before, malformed ones left out, so it is read where batches
are planned, many tuples at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.plan import PhysicalPlan
from penstock.codegen.transport import (
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
    values_as_rows,
)
from penstock.expr.environment import Environment
from penstock.profiler.clock import cpu_ns
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.spark.container import Container
from penstock.spark.reports import Report
from penstock.toolkit.column_source import Chunk, ColumnSource, Extent, Planned, Position, ReadByColumns
from penstock.toolkit.program import Program

Array = Any
"""A numpy array."""


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
        assert source is not None, "asked for before"
        self.source: ColumnSource = source
        self.start_ns = environment.clock.now_ns
        self.edges = [e.index for e in plan.out_of(pe)]
        self.schema = self._node.operator.outputs[0].schema

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
                    yield chunk
            except Exception as error:
                raise self._failure(error) from error

    def plan(self, position: Position, rows: int, until_ns: int | None = None) -> Planned:
        """What comes next.

        Raises:
            OperatorFailed: It cannot be found out.
        """
        try:
            return self.source.plan(position, rows, until_ns)
        except Exception as error:
            raise self._failure(error) from error

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
        """Tuples on their way to every subscriber, as rows for Spark."""
        for i, edge in enumerate(self.edges):
            yield values_as_rows(edge, list(_encoded(batch, time_ns, number, i.to_bytes(4))))

    def marks(self, kind: int, time_ns: int, number: int) -> Iterator[pa.RecordBatch]:
        """A mark on its way to every subscriber."""
        for i, edge in enumerate(self.edges):
            path = b"" if kind == PULSE else i.to_bytes(4)
            yield values_as_rows(edge, list(encode([Item(time_ns, number, path, kind)], self.schema)))

    def end(self, time_ns: int, number: int) -> Iterator[pa.RecordBatch]:
        """What follows the last tuple: perhaps a window marker, and the end."""
        if self.source.ends_with_marker:
            yield from self.marks(WINDOW, time_ns, number)
        yield from self.marks(FINAL, time_ns, number + 1)

    def forget_letters(self) -> None:
        """Forget what a task has set aside that failed before it could tell."""
        self._container.engine.dead_letters.clear()

    def report(self, submitted: int) -> pa.RecordBatch:
        """What has been counted and set aside."""
        letters = tuple(self._container.engine.dead_letters)
        self._container.engine.dead_letters.clear()
        signals = self._container.signals
        report = Report(
            pe=self._container.pe,
            submitted={self._operator: [submitted]},
            dead_letters=letters,
            signals=() if signals is None else (signals.take().to_json(),),
        )
        return values_as_rows(REPORT, [report.encode()])


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
    """What a task reads of a batch: the tuples of some extents, and after the last of them the marks.

    Args:
        pe: The source.
        part: `extents`, `time_ns` to add to the times of the tuples, `end` (time and number) where nothing follows,
            `pulse` (a time) in the last part of a batch.
    """
    pe.forget_letters()
    submitted = 0
    for chunk in pe.read(part["extents"]):
        count = chunk.batch.num_rows
        submitted += count
        if count:
            first = part["time_ns"] + chunk.time_ns
            times = np.arange(count, dtype=np.int64) * chunk.period_ns + first
            yield from pe.tuples(chunk.batch, times, numbers_of(chunk))
    if part["end"] is not None:
        yield from pe.end(*part["end"])
    if part["pulse"] is not None:
        yield from pe.marks(PULSE, part["pulse"], PULSE_NUMBER)
    yield pe.report(submitted)


class ColumnRun:
    """A source that is read by columns beside others, in turns as the others.

    Attributes:
        time_ns: When its tuples stand.
        turn: How many turns it has had at that time.
        has_ended: Whether it has no more tuples.
        is_resting: Whether there is nothing for now.
    """

    def __init__(self, pe: ColumnPE, order: int, sources: int) -> None:
        self._pe = pe
        self._order, self._sources = order, sources
        self._position = pe.source.start()
        self._is_at_end = False
        self._has_marked = not pe.source.ends_with_marker
        self._pending: list[tuple[list[Extent], int]] = []
        self._left: list[pa.RecordBatch] = []
        self._submitted = 0
        self.time_ns = pe.start_ns + pe.source.delay_ns
        self.turn = 0
        self.has_ended = False
        self.is_resting = False

    @property
    def has_left(self) -> bool:
        """Whether tuples have left that have not been taken."""
        return self._submitted > 0

    def advance_to(self, turn: int, deadline: float | None = None) -> None:
        """Take turns until it has had so many, or there is nothing for now."""
        self.is_resting = False
        while self.turn < turn and not self.has_ended and not self.is_resting:
            if self._pending:
                self._take_pending(turn)
            elif self._is_at_end:
                self._take_end()
            else:
                self._plan(turn - self.turn)

    def catch_up(self, time_ns: int) -> None:
        """Let the next turn be at a time, if it would be earlier."""
        if self.time_ns < time_ns:
            self.time_ns, self.turn = time_ns, 0

    def take_rows(self, time_ns: int) -> Iterator[pa.RecordBatch]:
        """What has left since the last time, for Spark, closed by a pulse."""
        yield self._pe.report(self._submitted)
        yield from self._left
        yield from self._pe.marks(PULSE, time_ns, PULSE_NUMBER)
        self._left, self._submitted = [], 0

    def remember(self) -> dict[str, Any]:
        """Where it stands, as plain data."""
        names = ("_position", "_is_at_end", "_has_marked", "_pending", "time_ns", "turn", "has_ended")
        return {name: getattr(self, name) for name in names}

    def recall(self, state: dict[str, Any]) -> None:
        """Go on where another stood."""
        for name, value in state.items():
            setattr(self, name, value)

    def _plan(self, rows: int) -> None:
        planned = self._pe.plan(self._position, rows)
        self._position, self._is_at_end = planned.position, planned.has_ended
        is_sequential = self._pe.source.tasks == 1
        self._pending = [([e], 0) for e in planned.extents] if is_sequential else [(list(planned.extents), 0)]
        self.is_resting = not planned.extents and not planned.has_ended

    def _take_pending(self, turn: int) -> None:
        extents, skipped = self._pending.pop(0)
        wanted = turn - self.turn
        batch = _in_order([c for c in self._pe.read(extents, again=skipped > 0) if c.batch.num_rows])
        if batch is None:
            return
        if skipped or batch.num_rows > wanted:
            # More than was asked for, which is rare: the rest is read again when its turn comes.
            rest = batch.slice(skipped)
            batch = rest.slice(0, wanted)
            if rest.num_rows > wanted:
                self._pending.insert(0, (extents, skipped + wanted))
        self._send(batch)

    def _send(self, batch: pa.RecordBatch) -> None:
        count = batch.num_rows
        number = np.arange(self.turn, self.turn + count, dtype=np.int64) * self._sources + self._order
        self._left += self._pe.tuples(batch, np.full(count, self.time_ns, np.int64), number)
        self._submitted += count
        self.turn += count

    def _take_end(self) -> None:
        kind = FINAL if self._has_marked else WINDOW
        self._left += self._pe.marks(kind, self.time_ns, self.turn * self._sources + self._order)
        self.turn += 1
        self.has_ended, self._has_marked = self._has_marked, True


def numbers_of(chunk: Chunk) -> Array:
    """The numbers of the tuples of a chunk."""
    return np.arange(chunk.batch.num_rows, dtype=np.int64) * chunk.step + chunk.number


def _in_order(chunks: list[Chunk]) -> pa.RecordBatch | None:
    """The tuples of chunks as one, in the order of their numbers."""
    if not chunks:
        return None
    batch = pa.concat_batches([chunk.batch for chunk in chunks])
    numbers = np.concatenate([numbers_of(chunk) for chunk in chunks])
    return batch if (np.diff(numbers) > 0).all() else batch.take(pa.array(np.argsort(numbers, kind="stable")))


def _encoded(batch: pa.RecordBatch, time_ns: Array, number: Array, path: bytes) -> Iterator[bytes]:
    """Tuples with their places as IPC streams of bounded size."""
    for start in range(0, batch.num_rows, ITEMS_PER_VALUE):
        values = batch.slice(start, ITEMS_PER_VALUE)
        end = start + values.num_rows
        columns = [
            pa.array(time_ns[start:end]),
            pa.array(number[start:end]),
            pa.repeat(pa.scalar(path, pa.binary()), values.num_rows),
            pa.array(np.full(values.num_rows, TUPLE, np.uint8)),
        ]
        sink = pa.BufferOutputStream()
        for part in (pa.RecordBatch.from_arrays(columns, schema=HEADER), values):
            with pa.ipc.new_stream(sink, part.schema) as writer:
                writer.write_batch(part)
        yield sink.getvalue().to_pybytes()
