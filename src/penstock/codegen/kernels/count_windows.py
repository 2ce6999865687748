"""Windows of a number of tuples, for all keys at once.

Introduction:
    An Aggregate over `sliding, count(n), count(m)` looks, with every m-th tuple of a key, at the last n tuples of that
    key; one over `tumbling, count(n)` does the same with m = n. So one kernel does both.

Formulation: The state of a key is how many tuples it has had and, for each column that an aggregate needs, its last n
- 1 values. A batch is sorted by key, stably, and each key's tuples are put behind its old values in one long array.
The window of a tuple is then a slice that ends with it.

Algorithm: Sums of integers are differences of prefix sums, modulo 2^64. Sums of floats are added up as the reference
does, the oldest first: one addition of arrays for each position in the window, all windows at once. Least and
greatest values come from those of windows of half the size, and so on (log n steps). With b tuples of k keys in a
batch: O((b + k n) n) for float sums, O((b + k n) log n) for least and greatest, else O(b + k n); keys without a tuple
in the batch cost nothing.

Preserves: To the bit what `toolkit.relational.aggregate` gives: the order of additions, the earliest among equals,
NaN as the greatest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.kernels.column_operations import typed, values
from penstock.codegen.kernels.folds import better
from penstock.codegen.kernels.key_tables import KeyTable, TabledState
from penstock.codegen.kernels.keys import by_key
from penstock.codegen.rows.frames import Frame, taken
from penstock.codegen.rows.places import Array
from penstock.expr.vector.frame import Column, dtype_of
from penstock.ir.types import Type, is_float, parse_type
from penstock.toolkit.aggregates.numeric import truncated_mean

LONGEST = 10_000
"""The largest window for which keeping all values of a key in a row of an array is worth it."""


class CountWindows(TabledState):
    """The windows of all keys.

    Args:
        size: How many tuples a window holds.
        step: With which tuples of a key it fires: every `step`-th.
        keys: The types of the parts of a key.
        columns: The types of the arguments of the aggregates.
        calls: The aggregates, each with the column of its argument.
        incomplete: Whether windows fire that have never been full.
        names: The attributes that the parts of a key are; None if they are computed.
    """

    def __init__(
        self,
        *,
        size: int,
        step: int,
        keys: Sequence[str],
        columns: Sequence[str],
        calls: Sequence[tuple[str, int]],
        incomplete: bool = False,
        names: Sequence[str] | None = None,
    ) -> None:
        self.size = size
        self.step = step
        self.calls = calls
        self.incomplete = incomplete
        self._types = [parse_type(text) for text in columns]
        self._needed = sorted({column for name, column in calls if name not in ("Count", "Last", "Any")})
        held = {str(column): (dtype_of(self._types[column]) or object, (size - 1,)) for column in self._needed}
        self._table = KeyTable(names, keys, {"seen": np.int64, **held})
        self.tables = [self._table]

    def fire(self, frame: Frame, keys: Sequence[Column], columns: Sequence[Column]) -> Frame:
        """Take a batch in; the frame has a row for each firing, with the values of the aggregates."""
        codes = self._table.find(keys, rows=len(frame))
        layout = _Layout(codes, len(self._table), self.size - 1)
        before = self._table.take("seen", layout.present)
        seen = np.repeat(before, layout.counts)[layout.rank] + layout.turn
        fires = seen % self.step == 0
        if not self.incomplete:
            fires &= seen >= self.size
        rows = np.flatnonzero(fires)
        ends, lengths = layout.position[rows], np.minimum(seen[rows], self.size)
        longs = {column: self._long(column, columns[column], layout) for column in self._needed}
        found = {
            f"aggregate_{i}": self._value(name, column, columns, longs, rows, ends, lengths)
            for i, (name, column) in enumerate(self.calls)
        }
        self._table.put("seen", layout.present, before + layout.counts)
        return Frame(frame.places.take(rows), found)

    def _long(self, column: int, arrived: Column, layout: _Layout) -> Array:
        """The values of a column with those that their keys had before; the last of each key are kept for later."""
        plain = arrived if isinstance(arrived, np.ndarray) else _objects(arrived, self._types[column])
        long = layout.filled(self._table.take(str(column), layout.present), plain)
        self._table.put(str(column), layout.present, layout.last(long))
        return long

    def _value(
        self,
        name: str,
        column: int,
        columns: Sequence[Column],
        longs: dict[int, Array],
        rows: Array,
        ends: Array,
        lengths: Array,
    ) -> Column:
        if name == "Count":
            return lengths.astype(np.int32)
        if name in ("Last", "Any"):
            return taken(columns[column], rows)
        type_, long = self._types[column], longs[column]
        windows = Windows(long, ends, lengths, self.size)
        match name:
            case "First":
                first = long[ends - lengths + 1]
                return first if dtype_of(type_) is not None else typed(first.tolist(), type_)
            case "Sum":
                return windows.float_sum() if is_float(type_) else windows.integer_sum(long.dtype)
            case "Average":
                return windows.float_average() if is_float(type_) else windows.integer_average()
        return windows.extreme(greatest=name == "Max")


def _objects(column: pa.Array, type_: Type) -> Array:
    found = np.empty(len(column), object)
    found[:] = values(column, type_)
    return found


class _Layout:
    """A batch sorted by key, with room before the tuples of each key for what it had before.

    Attributes:
        present: The keys of the batch, ascending.
        counts: How many tuples each of them has.
        turn: For each row, the how-manieth of its key it is in this batch, from 1.
        rank: For each row its place in that order of the keys.
        position: For each row its place in the long array.
    """

    def __init__(self, codes: Array, keys: int, before: int) -> None:
        self.before = before
        order = by_key(codes, keys)
        ordered = codes[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        self.present = ordered[starts]
        self.counts = np.diff(starts, append=len(codes))
        block = np.repeat(np.arange(len(starts)), self.counts)
        index = np.arange(len(codes))
        self.turn, self.position, self.rank = (np.empty(len(codes), np.int64) for _ in range(3))
        self.rank[order] = index
        self.turn[order] = index - starts[block] + 1
        self.position[order] = index + (block + 1) * before
        self._starts = starts + np.arange(len(starts)) * before
        self._size = len(codes) + len(starts) * before

    def filled(self, held: Array, arrived: Array) -> Array:
        """The long array of a column; `held` are the values before, of each key that is present."""
        long = np.empty(self._size, held.dtype)
        long[self._starts[:, None] + np.arange(self.before)] = held
        long[self.position] = arrived
        return long

    def last(self, long: Array) -> Array:
        """The last values of each key that is present."""
        return long[(self._starts + self.counts)[:, None] + np.arange(self.before)]


class Windows:
    """Windows over a long array.

    Args:
        long: The values.
        ends: Where each window ends.
        lengths: How many values it holds.
        size: How many it holds when it is full.

    Example:
        >>> windows = Windows(np.array([3.0, 1.0, 2.0]), np.array([1, 2]), np.array([2, 2]), 2)
        >>> windows.float_sum().tolist(), windows.extreme(greatest=False).tolist()
        ([4.0, 3.0], [1.0, 1.0])
    """

    def __init__(self, long: Array, ends: Array, lengths: Array, size: int) -> None:
        self.long = long
        self.ends = ends
        self.lengths = lengths
        self.size = size
        self._are_full = bool((lengths == size).all())

    def float_sum(self) -> Array:
        """The sum of each window, the oldest value first."""
        if self._are_full and 2 * len(self.ends) > len(self.long):
            return self._sum_everywhere()[self.ends - self.size + 1]
        total = np.zeros(len(self.ends), self.long.dtype)
        for back in range(self.size - 1, -1, -1):
            inside = self.lengths > back
            if inside.all():
                total += self.long[self.ends - back]
            else:
                total[inside] += self.long[self.ends[inside] - back]
        return total

    def _sum_everywhere(self) -> Array:
        """The sum of the window that begins at each position."""
        count = max(len(self.long) - self.size + 1, 0)
        # As the reference begins with 0.0, a window of negative zeros adds up to a positive one.
        total = self.long[:count] + self.long.dtype.type(0.0)
        for offset in range(1, self.size):
            total += self.long[offset : offset + count]
        return total

    def float_average(self) -> Array:
        """The mean of each window."""
        total = self.float_sum()
        return (total.astype(np.float64) / self.lengths).astype(total.dtype)

    def integer_sum(self, dtype: Any) -> Array:
        """The sum of each window, wrapped into a type."""
        return self._wrapped_sum(self.long.astype(np.int64)).astype(dtype)

    def _wrapped_sum(self, values: Array) -> Array:
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])
        return before[self.ends + 1] - before[self.ends - self.lengths + 1]

    def integer_average(self) -> Array:
        """The mean of each window, truncated; the sum may need more than 64 bits."""
        if self.long.dtype.itemsize < 8:
            total = self._wrapped_sum(self.long.astype(np.int64))
            return ((total - np.fmod(total, self.lengths)) // self.lengths).astype(self.long.dtype)
        high = self._wrapped_sum((self.long >> self.long.dtype.type(32)).astype(np.int64)).tolist()
        low = self._wrapped_sum((self.long & self.long.dtype.type(0xFFFFFFFF)).astype(np.int64)).tolist()
        parts = zip(high, low, self.lengths.tolist(), strict=True)
        return np.array([truncated_mean((h << 32) + w, count) for h, w, count in parts], self.long.dtype)

    def extreme(self, *, greatest: bool) -> Array:
        """The least or greatest value of each window, the earliest among equals."""
        starts = self.ends - self.lengths + 1
        found = self.long[starts]
        best, width = self.long, 1
        while True:
            inside = self.lengths >= width
            # A window is covered by two of a power of two; the second may overlap the first.
            first, second = best[starts[inside]], best[self.ends[inside] - width + 1]
            found[inside] = better(first, second, greatest=greatest)
            if 2 * width > self.size:
                return found
            best = better(best[:-width], best[width:], greatest=greatest)
            width *= 2
