"""Aggregates that are folded up tuple by tuple, for many windows at once.

Introduction:
    A tumbling window need not keep its tuples. Of each output function it keeps what the tuples so far amount to: a
    count, a sum, a least value. So the state of a key is a few numbers, however large its window is.

Formulation:
    A batch is divided into runs: the rows of one window of one key, in order. A fold makes of each run a value,
    starting from what the key has carried over where the run goes on with an open window. The last run of each key is
    carried over in its turn.

Algorithm:
    One pass over the rows, in numpy: O(b) for b rows. Floats are added one by one in order, because the sum depends on
    it; integers in any order, modulo 2^64.

Preserves: To the bit what `toolkit.aggregates.output_functions` gives: the order of additions, the earliest among
equals, NaN as the greatest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from penstock.codegen.rows.frames import concatenated, taken
from penstock.codegen.rows.places import Array
from penstock.expr.vector.frame import Column, dtype_of
from penstock.ir.types import Type, is_float
from penstock.toolkit.aggregates.numeric import truncated_mean

FUNCTIONS = frozenset({"Count", "Sum", "Average", "Min", "Max", "First", "Last", "Any"})


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The rows of a batch, by key and window.

    Attributes:
        order: The rows, those of a run next to each other.
        starts: Where each run begins in that order.
        key: The number of the key of each run.
        goes_on: Whether a run goes on with the window that its key has carried over.
    """

    order: Array
    starts: Array
    key: Array
    goes_on: Array

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def counts(self) -> Array:
        """How many rows each run has."""
        return np.diff(self.starts, append=len(self.order))

    @property
    def first(self) -> Array:
        """The first row of each run."""
        return self.order[self.starts]

    @property
    def last(self) -> Array:
        """The last row of each run."""
        return self.order[self.starts + self.counts - 1]

    @property
    def of_row(self) -> Array:
        """The run of each row, in the order of the runs."""
        return np.repeat(np.arange(len(self)), self.counts)


class Fold(Protocol):
    """One output function."""

    @property
    def held(self) -> Any:
        """The type of what is carried over: numpy's, SPL's, or numpy's with the shape of a value."""

    def over(self, runs: Runs, column: Column, carried: Column) -> Column:
        """The folded value of each run, continued from the carried value of its key where its window was open."""

    def value(self, folded: Column, counts: Array) -> Column:
        """The results of the output function for windows: from their folded values and numbers of tuples."""


class _CountFold:
    """The number of tuples; it is kept for all windows anyway."""

    held = np.int64

    def over(self, runs: Runs, column: Column, carried: Column) -> Column:
        counts = runs.counts
        counts[runs.goes_on] += carried[runs.key[runs.goes_on]]
        return counts

    def value(self, folded: Column, counts: Array) -> Column:
        return counts.astype(np.int32)


