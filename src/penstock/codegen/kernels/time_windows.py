"""Tumbling windows of time, for all keys at once.

Introduction:
    The windows of a key follow each other from its first tuple on, `size` nanoseconds each, and fire when their time is
    over, whether a tuple comes or not. What they make leaves at that time, in the place of a timer that went off.

Formulation:
    A key that began at t fires for the j-th time at t + j size. A tuple belongs to the window with the number of
    firings before it. The path of a firing is that of its timer (`timer_places`): the rank of the operator, and the
    ticket, which tells the place of the key's first tuple.

Algorithm:
    The number of a tuple's window is a division, and so is the number of firings of a key; all in numpy, O(b + f) for b
    rows and f firings, and one pass over the times of all keys. A tuple that a timer of lower rank made comes before a
    firing of the same time.

Preserves:
    The firings of `toolkit.windows.tumbling.TumblingTime` in a container, and their places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.codegen.kernels.folds import Runs
from penstock.codegen.kernels.key_tables import take_rows, unpacked
from penstock.codegen.kernels.tumbling_windows import TumblingWindows, by_runs, starts_of
from penstock.codegen.rows.frames import Frame, concatenated
from penstock.codegen.rows.paths import Paths, binary_array
from penstock.codegen.rows.places import Array, Places
from penstock.codegen.rows.timer_places import AFTER_TIMERS, END_OF_TICKET, firing_head
from penstock.expr.vector.frame import Column
from penstock.ir.types import BLOB


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """When the tuples of a batch came, and how far time goes.

    Attributes:
        time_ns: Of each row.
        number: Of each row: what it descends from, at that time.
        path: Of each row.
        until_ns: Up to when timers go off.
        before: If a timer of that very time goes off only before what another timer makes, the path of that.
    """

    time_ns: Array
    number: Array
    path: Paths
    until_ns: int
    before: bytes | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Firings:
    """The output of windows whose time was over.

    Attributes:
        frame: The values of the output functions; the item of a row is its firing.
        time_ns: Of each firing.
        paths: Of each firing.
    """

    frame: Frame
    time_ns: Array
    paths: Paths


class TumblingTimes(TumblingWindows):
    """Windows of `size` nanoseconds.

    Args:
        size: Of a window.
        rank: Of the operator.
        marks: Whether windows without tuples fire too, to give a marker.
    """

    def __init__(self, size: int, *, rank: int, marks: bool, **options: Any) -> None:
        super().__init__(**options)
        self.size = size
        self.marks = marks
        self._head = firing_head(0, rank)
        # Of the keys that a batch touches, or that fire in it.
        self._begun, self._fired = (np.zeros(0, np.int64) for _ in range(2))
        self._ticket: Any = None

    def _more(self) -> dict[str, Any]:
        return {"begun": np.int64, "fired": np.int64, "ticket": BLOB}

    def fire(self, frame: Frame, keys: Sequence[Column], columns: Sequence[Column], moments: Moments) -> Firings:
        """Take a batch in and let time pass."""
        known = len(self._table)
        codes = self._table.find(keys, rows=len(frame))
        self._begin(codes, known, moments)
        due = self._due(moments)
        # A window without tuples gives nothing: its key need not be touched until it has a tuple again.
        fires = due > 0 if self.marks else (due > 0) & (self._table.head("count") > 0)
        present = np.union1d(codes, np.flatnonzero(fires))
        self._load(present)
        local, due = np.searchsorted(present, codes), due[present]
        order, ordered, _ = by_runs(local, len(present))
        window = self._windows(local, moments)[order]
        starts = starts_of(ordered, window)
        runs = Runs(order, starts, ordered[starts], self._goes_on(ordered[starts], window[starts]))
        counts, folded = self._folded(runs, columns)
        key, window = self._filled(runs, window[starts])
        closed = np.flatnonzero(window < due[key])
        found = self._firings(key[closed], window[closed], due, closed, counts, folded)
        self._carry(runs, counts, folded, window[: len(runs)] >= due[runs.key])
        # What was carried over of keys without a tuple in this batch has closed if they have fired.
        self._counts[(due > 0) & ~np.isin(np.arange(len(due)), runs.key)] = 0
        self._fired += due
        self._put_back(present)
        return found

    def _load(self, present: Array) -> None:
        super()._load(present)
        names = ("begun", "fired", "ticket")
        self._begun, self._fired, self._ticket = (self._table.take(name, present) for name in names)

    def _put_back(self, present: Array) -> None:
        super()._put_back(present)
        self._table.put("fired", present, self._fired)

    def _begin(self, codes: Array, known: int, moments: Moments) -> None:
        """Start the time of keys that are new; they are numbered in the order in which they came."""
        if len(self._table) == known:
            return
        fresh, first = np.unique(codes, return_index=True)
        rows, added = first[fresh >= known], np.arange(known, len(self._table))
        tickets = _tickets(moments.time_ns[rows], moments.number[rows], moments.path.take(rows))
        self._table.put("begun", added, moments.time_ns[rows])
        self._table.put("ticket", added, tickets)

    def _windows(self, codes: Array, moments: Moments) -> Array:
        """The window of each row, counted from the one that is open when the batch begins."""
        since = moments.time_ns - self._begun[codes]
        met = np.flatnonzero((moments.number == AFTER_TIMERS) & (since % self.size == 0) & (since > 0))
        window = since // self.size
        window[met] -= moments.path.take(met).come_before(self._head)
        return window - self._fired[codes]

    def _due(self, moments: Moments) -> Array:
        """How often each key of all fires in this batch."""
        since = moments.until_ns - self._table.head("begun")
        times = since // self.size
        if moments.before is not None and moments.before < self._head:
            times -= (since % self.size == 0) & (since > 0)
        return np.maximum(times - self._table.head("fired"), 0)

    def _filled(self, runs: Runs, window: Array) -> tuple[Array, Array]:
        """The key and the window of what `_folded` gives: of runs, and of what keys have carried over."""
        known = len(self._counts)
        nothing = np.iinfo(np.int64).max
        carried = np.where(self._counts > 0, 0, nothing)
        carried[runs.key[runs.goes_on]] = nothing
        return np.append(runs.key, np.arange(known)), np.append(window, carried)

    def _firings(
        self, key: Array, window: Array, due: Array, closed: Array, counts: Array, folded: Sequence[Column]
    ) -> Firings:
        turn = self._fired[key] + window + 1
        order = self._in_order(key, turn)
        key, turn, closed = key[order], turn[order], closed[order]
        if not self.marks:
            item = np.arange(len(key))
            all_keys, all_turns = key, turn
        else:
            all_keys = np.repeat(np.arange(len(due)), due)
            all_turns = self._fired[all_keys] + 1 + np.arange(len(all_keys)) - np.repeat(np.cumsum(due) - due, due)
            order = self._in_order(all_keys, all_turns)
            all_keys, all_turns = all_keys[order], all_turns[order]
            is_filled = np.isin(all_keys + all_turns * len(due), key + turn * len(due))
            item = np.flatnonzero(is_filled)
        marks = Places(np.arange(len(all_keys)))
        frame = Frame(Places(item), self._values(counts, folded, closed), marks)
        return Firings(frame, self._time(all_keys, all_turns), self._paths(all_keys))

    def _time(self, key: Array, turn: Array) -> Array:
        return self._begun[key] + turn * self.size

    def _in_order(self, key: Array, turn: Array) -> Array:
        """Firings in the order of their places; keys are numbered in that of their tickets."""
        return np.lexsort((key, self._time(key, turn)))

    def _paths(self, key: Array) -> Paths:
        heads = pa.repeat(pa.scalar(self._head, pa.binary()), len(key))
        ends = pa.repeat(pa.scalar(END_OF_TICKET, pa.binary()), len(key))
        return Paths.of(pc.binary_join_element_wise(heads, self._ticket.take(pa.array(key)), ends, pa.scalar(b"")))

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; where several were joined, keys are numbered anew in the order in which they came."""
        (known,) = state["tables"]
        ticket = unpacked(known["rows"]["ticket"])
        if len(ticket) > 1 and not pc.all(pc.less(ticket[:-1], ticket[1:])).as_py():
            state = {**state, "tables": [take_rows(known, np.asarray(pc.array_sort_indices(ticket)))]}
        super().restore(state)


def _tickets(time_ns: Array, number: Array, path: Paths) -> Any:
    """The tickets of timers that are set for items, as `timer_places.ticket_at` makes them."""
    both = np.stack([time_ns, number + 1], axis=1).astype(">u8")
    places = binary_array(np.ascontiguousarray(both).view(np.uint8))
    ends = pa.array([(0).to_bytes(4)] * len(time_ns), pa.binary())
    return pc.binary_join_element_wise(places, path.array(), ends, pa.scalar(b""))


def rebased(firings: Firings, time_ns: Array, number: Array, paths: Paths) -> tuple[Array, Array, Paths]:
    """The places of firings, followed by those of the items that came."""
    return (
        np.append(firings.time_ns, time_ns),
        np.append(np.full(len(firings.time_ns), AFTER_TIMERS), number),
        Paths.of(concatenated([firings.paths.array(), paths.array()])),
    )
