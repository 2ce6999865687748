"""The sinks of a job in tasks: they write what comes, and tell the driver in notes.

A task hands every sink its tuples run by run. A run is in the sequential order: what one channel sends by one edge.
Where several edges lead to a sink, what a task has of them is merged. So what a sink writes of one run, a file say, is
in order. Marks of streams, reports and the tuples of other sinks go on to the driver; a tuple that all its sinks have
written in tasks does not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.transport.batches import (
    PART,
    PULSE,
    TUPLE,
    encoded_batches,
    filled,
    read_batches,
    values_as_rows,
)
from penstock.ir.types import Schema
from penstock.profiler.clock import cpu_ns
from penstock.runtime.sinks.order import Place, Spool, place_of
from penstock.toolkit.core.task_sink import Note, TakesPlaces, TaskSink, TaskWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a task has written of a run, as it travels to the driver.

    Attributes:
        operator: The sink.
        rows: How many tuples.
        first: The place of the first.
        notes: For the sink's half in the driver.
        cpu_ns: What writing cost.
    """

    operator: str
    rows: int
    first: Place
    notes: tuple[Note, ...]
    cpu_ns: int = 0

    def encode(self) -> bytes:
        """The part as a value.

        Example:
            >>> part = Part(operator="Out", rows=2, first=(0, 7, b"a"), notes=({"file": "x"},))
            >>> Part.decode(part.encode()) == part
            True
        """
        time_ns, number, path = self.first
        first = [time_ns, number, path.hex()]
        return json.dumps([self.operator, self.rows, first, list(self.notes), self.cpu_ns]).encode()

    @classmethod
    def decode(cls, value: bytes) -> Part:
        """The part that is in a value."""
        operator, rows, (time_ns, number, path), notes, cost = json.loads(value)
        first = (time_ns, number, bytes.fromhex(path))
        return cls(operator=operator, rows=rows, first=first, notes=tuple(notes), cpu_ns=cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEdge:
    """An edge to sinks of which some write in tasks.

    Attributes:
        schema: What it carries.
        takers: Those sinks.
        goes_on: Whether tuples go on to other sinks in the driver.
    """

    schema: Schema
    takers: tuple[str, ...]
    goes_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSinks:
    """The sinks of a job that write in tasks, as tasks know them.

    Attributes:
        sinks: By operator.
        edges: Those that lead to them, by number.
    """

    sinks: Mapping[str, TaskSink]
    edges: Mapping[int, TaskEdge]

    def edges_to(self, sink: str) -> frozenset[int]:
        """The edges that lead to a sink."""
        return frozenset(number for number, edge in self.edges.items() if sink in edge.takers)


def task_sinks(plan: PhysicalPlan, sinks: Mapping[str, TaskSink]) -> TaskSinks:
    """The sinks of a plan that write in tasks, with the edges that lead to them."""
    found = {}
    for pe in plan.pes:
        for edge in plan.into(pe.index) if pe.role == "sink" else ():
            subscribers = [operator for operator, _ in edge.subscribers]
            takers = tuple(dict.fromkeys(operator for operator in subscribers if operator in sinks))
            if takers:
                schema = plan.application.streams[edge.stream].schema
                goes_on = any(operator not in sinks for operator in subscribers)
                found[edge.index] = TaskEdge(schema=schema, takers=takers, goes_on=goes_on)
    return TaskSinks(sinks=sinks, edges=found)


class PartsOfTask:
    """The sinks of one task at work on a batch.

    Args:
        job: All that write in tasks.
        batch: The number of the batch.
    """

    def __init__(self, job: TaskSinks, batch: int) -> None:
        self._job = job
        self._inputs = {id_: _input(job, id_, sink, batch) for id_, sink in job.sinks.items()}

    def __enter__(self) -> PartsOfTask:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        with ExitStack() as closing:
            for each in self._inputs.values():
                closing.callback(each.close)

    def take(self, edge: int, value: bytes) -> Iterator[pa.RecordBatch]:
        """Write the tuples of a value; what goes on to the driver, as rows of the transport."""
        to = self._job.edges[edge]
        header, tuples = read_batches(value)
        for id_ in to.takers:
            self._inputs[id_].take(edge, value, header, tuples)
        if to.goes_on:
            yield values_as_rows(edge, [value])
            return
        kind = header.column(3).to_numpy()
        marks = header.filter(pa.array(kind != TUPLE))
        if marks.num_rows:
            yield values_as_rows(edge, [encoded_batches(marks, tuples.slice(0, 0))])

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Complete what was written, and tell the driver."""
        parts = [part for each in self._inputs.values() for part in each.finish()]
        if parts:
            yield values_as_rows(PART, [part.encode() for part in parts])


class _Runs:
    """The input of a sink that one edge leads to: each run is written as it comes."""

    def __init__(self, operator: str, open_: Callable[[], TaskWriter], schema: Schema) -> None:
        self._operator, self._open, self._schema = operator, open_, schema
        self._writer: TaskWriter | None = None
        self._parts: list[Part] = []
        self._rows, self._cpu_ns = 0, 0
        self._first: Place = (0, 0, b"")
        self._last: Place = (0, 0, b"")

    def take(self, edge: int, value: bytes, header: pa.RecordBatch, tuples: pa.RecordBatch) -> None:
        """Take the items of a value."""
        if not tuples.num_rows:
            return
        kind = header.column(3).to_numpy()
        # A header without marks has no pulse at its end.
        last = header.num_rows - 1
        while kind[last] == PULSE:
            last -= 1
        self.write(place_of(header, 0), place_of(header, last), filled(tuples, self._schema), header)

    def write(self, first: Place, last: Place, tuples: pa.RecordBatch, items: pa.RecordBatch) -> None:
        """Write tuples that lie between two places, and are among some items."""
        began = cpu_ns()
        if self._writer is not None and first < self._last:
            self._complete()
        if self._writer is None:
            self._writer, self._first, self._rows = self._open(), first, 0
        if isinstance(self._writer, TakesPlaces):
            is_tuple = items.column(3).to_numpy() == TUPLE
            self._writer.write_placed(tuples, items if is_tuple.all() else items.filter(pa.array(is_tuple)))
        else:
            self._writer.write(tuples)
        self._rows += tuples.num_rows
        self._last = last
        self._cpu_ns += cpu_ns() - began

    def finish(self) -> list[Part]:
        """The parts of all runs."""
        if self._writer is not None:
            began = cpu_ns()
            self._complete()
            self._cpu_ns += cpu_ns() - began
        found, self._parts = self._parts, []
        return found

    def _complete(self) -> None:
        assert self._writer is not None
        notes = tuple(self._writer.finish())
        part = Part(operator=self._operator, rows=self._rows, first=self._first, notes=notes, cpu_ns=self._cpu_ns)
        self._parts.append(part)
        self._writer, self._cpu_ns = None, 0

    def close(self) -> None:
        """Drop what is not complete."""
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None


class _Merged:
    """The input of a sink that several edges lead to: all waits, and is merged into one run."""

    def __init__(self, runs: _Runs, edges: frozenset[int], schema: Schema) -> None:
        self._runs, self._edges, self._schema = runs, edges, schema
        self._spool = Spool()

    def take(self, edge: int, value: bytes, header: pa.RecordBatch, tuples: pa.RecordBatch) -> None:
        """Let a value wait."""
        self._spool.add(edge, value)

    def finish(self) -> list[Part]:
        """The one part."""
        for number, chunk in enumerate(self._spool.chunks(self._edges)):
            if chunk.tuples.num_rows:
                assert chunk.places is not None
                place = (int(chunk.time_ns[0]), number, b"")
                self._runs.write(place, place, filled(chunk.tuples, self._schema), chunk.places)
        return self._runs.finish()

    def close(self) -> None:
        """Drop what is not complete."""
        self._runs.close()
        self._spool.__exit__()


def _input(job: TaskSinks, id_: str, sink: TaskSink, batch: int) -> _Runs | _Merged:
    edges = job.edges_to(id_)
    schema = next(job.edges[edge].schema for edge in edges)
    runs = _Runs(id_, lambda: sink.open(batch), schema)
    return runs if len(edges) == 1 else _Merged(runs, edges, schema)


def write_rows(job: TaskSinks, batch: int, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write what is for the sinks of tasks; all that goes on to the driver."""
    mine = list(job.edges)
    with PartsOfTask(job, batch) as parts:
        for found in rows:
            is_mine = np.isin(found.column(0).to_numpy(), mine)
            if not is_mine.all():
                yield found.filter(pa.array(~is_mine))
            for i in np.flatnonzero(is_mine):
                yield from parts.take(found.column(0)[i].as_py(), found.column(2)[i].as_py())
        yield from parts.finish()
