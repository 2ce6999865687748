"""DeDuplicate for all keys at once.

With every tuple that comes, its key is marked with the time, or with the number of tuples so far. If duplicates reset
the mark, each tuple has only to be compared with the one of its key before it: a shift within the batch sorted by key.
If not, the marks are followed one tuple after the other. A key is forgotten when it cannot make a duplicate any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.codegen.kernels.key_tables import table, unpacked
from penstock.codegen.kernels.keys import Keys, by_key, grown
from penstock.codegen.rows.places import Array
from penstock.expr.vector.frame import Column


class Duplicates:
    """When each key was last seen.

    Args:
        keys: The types of the parts of a key.
        limit: The largest difference of marks for which a tuple is a duplicate.
        resets: Whether a duplicate sets the mark anew.
        counts: Whether marks are numbers of tuples; otherwise they are times.
        names: The attributes that the parts of a key are; None if they are computed.
    """

    def __init__(
        self, *, keys: Sequence[str], limit: int, resets: bool, counts: bool, names: Sequence[str] | None = None
    ) -> None:
        self._keys = Keys(keys)
        self.limit = limit
        self.resets = resets
        self.counts = counts
        self._names = names
        self._marks = np.zeros(1, np.int64)
        self._received = 0

    def among(self, columns: Sequence[Column], times: Array) -> Array:
        """Which rows of a batch are duplicates; `times` are in ns."""
        rows = np.arange(len(times))
        now = self._received + 1 + rows if self.counts else times
        self._received += len(times)
        valid = np.flatnonzero(~_has_nan(columns, len(times)))
        before = len(self._keys)
        codes = self._keys.codes([_at(column, valid, len(times)) for column in columns])
        self._marks = grown(self._marks, len(self._keys))
        find = self._resetting if self.resets else self._following
        found = np.zeros(len(times), bool)
        found[valid] = find(codes, now[valid], before)
        if len(now):
            self._forget(int(now[-1]))
        return found

    def _resetting(self, codes: Array, now: Array, before: int) -> Array:
        order = by_key(codes, len(self._keys))
        ordered, marks = codes[order], now[order]
        is_first = np.diff(ordered, prepend=-1) != 0
        last = np.roll(marks, 1)
        last[is_first] = self._marks[ordered[is_first]]
        is_known = ~is_first | (ordered < before)
        found = np.empty(len(codes), bool)
        found[order] = is_known & (marks - last <= self.limit)
        self._marks[codes] = now
        return found

    def _following(self, codes: Array, now: Array, before: int) -> Array:
        marks: dict[int, int] = {}
        old = self._marks.tolist()
        found = []
        for code, mark in zip(codes.tolist(), now.tolist(), strict=True):
            last = marks.get(code, old[code] if code < before else None)
            is_duplicate = last is not None and mark - last <= self.limit
            if not is_duplicate:
                marks[code] = mark
            found.append(is_duplicate)
        for code, mark in marks.items():
            self._marks[code] = mark
        return np.array(found, bool)

    def _forget(self, now: int) -> None:
        """Let go of keys that are too old, once they are most of all."""
        marks = self._marks[: len(self._keys)]
        kept = now - marks <= self.limit
        if 2 * np.count_nonzero(kept) < len(marks):
            self._keys.keep(kept)
            self._marks = marks[kept]

    def snapshot(self) -> dict[str, Any]:
        """The state as plain data."""
        rows = {"marks": self._marks[: len(self._keys)]}
        whole = {"received": self._received} if self.counts else {}
        return {"tables": [table(self._names, self._keys.columns(), rows)], "whole": whole}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        (known,) = state["tables"]
        self._keys.restore([unpacked(column) for column in known["keys"]])
        self._marks = grown(unpacked(known["rows"]["marks"]), 1)
        self._received = state["whole"].get("received", 0)


def _has_nan(columns: Sequence[Column], rows: int) -> Array:
    """Which rows have a key that is equal to no other, not even to itself."""
    found = np.zeros(rows, bool)
    for column in columns:
        if isinstance(column, np.ndarray) and column.dtype.kind == "f":
            found |= np.isnan(column)
    return found


def _at(column: Column, chosen: Array, rows: int) -> Column:
    if len(chosen) == rows:
        return column
    return column[chosen] if isinstance(column, np.ndarray) else column.take(chosen)
