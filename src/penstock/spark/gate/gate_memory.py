"""What a gate knows and holds back, in a form that no plan is part of, and back: by operator and stream.

Pieces wait at the gate as they travel, so they are those of the edges and the channels of a plan. A stream that leaves
a source by several edges waits once for each of them, and what is sent to all channels once for each of these. In a
savepoint it is there once, in the sequential order, and the plan that goes on sends it along its own edges.

A path of a source says how often something had left it for one item, counting edges (`codegen.transport.batches`): with
E edges step S is the (S // E)th thing that left, on edge S % E.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.base.durable_files import make_folder, read_sealed, write_sealed
from penstock.base.plain_pickle import load_plain
from penstock.codegen.plan.physical import Edge, Route
from penstock.codegen.rows.paths import STEP_BYTES, binary_array
from penstock.codegen.rows.places import Array
from penstock.codegen.transport.batches import (
    HEADER,
    ITEMS_PER_VALUE,
    TUPLE,
    encoded_batches,
    filled,
    read_batches,
)
from penstock.codegen.transport.routes import Router
from penstock.ir.types import Schema
from penstock.spark.gate.source_gate import OWN, GatedSource, GateState, Row

_WHAT = "what waits in front of a job"

GateMemory = dict[str, Any]
"""`time_ns`; `lanes`, by operator (none for that of all sources that Penstock plans) and number; `ended` streams; and
`waiting`: for each stream its operator, its name, and its items as one value."""


def memory_of_gate(state: GateState, pieces: Sequence[Row], sources: Sequence[GatedSource]) -> GateMemory:
    """What a gate knows and holds back.

    Args:
        state: Of the gate.
        pieces: All that wait.
        sources: In front of it.
    """
    operators = {source.order: source.operator for source in sources}
    edges = {number: edge for source in sources for number, (edge, _) in source.routing.items()}
    return {
        "time_ns": state.time_ns,
        "lanes": {(operators.get(order), lane): own for (order, lane), own in state.lanes.items()},
        "ended": {edges[number].stream for number in state.ended},
        "waiting": [found for source in sources for found in _waiting(source, pieces)],
    }


def gate_of_memory(memory: GateMemory, sources: Sequence[GatedSource]) -> tuple[GateState, dict[int, Row]]:
    """The state of a gate of another plan, and the pieces that wait at it, by number."""
    orders = {source.operator: source.order for source in sources}
    by_operator = {source.operator: source for source in sources}
    state = GateState(
        time_ns=memory["time_ns"],
        lanes={(OWN if id_ is None else orders[id_], lane): own for (id_, lane), own in memory["lanes"].items()},
        ended={n for s in sources for n, (edge, _) in s.routing.items() if edge.stream in memory["ended"]},
    )
    pieces: dict[int, Row] = {}
    for operator, stream, value in memory["waiting"]:
        for row in _rows(by_operator[operator], stream, *read_batches(value)):
            header, _ = read_batches(row[2])
            state.waiting.append((state.pieces, int(header.column(0).to_numpy().min())))
            pieces[state.pieces] = row
            state.pieces += 1
    return state, pieces


def write_gate(path: Path, state: GateState, pieces: Mapping[int, Row]) -> None:
    """Store what a gate begins with."""
    make_folder(path.parent)
    write_sealed(path, pickle.dumps((state, dict(pieces)), protocol=5))


def read_gate(path: Path) -> tuple[GateState, dict[int, Row]]:
    """What a gate begins with.

    Raises:
        UserError: It is not there, or was changed.
    """
    found: tuple[GateState, dict[int, Row]] = load_plain(read_sealed(path, _WHAT), _WHAT)
    return found


def _waiting(source: GatedSource, pieces: Sequence[Row]) -> Iterator[tuple[str, str, bytes]]:
    """For each stream of a source the items that wait, once."""
    by_stream: dict[str, list[tuple[int, Edge]]] = {}
    for step, (edge, _) in enumerate(source.routing.values()):
        by_stream.setdefault(edge.stream, []).append((step, edge))
    for stream, edges in by_stream.items():
        # Markers go to no channel where there are several.
        step, edge = next((pair for pair in edges if pair[1].route is Route.ONE), edges[0])
        found = [read_batches(value) for number, _, value in pieces if number == edge.index]
        if found:
            yield source.operator, stream, encoded_batches(*_joined(found, step, len(source.routing)))


def _joined(
    found: Sequence[tuple[pa.RecordBatch, pa.RecordBatch]], step: int, edges: int
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The items of an edge, in order, each once, with paths as if it were the only one."""
    header = pa.Table.from_batches([h for h, _ in found]).combine_chunks()
    tuples = pa.Table.from_batches([t for _, t in found])
    row = np.full(header.num_rows, -1)
    row[header.column(3).to_numpy() == TUPLE] = np.arange(tuples.num_rows)
    header = header.append_column("row", pa.array(row))
    header = header.sort_by([(name, "ascending") for name in ("_t", "_n", "_k")])
    header = header.filter(pa.array(_first_of_each(header))).combine_chunks()
    order = header.column("row").to_numpy()
    places_only = header.drop_columns(["row"]).to_batches()[0]
    values = tuples.take(pa.array(order[order >= 0], pa.int64())).combine_chunks().to_batches()
    empty = pa.RecordBatch.from_arrays([pa.array([], f.type) for f in tuples.schema], schema=tuples.schema)
    return _stepping(places_only, lambda steps: (steps - step) // edges), values[0] if values else empty


def _first_of_each(header: pa.Table) -> Array:
    """Marks items that stand nowhere before: what goes to all channels came once from each of them."""
    kept = np.ones(header.num_rows, bool)
    seen: set[tuple[Any, ...]] = set()
    for i in np.flatnonzero(header.column(3).to_numpy() != TUPLE).tolist():
        place = tuple(header.column(j)[i].as_py() for j in range(4))
        kept[i] = place not in seen
        seen.add(place)
    return kept


def _rows(source: GatedSource, stream: str, header: pa.RecordBatch, tuples: pa.RecordBatch) -> Iterator[Row]:
    """The items of a stream on their way along all edges that carry it, for each channel."""
    count = len(source.routing)
    for step, (number, (edge, schema)) in enumerate(source.routing.items()):
        if edge.stream == stream:
            own = _stepping(header, partial(_on_edge, count, step))
            for batch in Router(source.routing).rows([(number, list(_values(own, filled(tuples, schema), schema)))]):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _on_edge(count: int, step: int, steps: Array) -> Array:
    """The steps of what leaves by one edge of so many."""
    return steps * count + step


def _values(header: pa.RecordBatch, tuples: pa.RecordBatch, schema: Schema) -> Iterator[bytes]:
    rows = np.concatenate([[0], np.cumsum(header.column(3).to_numpy() == TUPLE)])
    for start in range(0, header.num_rows, ITEMS_PER_VALUE):
        end = min(start + ITEMS_PER_VALUE, header.num_rows)
        first, last = int(rows[start]), int(rows[end])
        yield encoded_batches(header.slice(start, end - start), tuples.slice(first, last - first))


def _stepping(header: pa.RecordBatch, change: Callable[[Array], Array]) -> pa.RecordBatch:
    """Places with other steps."""
    steps = np.frombuffer(b"".join(header.column(2).to_pylist()), ">u4").astype(np.int64)
    rows = change(steps).astype(">u4").view(np.uint8).reshape(-1, STEP_BYTES)
    columns = [header.column(0), header.column(1), binary_array(rows), header.column(3)]
    return pa.RecordBatch.from_arrays(columns, schema=HEADER)