class _SumFold:
    """The sum; with `mean`, divided by the number of tuples."""

    def __init__(self, dtype: Any, *, mean: bool) -> None:
        self._dtype = np.dtype(dtype)
        self._mean = mean
        self.held = self._dtype if self._dtype.kind == "f" else np.dtype(np.int64)

    def over(self, runs: Runs, column: Column, carried: Column) -> Column:
        ordered = column[runs.order].astype(self.held)
        if self.held.kind == "f":
            total = np.zeros(len(runs), self.held)
        else:
            total = np.add.reduceat(ordered, runs.starts) if len(runs) else np.zeros(0, self.held)
        total[runs.goes_on] += carried[runs.key[runs.goes_on]]
        if self.held.kind == "f":
            np.add.at(total, runs.of_row, ordered)
        return total

    def value(self, folded: Column, counts: Array) -> Column:
        if not self._mean:
            return folded.astype(self._dtype)
        if self.held.kind == "f":
            return (folded.astype(np.float64) / counts).astype(self._dtype)
        return ((folded - np.fmod(folded, counts)) // counts).astype(self._dtype)


class _LongMeanFold:
    """The mean of integers whose sum may need more than 64 bits: the upper and the lower halves are added apart."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self.held = np.int64, (2,)

    def over(self, runs: Runs, column: Column, carried: Column) -> Column:
        ordered = column[runs.order]
        halves = (ordered >> self._dtype.type(32)), (ordered & self._dtype.type(0xFFFFFFFF))
        total = np.zeros((len(runs), 2), np.int64)
        for i, half in enumerate(halves):
            if len(runs):
                total[:, i] = np.add.reduceat(half.astype(np.int64), runs.starts)
        total[runs.goes_on] += carried[runs.key[runs.goes_on]]
        return total

    def value(self, folded: Column, counts: Array) -> Column:
        parts = zip(folded[:, 0].tolist(), folded[:, 1].tolist(), counts.tolist(), strict=True)
        return np.array([truncated_mean((high << 32) + low, count) for high, low, count in parts], self._dtype)


class _ExtremeFold:
    """The least or greatest value, the earliest among equals."""

    def __init__(self, dtype: Any, *, greatest: bool) -> None:
        self.held = np.dtype(dtype)
        self._greatest = greatest

    def over(self, runs: Runs, column: Column, carried: Column) -> Column:
        if not len(runs):
            return np.zeros(0, self.held)
        ordered = column[runs.order]
        # NaN is greater than everything: of a maximum it makes NaN, for a minimum it does not count.
        least = np.fmin if self.held.kind == "f" else np.minimum
        best = (np.maximum if self._greatest else least).reduceat(ordered, runs.starts)
        if self.held.kind == "f" and (np.signbit(ordered) & (ordered == 0)).any():
            self._pick_zeros(runs, ordered, best)
        on = runs.goes_on
        best[on] = better(carried[runs.key[on]], best[on], greatest=self._greatest)
        return best

    def _pick_zeros(self, runs: Runs, ordered: Array, best: Array) -> None:
        """Of 0.0 and -0.0, which are equal, the earlier one."""
        zeros = np.flatnonzero(ordered == 0)[::-1]
        first = np.zeros(len(runs), ordered.dtype)
        first[runs.of_row[zeros]] = ordered[zeros]
        best[best == 0] = first[best == 0]

    def value(self, folded: Column, counts: Array) -> Column:
        return folded


def better(earlier: Array, later: Array, *, greatest: bool) -> Array:
    """The better of two values each; the earlier one among equals, NaN greater than everything."""
    wins = later > earlier if greatest else later < earlier
    if earlier.dtype.kind == "f":
        nan = np.isnan(later) & ~np.isnan(earlier) if greatest else np.isnan(earlier) & ~np.isnan(later)
        wins |= nan
    return np.where(wins, later, earlier)


class _PickFold:
    """The value of the first or of the last tuple; of any type."""

    def __init__(self, type_: Type, *, first: bool) -> None:
        self.held = type_
        self._first = first

    def over(self, runs: Runs, column: Column, carried: Column) -> Column:
        known = len(carried)
        if not self._first:
            return taken(column, runs.last)
        chosen = np.where(runs.goes_on, runs.key, known + runs.first)
        return taken(concatenated([carried, column]), chosen)

    def value(self, folded: Column, counts: Array) -> Column:
        return folded


def fold_of(name: str, type_: Type | None) -> Fold:
    """The fold of an output function over an argument of a type.

    Example:
        >>> from penstock.ir.types import INT32
        >>> runs = Runs(np.array([0, 2, 1]), np.array([0, 2]), np.array([0, 1]), np.array([True, False]))
        >>> fold_of("Sum", INT32).over(runs, np.array([1, 2, 3]), np.array([10])).tolist()
        [14, 2]
    """
    if name == "Count" or type_ is None:
        return _CountFold()
    if name in ("First", "Last", "Any"):
        return _PickFold(type_, first=name == "First")
    dtype = dtype_of(type_)
    assert dtype is not None
    if name in ("Min", "Max"):
        return _ExtremeFold(dtype, greatest=name == "Max")
    if name == "Average" and not is_float(type_) and dtype.itemsize == 8:
        return _LongMeanFold(dtype)
    return _SumFold(dtype, mean=name == "Average")
