"""Lets what the partitions of sources give pass in the order of one clock.

Introduction:
    A Kafka topic is read partition by partition, and a batch holds what there is of each, so one partition may be hours
    behind another. The clock of the application is that of the partition that is furthest behind: what others have
    given from later times waits here.

Formulation:
    A *lane* is a partition of a topic; all sources that Penstock plans itself are one more. The time of a lane is that
    of its last item, and never falls. A lane is *idle* if it has given nothing for so many seconds on the wall; where
    a run is to end when everything is read, a lane is idle if it has ended, and only then. The clock is the least time
    of all lanes that are not idle. Are all of them, time passes as on the wall from the last item on, that many
    seconds behind; where a run is to end, the clock is the greatest time.

    An item passes when the clock has come to its time; where a run is to end, when the clock has passed it, so that
    the order of equal times does not depend on batches either. An item of a lane that was idle may be behind the clock:
    it is *late*, stands at the time of the clock, and is counted.

Example:
    Partitions with times 1, 5, 9 and 2, 3: the clock stands at 3, and 5 and 9 wait until the second partition has
    gone on, or is idle.

Algorithm:
    Each batch splits what arrives at the clock, and keeps the rest in pieces, with the first time of each, so that only
    pieces are read again that have become due. Linear in what arrives and what passes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from penstock.codegen.rows.places import Array
from penstock.codegen.transport.batches import (
    FINAL,
    HEADER,
    PULSE,
    PULSE_NUMBER,
    REPORT,
    TUPLE,
    Item,
    encode,
    encoded_batches,
    read_batches,
)
from penstock.codegen.transport.routes import Router
from penstock.runtime.pes.reports import Report
from penstock.runtime.sources.outside_rows import SourcePE

CLOCK = -2
"""Stands for the edge in a row that tells the time on the wall, or which lanes have ended."""

LANES = 2**16
"""More than there are partitions, of all topics of a source together."""

OWN = -1
"""The order of the lane of all sources that Penstock plans itself."""

Row = tuple[int, int, bytes]
"""Edge, channel and IPC stream."""

LaneId = tuple[int, int]
"""The order of a source among the sources, and the number of its partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedSource(SourcePE):
    """A source in front of the gate.

    Attributes:
        idle_ns: After how long a lane that gives nothing is idle; None for a source that Penstock plans itself.
    """

    idle_ns: int | None = None


@dataclass(slots=True)
class Lane:
    """A partition.

    Attributes:
        time_ns: Of its last item.
        seen_ns: When it gave something, by the wall; None for since the wall was last looked at.
        is_idle: Whether the clock does not wait for it.
    """

    time_ns: int = 0
    seen_ns: int | None = None
    is_idle: bool = False


class Store(Protocol):
    """Keeps pieces that wait."""

    def put(self, number: int, row: Row) -> None:
        """Keep a piece."""

    def take(self, number: int) -> Row:
        """Give a piece back, and forget it."""


@dataclass(slots=True)
class GateState:
    """The state of a gate between batches.

    Attributes:
        time_ns: The clock.
        lanes: All lanes that have ever given anything.
        ended: The edges of sources that Penstock plans itself whose streams have ended.
        waiting: The number and the first time of each piece that waits.
        pieces: How many pieces have ever waited.
    """

    time_ns: int = 0
    lanes: dict[LaneId, Lane] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    waiting: list[tuple[int, int]] = field(default_factory=list)
    pieces: int = 0


