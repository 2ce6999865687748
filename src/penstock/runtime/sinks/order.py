"""Puts what arrives at the sinks in the sequential order, in bounded memory.

A value, an IPC stream of up to 20,000 items, is sorted in itself. What one channel sends is sorted from value to value,
too: a run. A sink that is fed by one run takes its values as they are. Several runs are merged: of their first values
only what lies before the earliest end among them is taken, so that at most one value of each run is in memory. Values
wait in a file that is kept in memory as long as it is small.
"""

from __future__ import annotations

import bisect
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
import pyarrow as pa

from penstock.codegen.rows.paths import Paths
from penstock.codegen.rows.places import Array
from penstock.codegen.transport.batches import PULSE, TUPLE, encoded_batches, read_batches

MEMORY_BYTES = 64 << 20
"""How much of a batch may wait in memory."""

Place = tuple[int, int, bytes]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chunk:
    """Items of a stream in the sequential order.

    Attributes:
        time_ns: Of each item.
        kind: Of each item.
        tuples: A row for each item that is a tuple.
        places: The places of the items, where they are known.
    """

    time_ns: Array
    kind: Array
    tuples: pa.RecordBatch
    places: pa.RecordBatch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """A value that waits: where it lies, its number of tuples, and the places of its first and last item."""

    edge: int
    start: int
    size: int
    tuples: int
    first: Place
    last: Place


class Spool:
    """The values of a batch while they wait."""

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=memory_bytes)  # noqa: SIM115  # we are the context
        self._size = 0
        self._waiting: list[_Waiting] = []
        self._marks: list[tuple[int, bytes]] = []
        self._pulses: list[tuple[int, bytes]] = []

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def add(self, edge: int, value: bytes) -> None:
        """Let a value wait."""
        header, tuples = read_batches(value)
        kind = header.column(3).to_numpy()
        marks = header.filter(pa.array(kind != TUPLE))
        if marks.num_rows:
            self._marks.append((edge, encoded_batches(marks, tuples.slice(0, 0))))
        items = np.flatnonzero(kind != PULSE)
        if len(items):
            self._file.seek(self._size)
            self._file.write(value)
            first, last = place_of(header, int(items[0])), place_of(header, int(items[-1]))
            rows = tuples.num_rows
            waiting = _Waiting(edge=edge, start=self._size, size=len(value), tuples=rows, first=first, last=last)
            self._waiting.append(waiting)
            self._size += len(value)
        else:
            self._pulses.append((edge, value))

    def marks(self, edges: Collection[int]) -> list[tuple[int, bytes]]:
        """The values of some edges without their tuples."""
        return [(edge, value) for edge, value in self._marks if edge in edges]

    def values(self, edges: Collection[int]) -> list[tuple[int, bytes]]:
        """The values of some edges, whole."""
        pulses = [(edge, value) for edge, value in self._pulses if edge in edges]
        return [(w.edge, self._read(w)) for w in self._waiting if w.edge in edges] + pulses

    def count(self, edges: Collection[int]) -> int:
        """How many tuples have come by some edges."""
        return sum(w.tuples for w in self._waiting if w.edge in edges)

    def chunks(self, edges: Collection[int]) -> Iterator[Chunk]:
        """The items of some edges, in order; pulses are left out."""
        runs = _runs([w for w in self._waiting if w.edge in edges])
        if len(runs) == 1:
            for waiting in runs[0]:
                yield _Value(self._read(waiting)).chunk()
        else:
            yield from _merged([(_Value(self._read(w)) for w in run) for run in runs])

    def _read(self, waiting: _Waiting) -> bytes:
        self._file.seek(waiting.start)
        return self._file.read(waiting.size)


def place_of(header: pa.RecordBatch, item: int) -> Place:
    """The place of an item in the sequential order: its time, its number and its path."""
    time_ns, number, path = (header.column(i)[item].as_py() for i in range(3))
    return time_ns, number, path


def _runs(values: Sequence[_Waiting]) -> list[list[_Waiting]]:
    """The values as sequences that are in order, each of one edge."""
    runs: list[list[_Waiting]] = []
    latest: dict[int, list[_Waiting]] = {}
    for value in values:
        run = latest.get(value.edge)
        if run is None or value.first < run[-1].last:
            run = latest[value.edge] = []
            runs.append(run)
        run.append(value)
    return runs


class _Value:
    """A decoded value, of which a part may have been taken."""

    def __init__(self, value: bytes) -> None:
        header, self._tuples = read_batches(value)
        kind = header.column(3).to_numpy()
        if (kind == PULSE).any():
            header = header.filter(pa.array(kind != PULSE))
        self._header = header
        self._kind = header.column(3).to_numpy()
        self._rows = np.concatenate([[0], np.cumsum(self._kind == TUPLE)])
        self._taken = 0

    @property
    def last(self) -> Place:
        """The place of the last item."""
        return place_of(self._header, len(self._kind) - 1)

    @property
    def is_empty(self) -> bool:
        return self._taken == len(self._kind)

    def chunk(self) -> Chunk:
        """All of it."""
        time_ns = self._header.column(0).to_numpy()
        return Chunk(time_ns=time_ns, kind=self._kind, tuples=self._tuples, places=self._header)

    def take_to(self, bound: Place) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Take the items up to a place that are not taken yet: their places, and their tuples."""
        start, items = self._taken, range(len(self._kind))
        end = bisect.bisect_right(items, bound, start, key=lambda item: place_of(self._header, item))
        self._taken = end
        first, last = int(self._rows[start]), int(self._rows[end])
        return self._header.slice(start, end - start), self._tuples.slice(first, last - first)


def _merged(runs: Sequence[Iterator[_Value]]) -> Iterator[Chunk]:
    heads = {i: value for i, run in enumerate(runs) if (value := next(run, None)) is not None}
    while heads:
        bound = min(value.last for value in heads.values())
        yield _sorted([value.take_to(bound) for value in heads.values()])
        for i in [i for i, value in heads.items() if value.is_empty]:
            following = next(runs[i], None)
            if following is None:
                del heads[i]
            else:
                heads[i] = following


def _sorted(parts: Sequence[tuple[pa.RecordBatch, pa.RecordBatch]]) -> Chunk:
    header = pa.concat_batches([places for places, _ in parts])
    tuples = pa.concat_batches([found for _, found in parts])
    time_ns, number, kind = (header.column(i).to_numpy() for i in (0, 1, 3))
    order = Paths.of(header.column(2)).order(time_ns, number)
    if order is None:
        return Chunk(time_ns=time_ns, kind=kind, tuples=tuples, places=header)
    rows = (np.cumsum(kind == TUPLE) - 1)[order]
    kind = kind[order]
    places, tuples = header.take(pa.array(order)), tuples.take(pa.array(rows[kind == TUPLE]))
    return Chunk(time_ns=time_ns[order], kind=kind, tuples=tuples, places=places)
