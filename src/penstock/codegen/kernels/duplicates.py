"""DeDuplicate for all keys at once.

With every tuple that comes, its key is marked with the time, or with the number of tuples so far. If duplicates reset
the mark, each tuple has only to be compared with the one of its key before it: a shift within the batch sorted by key.
If not, the marks are followed one tuple after the other. A key is forgotten when it cannot make a duplicate any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.codegen.kernels.column_operations import values
from penstock.codegen.kernels.key_tables import KeyTable, TabledState
from penstock.codegen.kernels.keys import by_key
from penstock.codegen.rows.places import Array
from penstock.expr.vector.frame import Column
from penstock.ir.types import Type, is_decimal


class Duplicates(TabledState):
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
        self._table = KeyTable(names, keys, {"marks": np.int64})
        self.tables = [self._table]
        self.limit = limit
        self.resets = resets
        self.counts = counts
        self._received = 0
        self._kept = 0

    def among(self, columns: Sequence[Column], times: Array) -> Array:
        """Which rows of a batch are duplicates; `times` are in ns."""
        rows = np.arange(len(times))
        now = self._received + 1 + rows if self.counts else times
        self._received += len(times)
        valid = np.flatnonzero(~_has_nan(columns, self._table.keys.types, len(times)))
        before = len(self._table)
        codes = self._table.find([_at(column, valid, len(times)) for column in columns])
        find = self._resetting if self.resets else self._following
        found = np.zeros(len(times), bool)
        found[valid] = find(codes, now[valid], before)
        if len(now):
            self._forget(int(now[-1]))
        return found

    def _resetting(self, codes: Array, now: Array, before: int) -> Array:
        order = by_key(codes, len(self._table))
        ordered, marks = codes[order], now[order]
        is_first = np.diff(ordered, prepend=-1) != 0
        last = np.roll(marks, 1)
        last[is_first] = self._table.take("marks", ordered[is_first])
        is_known = ~is_first | (ordered < before)
        found = np.empty(len(codes), bool)
        found[order] = is_known & (marks - last <= self.limit)
        self._table.put("marks", codes, now)
        return found

    def _following(self, codes: Array, now: Array, before: int) -> Array:
        marks: dict[int, int] = {}
        held = self._table.take("marks", codes).tolist()
        found = []
        for code, mark, old in zip(codes.tolist(), now.tolist(), held, strict=True):
            last = marks.get(code, old if code < before else None)
            is_duplicate = last is not None and mark - last <= self.limit
            if not is_duplicate:
                marks[code] = mark
            found.append(is_duplicate)
        self._table.put("marks", np.array(list(marks), np.int64), np.array(list(marks.values()), np.int64))
        return np.array(found, bool)

    def _forget(self, now: int) -> None:
        """Let go of keys that are too old, once they are most of all."""
        # They are looked through only when there are a few more, so that a batch does not pay for all keys.
        if len(self._table) < self._kept + self._kept // 8:
            return
        marks = self._table.head("marks")
        kept = now - marks <= self.limit
        self._kept = len(kept)
        if 2 * np.count_nonzero(kept) < len(marks):
            self._table.keep(kept)
            self._kept = len(self._table)

    def whole(self) -> dict[str, Any]:
        """How many tuples have come."""
        return {"received": self._received} if self.counts else {}

    def restore_whole(self, whole: Mapping[str, Any]) -> None:
        """Go on counting."""
        self._received, self._kept = whole.get("received", 0), 0


def _has_nan(columns: Sequence[Column], types: Sequence[Type], rows: int) -> Array:
    """Which rows have a key that is equal to no other, not even to itself."""
    found = np.zeros(rows, bool)
    for column, type_ in zip(columns, types, strict=True):
        if isinstance(column, np.ndarray) and column.dtype.kind == "f":
            found |= np.isnan(column)
        elif is_decimal(type_):
            found |= np.array([value.is_nan() for value in values(column, type_)], bool)
    return found


def _at(column: Column, chosen: Array, rows: int) -> Column:
    if len(chosen) == rows:
        return column
    return column[chosen] if isinstance(column, np.ndarray) else column.take(chosen)