class Gate:
    """The gate behind all sources of a job.

    Args:
        sources: All that it is for; rows of other edges pass.
        state: What it knows; is changed.
        store: Keeps what waits.
        continuous: Whether the run goes on when there is nothing new.
    """

    def __init__(
        self, sources: Sequence[GatedSource], state: GateState, store: Store, *, continuous: bool = False
    ) -> None:
        self._source = {edge: source for source in sources for edge in source.routing}
        self._first = {min(source.routing): source for source in sources if source.routing}
        self._state = state
        self._store = store
        self._continuous = continuous
        self._idle_ns = max((s.idle_ns for s in sources if s.idle_ns is not None), default=0)
        if any(source.idle_ns is None for source in self._source.values()):
            state.lanes.setdefault((OWN, 0), Lane())

    def take(self, rows: Iterable[Row]) -> Iterator[Row | pa.RecordBatch]:
        """The rows of a batch that pass, and those waiting that are due now, closed by a pulse for each edge."""
        pieces: list[_Piece] = []
        told: dict[str, Any] = {}
        for edge, channel, value in rows:
            if edge == CLOCK:
                told |= json.loads(value)
            elif edge in self._source:
                pieces.append(_Piece(edge, channel, *read_batches(value)))
            else:
                yield edge, channel, value
        lifted = [self._lifted(piece) for piece in pieces]
        for piece, (_, _, times) in zip(pieces, lifted, strict=True):
            self._note(piece, times)
        self._tell(told)
        self._state.time_ns = max(self._state.time_ns, self._clock(told.get("now_ns")))
        yield from self._passing([piece for piece, _, _ in lifted])
        yield from self._closing(sum_late(late for _, late, _ in lifted))

    def _lifted(self, piece: _Piece) -> tuple[_Piece, tuple[int, int], dict[LaneId, int]]:
        """A piece with no time behind its lane or the clock; how many were late; and the time of each lane."""
        source = self._source[piece.edge]
        if source.idle_ns is None:
            return piece, (piece.edge, 0), {}
        piece = piece.without(PULSE)
        time_ns = piece.time_ns.copy()
        lane = piece.number // source.sources % LANES
        found: dict[LaneId, int] = {}
        for number in np.unique(lane).tolist():
            here, id_ = lane == number, (source.order, number)
            before = self._state.lanes.get(id_)
            if before is not None:
                time_ns[here] = np.maximum(time_ns[here], before.time_ns)
            found[id_] = int(time_ns[here].max())
        late = int((time_ns < self._state.time_ns).sum())
        return piece.at(np.maximum(time_ns, self._state.time_ns)), (piece.edge, late), found

    def _note(self, piece: _Piece, times: dict[LaneId, int]) -> None:
        """Let the lanes of a piece go on."""
        state = self._state
        for id_, time_ns in times.items():
            lane = state.lanes.setdefault(id_, Lane())
            state.lanes[id_] = Lane(time_ns=max(lane.time_ns, time_ns))
        if self._source[piece.edge].idle_ns is None:
            own = state.lanes[OWN, 0]
            own.time_ns = max(own.time_ns, int(piece.time_ns.max(initial=0)))
            if (piece.kind == FINAL).any():
                state.ended.add(piece.edge)
            own.is_idle = state.ended >= {e for e, s in self._source.items() if s.idle_ns is None}

    def _tell(self, told: dict[str, Any]) -> None:
        """Find out which lanes are idle by what a row of the clock tells."""
        now_ns, lanes = told.get("now_ns"), self._state.lanes
        for order, number in told.get("ended", ()):
            if (order, number) in lanes:
                lanes[order, number].is_idle = True
        if now_ns is None:
            return
        idle_ns = {source.order: source.idle_ns for source in self._source.values()}
        for (order, _), lane in lanes.items():
            if order != OWN:
                lane.seen_ns = now_ns if lane.seen_ns is None else lane.seen_ns
                lane.is_idle = now_ns - lane.seen_ns >= (idle_ns.get(order) or 0)

    def _clock(self, now_ns: int | None) -> int:
        """The time up to which everything passes."""
        lanes = self._state.lanes.values()
        going = [lane.time_ns for lane in lanes if not lane.is_idle]
        if going:
            return min(going) - (not self._continuous)
        latest = max((lane.time_ns for lane in lanes), default=0)
        since_ns = max((lane.seen_ns for lane in lanes if lane.seen_ns is not None), default=None)
        if now_ns is None or since_ns is None:
            return latest
        return latest + max(0, now_ns - since_ns - self._idle_ns)

    def _passing(self, pieces: Iterable[_Piece]) -> Iterator[Row]:
        state, until_ns = self._state, self._state.time_ns
        due = [number for number, first_ns in state.waiting if first_ns <= until_ns]
        state.waiting = [(number, first_ns) for number, first_ns in state.waiting if first_ns > until_ns]
        waited = [_Piece(row[0], row[1], *read_batches(row[2])) for row in map(self._store.take, due)]
        for piece in (*waited, *pieces):
            piece = piece.without(PULSE)
            passes = piece.time_ns <= until_ns
            if passes.any():
                yield piece.chosen(passes).row()
            if not passes.all():
                self._keep(piece.chosen(~passes))

    def _keep(self, piece: _Piece) -> None:
        state = self._state
        self._store.put(state.pieces, piece.row())
        state.waiting.append((state.pieces, int(piece.time_ns.min())))
        state.pieces += 1

    def _closing(self, late: dict[int, int]) -> Iterator[pa.RecordBatch]:
        """Pulses, and reports of what was late."""
        pulse = Item(self._state.time_ns, PULSE_NUMBER, b"", PULSE)
        for edge, source in self._source.items():
            _, schema = source.routing[edge]
            yield from Router(source.routing).rows([(edge, list(encode([pulse], schema)))])
        for edge, source in self._first.items():
            if late.get(edge):
                report = Report(pe=source.pe, late={source.operator: late[edge]})
                yield from Router(source.routing).rows([(REPORT, report.encode())])


def sum_late(counts: Iterable[tuple[int, int]]) -> dict[int, int]:
    """How many items were late by each edge.

    Example:
        >>> sum_late([(3, 1), (4, 0), (3, 2)])
        {3: 3, 4: 0}
    """
    found: dict[int, int] = {}
    for edge, count in counts:
        found[edge] = found.get(edge, 0) + count
    return found


class _Piece:
    """Items of one edge, for one channel."""

    def __init__(self, edge: int, channel: int, header: pa.RecordBatch, tuples: pa.RecordBatch) -> None:
        self.edge, self.channel = edge, channel
        self.header, self.tuples = header, tuples
        self.time_ns: Array = header.column(0).to_numpy()
        self.number: Array = header.column(1).to_numpy()
        self.kind: Array = header.column(3).to_numpy()

    def chosen(self, mask: Array) -> _Piece:
        """Some of the items."""
        if mask.all():
            return self
        tuples = self.tuples.filter(pa.array(mask[self.kind == TUPLE]))
        return _Piece(self.edge, self.channel, self.header.filter(pa.array(mask)), tuples)

    def without(self, kind: int) -> _Piece:
        """The items that are not of a kind."""
        return self.chosen(self.kind != kind)

    def at(self, time_ns: Array) -> _Piece:
        """The same items at other times."""
        columns = [pa.array(time_ns, pa.int64()), *self.header.columns[1:]]
        return _Piece(self.edge, self.channel, pa.RecordBatch.from_arrays(columns, schema=HEADER), self.tuples)

    def row(self) -> Row:
        """As it travels."""
        return self.edge, self.channel, encoded_batches(self.header, self.tuples)
