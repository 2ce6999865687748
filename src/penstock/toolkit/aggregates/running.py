"""Aggregates that keep up with a sliding window: a step for each tuple that comes or leaves, whatever the window holds.

Only where the result is exactly that of looking at the whole window again: sums and averages of integers, least and
greatest values, numbers of distinct values. A sum of floats depends on the order of its additions, so taking a value
out again would leave a trace: it is added up anew each time, from a column of its own (`Refolded`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable
from typing import Any, Protocol

from penstock.expr.values.numbers import wrap_integer
from penstock.ir.types import Primitive
from penstock.toolkit.aggregates.distinct import Identity
from penstock.toolkit.aggregates.numeric import truncated_mean


class Running(Protocol):
    """An aggregate over what a window holds now."""

    def insert(self, value: Any) -> None:
        """A value has come."""

    def evict(self, value: Any) -> None:
        """The oldest value has left."""

    def value(self) -> Any:
        """The aggregate of the values that are there, at least one."""


class RunningSum:
    """The sum of integers, wrapped into their type."""

    def __init__(self, type_: Primitive) -> None:
        self.type = type_
        self.total = 0

    def insert(self, value: int) -> None:
        """Add."""
        self.total += value

    def evict(self, value: int) -> None:
        """Take away."""
        self.total -= value

    def value(self) -> int:
        """The sum."""
        return wrap_integer(self.total, self.type)


class RunningAverage(RunningSum):
    """The mean of integers, truncated towards zero."""

    def __init__(self, type_: Primitive) -> None:
        super().__init__(type_)
        self.count = 0

    def insert(self, value: int) -> None:
        """Add."""
        self.total += value
        self.count += 1

    def evict(self, value: int) -> None:
        """Take away."""
        self.total -= value
        self.count -= 1

    def value(self) -> int:
        """The mean."""
        return truncated_mean(self.total, self.count)


class Refolded:
    """An aggregate that is computed anew from the values that are there, in order."""

    def __init__(self, compute: Callable[[deque[Any]], Any]) -> None:
        self.compute = compute
        self.column: deque[Any] = deque()
        self.insert = self.column.append

    def evict(self, value: Any) -> None:
        """Drop the oldest."""
        self.column.popleft()

    def value(self) -> Any:
        """The aggregate of the column."""
        return self.compute(self.column)


class RunningExtreme:
    """The least or greatest value, the earliest among equals.

    Holds the values that no later one beats, the best first, each with its position in the stream.
    """

    def __init__(self, beats: Callable[[Any, Any], bool], key: Callable[[Any], Any] | None) -> None:
        self.beats = beats
        self.key = key
        self.inserted = 0
        self.evicted = 0
        self.candidates: deque[tuple[int, Any, Any]] = deque()

    def insert(self, value: Any) -> None:
        """Drop the candidates that the new value beats."""
        rank = value if self.key is None else self.key(value)
        candidates = self.candidates
        while candidates and self.beats(rank, candidates[-1][1]):
            candidates.pop()
        candidates.append((self.inserted, rank, value))
        self.inserted += 1

    def evict(self, value: Any) -> None:
        """Drop the best candidate if it is the value that leaves."""
        if self.candidates[0][0] == self.evicted:
            self.candidates.popleft()
        self.evicted += 1

    def value(self) -> Any:
        """The best candidate."""
        return self.candidates[0][2]


class RunningDistinct:
    """The number of distinct values."""

    def __init__(self, identity: Identity | None) -> None:
        self.identity = identity
        self.counts: Counter[Hashable] = Counter()

    def insert(self, value: Any) -> None:
        """Count."""
        self.counts[value if self.identity is None else self.identity(value)] += 1

    def evict(self, value: Any) -> None:
        """Count down."""
        key = value if self.identity is None else self.identity(value)
        if self.counts[key] == 1:
            del self.counts[key]
        else:
            self.counts[key] -= 1

    def value(self) -> int:
        """How many different ones there are."""
        return len(self.counts)
