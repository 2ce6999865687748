"""Tumbling windows of a number of tuples, of a delta, or between window markers, for all keys at once.

Formulation:
    Each row of a batch has the number of its window, counted for its key from the one that is open when the batch
    begins. Rows of one key and window are a run (`folds`). A window closes with the tuple that fills it (a count), with
    one that lies beyond it (a delta), or with a marker; it then fires in the place of that tuple or marker.

Algorithm:
    Sorting by key and one pass over the rows: O(b + k) for b rows and k keys. Only a delta is followed row by row.

Preserves:
    The firings of `toolkit.windows.tumbling`, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.codegen.kernels.folds import Runs, fold_of
from penstock.codegen.kernels.key_tables import table, unpacked
from penstock.codegen.kernels.keys import Keys, by_key, grown
from penstock.codegen.rows.frames import Frame, concatenated, taken
from penstock.codegen.rows.places import NOWHERE, Array, merge
from penstock.expr.vector.frame import Column
from penstock.ir.types import parse_type


class TumblingWindows:
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
        self._keys = Keys(keys)
        self._names = names
        self._columns = [column for _, column in calls]
        self._folds = [fold_of(name, None if name == "Count" else types[column]) for name, column in calls]
        self._counts = np.zeros(0, np.int64)
        self._carried: list[Column] = [fold.fresh() for fold in self._folds]

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
        chosen = np.arange(len(runs), len(runs) + len(self._keys))
        chosen[runs.key[last]] = last
        self._carried = [taken(column, chosen) for column in folded]
        self._counts = grown(self._counts, len(self._keys))[: len(self._keys)]
        self._counts[runs.key[last]] = np.where(is_open[last], counts[last], 0)

    def _goes_on(self, key: Array, window: Array) -> Array:
        """Which runs go on with a window that their key has carried over."""
        known = len(self._counts)
        counts = np.append(self._counts, 0)
        return (window == 0) & (counts[np.minimum(key, known)] > 0)

    def _rows(self) -> dict[str, Column]:
        """The state of each key, as columns."""
        folds = {f"fold {i}": column for i, column in enumerate(self._carried)}
        return {"count": self._counts, **folds}

    def snapshot(self) -> dict[str, Any]:
        """The state as plain data."""
        return {"tables": [table(self._names, self._keys.columns(), self._rows())], "whole": {}}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        (known,) = state["tables"]
        self._keys.restore([unpacked(column) for column in known["keys"]])
        self._take_rows({name: unpacked(column) for name, column in known["rows"].items()})

    def _take_rows(self, rows: dict[str, Column]) -> None:
        self._counts = rows["count"]
        self._carried = [rows[f"fold {i}"] for i in range(len(self._folds))]


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
        codes = self._keys.codes(keys, rows=len(frame))
        order, ordered, turn = by_runs(codes, len(self._keys))
        before = grown(self._counts, len(self._keys))
        window = (before[ordered] + turn) // self.size
        starts = starts_of(ordered, window)
        runs = Runs(order, starts, ordered[starts], self._goes_on(ordered[starts], window[starts]))
        counts, folded = self._folded(runs, columns)
        is_full = counts[: len(runs)] == self.size
        closed = np.flatnonzero(is_full)
        closed = closed[np.argsort(runs.last[closed])]
        found = Frame(frame.places.take(runs.last[closed]), self._values(counts, folded, closed))
        self._carry(runs, counts, folded, ~is_full)
        return found


class TumblingDeltas(TumblingWindows):
    """Windows that end before a tuple whose measure lies more than `size` above that of their oldest tuple."""

    def __init__(self, size: Any, **options: Any) -> None:
        super().__init__(**options)
        self.size = size
        self._oldest: Array = np.zeros(0)

    def fire(self, frame: Frame, keys: Sequence[Column], columns: Sequence[Column], measure: Array) -> Frame:
        """Take a batch in; the frame has a row for each firing, with the values of the output functions."""
        codes = self._keys.codes(keys, rows=len(frame))
        order, ordered, _ = by_runs(codes, len(self._keys))
        window = self._windows(ordered, measure[order])
        starts = starts_of(ordered, window)
        runs = Runs(order, starts, ordered[starts], self._goes_on(ordered[starts], window[starts]))
        counts, folded = self._folded(runs, columns)
        begins = np.flatnonzero(window[starts] > 0)
        begins = begins[np.argsort(runs.first[begins])]
        follows = (begins > 0) & (runs.key[begins - 1] == runs.key[begins])
        closed = np.where(follows, begins - 1, len(runs) + runs.key[begins])
        found = Frame(frame.places.take(runs.first[begins]), self._values(counts, folded, closed))
        self._carry(runs, counts, folded, np.ones(len(runs), bool))
        return found

    def _windows(self, keys: Array, measured: Array) -> Array:
        """The number of the window of each row, those of a key next to each other; what is oldest is noted."""
        held = grown(self._counts, len(self._keys)).tolist()
        oldest = grown(self._oldest.astype(measured.dtype), len(self._keys))
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
        self._oldest = oldest[: len(self._keys)]
        return np.array(found, np.int64)

    def _rows(self) -> dict[str, Column]:
        return {**super()._rows(), "oldest": self._oldest[: len(self._counts)]}

    def _take_rows(self, rows: dict[str, Column]) -> None:
        super()._take_rows(rows)
        self._oldest = rows["oldest"]


class TumblingMarkers(TumblingWindows):
    """Windows between window markers; there is no key."""

    def fire(self, frame: Frame, keys: Sequence[Column], columns: Sequence[Column]) -> Frame:
        """Take a batch in; the frame has a row for each marker with tuples before it."""
        marks = NOWHERE if frame.marks is None else frame.marks
        window = _marks_before(frame, marks)
        starts = starts_of(np.zeros(len(frame), np.int64), window)
        key = np.zeros(len(starts), np.int64)
        runs = Runs(np.arange(len(frame)), starts, key, self._goes_on(key, window[starts]))
        counts, folded = self._folded(runs, columns)
        filled, closed = window[starts], np.arange(len(runs))
        if len(self._counts) and self._counts[0] and not (filled == 0).any():
            filled, closed = np.append(0, filled), np.append(len(runs), closed)
        fires = filled < len(marks)
        found = Frame(marks.take(filled[fires]), self._values(counts, folded, closed[fires]), marks)
        self._carry(runs, counts, folded, window[starts] == len(marks))
        if len(self._counts) and len(marks) and not (len(runs) and window[-1] == len(marks)):
            self._counts[:] = 0
        return found


def _marks_before(frame: Frame, marks: Any) -> Array:
    """How many markers come before each row."""
    _, order = merge([frame.places, marks])
    is_mark = order >= len(frame)
    return np.cumsum(is_mark)[~is_mark]
