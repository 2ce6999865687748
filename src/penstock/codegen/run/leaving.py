"""The output of a generated PE in one batch: collected by edge, given its place, encoded for the transport."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.paths import Paths
from penstock.codegen.rows.places import Array, Level, Places, ranks
from penstock.codegen.run.arriving import Arriving
from penstock.codegen.transport.batches import (
    FINAL,
    HEADER,
    ITEMS_PER_VALUE,
    PULSE,
    TUPLE,
    WINDOW,
    encoded_batches,
)
from penstock.ir.types import Schema


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Items of one kind that leave by one edge."""

    edge: int
    kind: int
    places: Places


class Leaving:
    """The items that leave a PE.

    Args:
        arriving: What they descend from.
        schemas: Of the edges.
        dead: The attributes of each edge that need not travel.
    """

    def __init__(
        self, arriving: Arriving, schemas: Mapping[int, Schema], dead: Mapping[int, frozenset[str]] | None = None
    ) -> None:
        self._bases = arriving.time_ns, arriving.number, arriving.paths
        self._pulse = arriving.pulse
        self._offset = 0
        self._schemas = schemas
        self._dead = dead or {}
        self._parts: list[_Part] = []
        self._frames: dict[int, Frame] = {}
        self._finals: dict[int, list[tuple[int, int]]] = {edge: [] for edge in schemas}

    def stand_on(self, time_ns: Array, number: Array, paths: Paths) -> None:
        """Let what leaves descend from other items than those that came, which stand behind them."""
        self._offset = len(time_ns) - len(self._bases[0])
        self._bases = time_ns, number, paths

    def add(self, edge: int, frame: Frame) -> None:
        """Let the tuples and markers of a stream leave."""
        self._frames[edge] = frame
        self._parts.append(_Part(edge, TUPLE, frame.places))
        if frame.marks is not None:
            self._parts.append(_Part(edge, WINDOW, frame.marks))

    @property
    def tuples(self) -> int:
        """How many tuples leave."""
        return sum(map(len, self._frames.values()))

    def add_final(self, edge: int, item: int, rank: int) -> None:
        """Let the end of a stream leave."""
        self._finals[edge].append((item + self._offset, rank))

    def encoded(self, time_ns: int) -> Iterator[tuple[int, list[bytes]]]:
        """For each edge its values, each closed by the mark that the batch is complete up to a time."""
        present = [part for part in self._parts if len(part.places)]
        ranked = list(zip(present, ranks([p.places for p in present]) if present else [], strict=True))
        for edge, schema in self._schemas.items():
            mine = [(part, rank) for part, rank in ranked if part.edge == edge]
            header = self._header(edge, mine, time_ns)
            yield edge, list(_encoded(header, self._frames[edge].batch(schema, self._dead.get(edge, ()))))

    def _header(self, edge: int, parts: Sequence[tuple[_Part, Level]], time_ns: int) -> pa.RecordBatch:
        """The places of the items of an edge, in order, the mark last."""
        finals = self._finals[edge]
        item = _column([*(p.places.item for p, _ in parts), np.array([i for i, _ in finals], np.int64)])
        rank = _column([*(_filled(r, p.places) for p, r in parts), np.array([r for _, r in finals], np.int64)])
        kind = _column([*(_filled(p.kind, p.places) for p, _ in parts), np.full(len(finals), FINAL)])
        if len(parts) + bool(finals) > 1:
            order = np.lexsort((rank, item))
            item, rank, kind = item[order], rank[order], kind[order]
        times, numbers, before = self._bases
        paths = before.grown(item, rank if len(rank) else 0)
        columns = [
            pa.array(np.append(times[item], time_ns), pa.int64()),
            pa.array(np.append(numbers[item], self._pulse), pa.int64()),
            pa.concat_arrays([paths, pa.array([b""], pa.binary())]),
            pa.array(np.append(kind, PULSE).astype(np.uint8)),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=HEADER)


def _column(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts)


def _filled(value: Level, places: Places) -> Array:
    return np.full(len(places), value, np.int64) if isinstance(value, int) else value


def _encoded(header: pa.RecordBatch, values: pa.RecordBatch) -> Iterator[bytes]:
    """The items as IPC streams of bounded size."""
    is_tuple = header.column(3).to_numpy() == TUPLE
    before = np.concatenate([[0], np.cumsum(is_tuple)])
    for start in range(0, header.num_rows, ITEMS_PER_VALUE):
        end = min(start + ITEMS_PER_VALUE, header.num_rows)
        first, last = int(before[start]), int(before[end])
        yield encoded_batches(header.slice(start, end - start), values.slice(first, last - first))
