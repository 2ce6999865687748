"""The contents of a sliding window: the memory of one partition, by its eviction policy.

An item leaves with a call of `evicted`, the oldest first. `has_been_full` says whether the window has ever been whole:
it has held `count(n)` items; `time(t)` seconds have passed since its first; a `delta` has had something to evict.

A memory is saved as a whole, or item by item: `marks` gives what the policy knows of each item, and `put_back`
takes an item with its mark, in the old order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from penstock.expr.environment import Clock, Tuple
from penstock.ir.graph import PolicyKind
from penstock.toolkit.core.memory import Remembering
from penstock.toolkit.windows.policy import Measure, ReadyPolicy

Notify = Callable[[Any], None]


def ignore(item: Any) -> None:
    """Nobody wants to know."""


class Keeping(Remembering):
    """The base of the memories of sliding windows."""

    __slots__ = ("items",)
    items: deque[Any]

    def marks(self) -> Sequence[Any]:
        """The mark of each item, which holds what the policy knows of it; by default None."""
        return (None,) * len(self.items)

    def put_back(self, item: Any, mark: Any) -> None:
        """Keep an item that another memory kept."""
        self.items.append(item)


class CountEviction(Keeping):
    """Keeps the last `size` items."""

    __slots__ = ("evicted", "has_been_full", "size")
    remembers = ("items", "has_been_full")

    def __init__(self, size: int, evicted: Notify) -> None:
        self.size = size
        self.evicted = evicted
        self.items: deque[Any] = deque()
        self.has_been_full = False

    def expire(self) -> None:
        """Counts do not expire."""

    def make_room(self, tuple_: Tuple) -> None:
        """Evict what must leave before the tuple comes in."""
        if len(self.items) == self.size:
            self.evicted(self.items.popleft())

    def add(self, item: Any) -> None:
        """Keep an item."""
        self.items.append(item)
        if len(self.items) == self.size:
            self.has_been_full = True


class NoMemory(Keeping):
    """`count(0)`: every item leaves as it comes."""

    __slots__ = ("evicted", "has_been_full")

    def __init__(self, evicted: Notify) -> None:
        self.evicted = evicted
        self.items: deque[Any] = deque()
        self.has_been_full = True

    def expire(self) -> None:
        """There is nothing to expire."""

    def make_room(self, tuple_: Tuple) -> None:
        """There is nothing to evict."""

    def add(self, item: Any) -> None:
        """Let the item go at once."""
        self.evicted(item)


class DeltaEviction(Keeping):
    """Keeps the items whose measure lies at most `size` below that of the newest tuple; the oldest leave first."""

    __slots__ = ("evicted", "has_been_full", "measure", "newest", "size", "values")
    remembers = ("items", "values", "has_been_full")

    def __init__(self, size: Any, measure: Measure, evicted: Notify) -> None:
        self.size = size
        self.measure = measure
        self.evicted = evicted
        self.items: deque[Any] = deque()
        self.values: deque[Any] = deque()
        self.newest: Any = None
        self.has_been_full = False

    def expire(self) -> None:
        """Deltas do not expire."""

    def make_room(self, tuple_: Tuple) -> None:
        """Evict what lies too far below the tuple."""
        self.newest = value = self.measure(tuple_)
        while self.values and value - self.values[0] > self.size:
            self.values.popleft()
            self.has_been_full = True
            self.evicted(self.items.popleft())

    def add(self, item: Any) -> None:
        """Keep an item."""
        self.items.append(item)
        self.values.append(self.newest)

    def marks(self) -> Sequence[Any]:
        """The measure of each item."""
        return self.values

    def put_back(self, item: Any, mark: Any) -> None:
        """Keep an item that another memory kept."""
        self.items.append(item)
        self.values.append(mark)


class TimeEviction(Keeping):
    """Keeps the items of the last `size` nanoseconds: what came at T is not there any more at T + size.

    Nothing waits for that: who looks at the items calls `expire` before, so when they leave cannot be seen.
    """

    __slots__ = ("arrivals", "clock", "evicted", "first_ns", "size")
    remembers = ("items", "arrivals", "first_ns")

    def __init__(self, size: int, clock: Clock, evicted: Notify) -> None:
        self.size = size
        self.clock = clock
        self.evicted = evicted
        self.items: deque[Any] = deque()
        self.arrivals: deque[int] = deque()
        self.first_ns: int | None = None

    @property
    def has_been_full(self) -> bool:
        """Whether the first tuple's time is over."""
        return self.first_ns is not None and self.clock.now_ns - self.first_ns >= self.size

    def expire(self) -> None:
        """Evict what is too old by now."""
        horizon = self.clock.now_ns - self.size
        while self.arrivals and self.arrivals[0] <= horizon:
            self.arrivals.popleft()
            self.evicted(self.items.popleft())

    def make_room(self, tuple_: Tuple) -> None:
        """Nothing leaves because something comes."""

    def add(self, item: Any) -> None:
        """Keep an item."""
        now_ns = self.clock.now_ns
        if self.first_ns is None:
            self.first_ns = now_ns
        self.items.append(item)
        self.arrivals.append(now_ns)

    def snapshot(self) -> Any:
        """The state as plain data, without the items that have expired by now."""
        self.expire()
        return super().snapshot()

    def marks(self) -> Sequence[int]:
        """When each item came."""
        return self.arrivals

    def put_back(self, item: Any, mark: int) -> None:
        """Keep an item that another memory kept."""
        self.items.append(item)
        self.arrivals.append(mark)


Eviction = CountEviction | NoMemory | DeltaEviction | TimeEviction


def eviction(policy: ReadyPolicy, clock: Clock, evicted: Notify) -> Eviction:
    """An empty memory that keeps what a policy says."""
    match policy.kind:
        case PolicyKind.TIME:
            return TimeEviction(policy.size, clock, evicted)
        case PolicyKind.DELTA:
            assert policy.measure is not None
            return DeltaEviction(policy.size, policy.measure, evicted)
        case _:
            return CountEviction(policy.size, evicted) if policy.size else NoMemory(evicted)
