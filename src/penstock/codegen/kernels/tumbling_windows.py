"""Tumbling windows of a number of tuples, of a delta, or between window markers, for all keys at once.

Formulation:
    Each row of a batch has the number of its window, counted for its key from the one that is open when the batch
    begins. Rows of one key and window are a run (`folds`). A window closes with the tuple that fills it (a count), with
    one that lies beyond it (a delta), or with a marker; it then fires in the place of that tuple or marker.

Algorithm:
    The state of the keys of a batch is taken out of the table, worked on, and put back. Sorting by key and one pass
    over the rows: O(b) for b rows, however many keys are known. Only a delta is followed row by row.

Preserves:
    The firings of `toolkit.windows.tumbling`, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.codegen.kernels.folds import Runs, fold_of
from penstock.codegen.kernels.key_tables import KeyTable, TabledState
from penstock.codegen.kernels.keys import by_key, present_keys
from penstock.codegen.rows.frames import Frame, concatenated, taken
from penstock.codegen.rows.places import NOWHERE, Array, merge
from penstock.expr.vector.frame import Column
from penstock.ir.types import parse_type

_ALONE = np.zeros(1, np.int64)
"""The number of the only key where there is none."""


class TumblingWindows(TabledState):
    """The base class of tumbling windows: their keys, and the folds of their output functions.

    Args:
        keys: The types of the parts of a key.
        columns: The types of the arguments of the output functions.
        calls: The output functions, each with the column of its argument.
        names: The attributes that the parts of a key are; None if they are computed.
    """

    def __init__(
        self,
        *,
        keys: Sequence[str],
        columns: Sequence[str],
        calls: Sequence[tuple[str, int]],
        names: Sequence[str] | None = None,
    ) -> None:
        types = [parse_type(text) for text in columns]
        self._columns = [column for _, column in calls]
        self._folds = [fold_of(name, None if name == "Count" else types[column]) for name, column in calls]
        held = {f"fold {i}": fold.held for i, fold in enumerate(self._folds)}
        self._table = KeyTable(names, keys, {"count": np.int64, **held, **self._more()})
        self.tables = [self._table]
        # Of the keys of the batch, while there is one.
        self._counts = np.zeros(0, np.int64)
        self._carried: list[Column] = []

    def _more(self) -> dict[str, Any]:
        """What else is remembered of a key, with its type."""
        return {}

    def _take_out(self, codes: Array) -> tuple[Array, Array]:
        """Have the state of the keys of a batch at hand: their numbers, and for each row its place among them."""
        present, local = present_keys(codes, len(self._table))
        self._load(present)
        return present, local

    def _load(self, present: Array) -> None:
        self._counts = self._table.take("count", present)
        self._carried = [self._table.take(f"fold {i}", present) for i in range(len(self._folds))]

    def _put_back(self, present: Array) -> None:
        """Remember the state of the keys of a batch."""
        self._table.put("count", present, self._counts)
        for i, column in enumerate(self._carried):
            self._table.put(f"fold {i}", present, column)

    def _folded(self, runs: Runs, columns: Sequence[Column]) -> tuple[Array, list[Column]]:
        """The windows of all runs, followed by those that the keys have carried over: their counts and folds."""
        counts = runs.counts
        counts[runs.goes_on] += self._counts[runs.key[runs.goes_on]]
        if not len(runs):
            return self._counts, self._carried
        # Count has no argument; there may be no column at all.
        given = [columns[column] if columns else counts for column in self._columns]
        folded = [
            concatenated([fold.over(runs, column, carried), carried])
            for fold, column, carried in zip(self._folds, given, self._carried, strict=True)
        ]
        return np.concatenate([counts, self._counts]), folded

    def _values(self, counts: Array, folded: Sequence[Column], chosen: Array) -> dict[str, Column]:
        """The results of the output functions for some windows."""
        return {
            f"aggregate_{i}": fold.value(taken(column, chosen), counts[chosen])
            for i, (fold, column) in enumerate(zip(self._folds, folded, strict=True))
        }

    def _carry(self, runs: Runs, counts: Array, folded: Sequence[Column], is_open: Array) -> None:
        """Carry over the last window of each key; one that has closed leaves none open."""
        if not len(runs):
            return
        last = np.flatnonzero(np.diff(runs.key, append=-1))
        chosen = np.arange(len(runs), len(runs) + len(self._counts))
        chosen[runs.key[last]] = last
        self._carried = [taken(column, chosen) for column in folded]
        self._counts[runs.key[last]] = np.where(is_open[last], counts[last], 0)

    def _goes_on(self, key: Array, window: Array) -> Array:
        """Which runs go on with a window that their key has carried over."""
        return (window == 0) & (self._counts[key] > 0)


def by_runs(codes: Array, keys: int) -> tuple[Array, Array, Array]:
    """The rows in the order of their keys, the key of each in that order, and its turn among those of the key."""
    order = by_key(codes, keys)
    ordered = codes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    turn = np.arange(len(codes)) - np.repeat(starts, np.diff(starts, append=len(codes)))
    return order, ordered, turn


def starts_of(keys: Array, windows: Array) -> Array:
    """Where runs begin among rows in the order of their keys and windows."""
    return np.flatnonzero((np.diff(keys, prepend=-1) != 0) | (np.diff(windows, prepend=-1) != 0))


class TumblingCounts(TumblingWindows):
    """Windows of `size` tuples."""

    def __init__(self, size: int, **options: Any) -> None:
        super().__init__(**options)
        self.size = size

    def fire(self, frame: Frame, keys: Sequence[Column], columns: Sequence[Column]) -> Frame:
        """Take a batch in; the frame has a row for each firing, with the values of the output functions."""
        present, local = self._take_out(self._table.find(keys, rows=len(frame)))
        order, ordered, turn = by_runs(local, len(present))
        window = (self._counts[ordered] + turn) // self.size
        starts = starts_of(ordered, window)
        runs = Runs(order, starts, ordered[starts], self._goes_on(ordered[starts], window[starts]))
        counts, folded = self._folded(runs, columns)
        is_full = counts[: len(runs)] == self.size
        closed = np.flatnonzero(is_full)
        closed = closed[np.argsort(runs.last[closed])]
        found = Frame(frame.places.take(runs.last[closed]), self._values(counts, folded, closed))
        self._carry(runs, counts, folded, ~is_full)
        self._put_back(present)
        return found


class TumblingDeltas(TumblingWindows):
    """Windows that end before a tuple whose measure lies more than `size` above that of their oldest tuple."""

    def __init__(self, size: Any, **options: Any) -> None:
        super().__init__(**options)
        self.size = size

    def fire(self, frame: Frame, keys: Sequence[Column], columns: Sequence[Column], measure: Array) -> Frame:
        """Take a batch in; the frame has a row for each firing, with the values of the output functions."""
        codes = self._table.find(keys, rows=len(frame))
        self._table.define("oldest", measure.dtype)
        present, local = self._take_out(codes)
        order, ordered, _ = by_runs(local, len(present))
        window = self._windows(present, ordered, measure[order])
        starts = starts_of(ordered, window)
        runs = Runs(order, starts, ordered[starts], self._goes_on(ordered[starts], window[starts]))
        counts, folded = self._folded(runs, columns)
        begins = np.flatnonzero(window[starts] > 0)
        begins = begins[np.argsort(runs.first[begins])]
        follows = (begins > 0) & (runs.key[begins - 1] == runs.key[begins])
        closed = np.where(follows, begins - 1, len(runs) + runs.key[begins])
        found = Frame(frame.places.take(runs.first[begins]), self._values(counts, folded, closed))
        self._carry(runs, counts, folded, np.ones(len(runs), bool))
        self._put_back(present)
        return found

    def _windows(self, present: Array, keys: Array, measured: Array) -> Array:
        """The number of the window of each row, those of a key next to each other; what is oldest is noted."""
        held = self._counts.tolist()
        oldest = self._table.take("oldest", present)
        begun: dict[int, Any] = {}
        found, before, window = [], -1, 0
        for key, value in zip(keys.tolist(), measured.tolist(), strict=True):
            if key != before:
                before, window = key, 0
                begun[key] = oldest[key].item() if held[key] else value
            if value - begun[key] > self.size:
                begun[key] = value
                window += 1
            found.append(window)
        if begun:
            oldest[list(begun)] = list(begun.values())
        self._table.put("oldest", present, oldest)
        return np.array(found, np.int64)


class TumblingMarkers(TumblingWindows):
    """Windows between window markers; there is no key."""

    def fire(self, frame: Frame, keys: Sequence[Column], columns: Sequence[Column]) -> Frame:
        """Take a batch in; the frame has a row for each marker with tuples before it."""
        marks = NOWHERE if frame.marks is None else frame.marks
        self._table.grow()
        self._load(_ALONE)
        window = _marks_before(frame, marks)
        starts = starts_of(np.zeros(len(frame), np.int64), window)
        key = np.zeros(len(starts), np.int64)
        runs = Runs(np.arange(len(frame)), starts, key, self._goes_on(key, window[starts]))
        counts, folded = self._folded(runs, columns)
        filled, closed = window[starts], np.arange(len(runs))
        if self._counts[0] and not (filled == 0).any():
            filled, closed = np.append(0, filled), np.append(len(runs), closed)
        fires = filled < len(marks)
        found = Frame(marks.take(filled[fires]), self._values(counts, folded, closed[fires]), marks)
        self._carry(runs, counts, folded, window[starts] == len(marks))
        if len(marks) and not (len(runs) and window[-1] == len(marks)):
            self._counts[:] = 0
        self._put_back(_ALONE)
        return found


def _marks_before(frame: Frame, marks: Any) -> Array:
    """How many markers come before each row."""
    _, order = merge([frame.places, marks])
    is_mark = order >= len(frame)
    return np.cumsum(is_mark)[~is_mark]
