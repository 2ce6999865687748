"""Sliding windows of one partition: the oldest items leave as new ones come; a trigger says when to look.

Order of events for one tuple: with a count or time trigger evict, insert, then trigger, so the window that fires holds
the new tuple; with a delta trigger the trigger comes first, so it does not. What has outlived a time policy has left
before anything else happens. A count trigger counts the tuples of the partition from the first on; a delta trigger
fires on a tuple that lies more than its size above the tuple that fired last (above the first tuple at the start); a
time trigger fires periodically from the first tuple on.

A window has been full once it has held `count(n)` tuples, `time(t)` seconds after its first tuple, once a `delta`
policy has had something to evict, and with a time trigger always: `has_been_full`. It is for the operator to care.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.expr.environment import Tuple
from penstock.ir.graph import PolicyKind
from penstock.toolkit.runtime import Context
from penstock.toolkit.windows_policy import Measure, ReadyPolicy, ReadyWindow

Notify = Callable[[Any], None]


def ignore(item: Any) -> None:
    """Nobody wants to know."""


class CountEviction:
    """Keeps the last `size` items."""

    __slots__ = ("evicted", "has_been_full", "items", "size")

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


class NoMemory:
    """`count(0)`: every item leaves as it comes."""

    __slots__ = ("evicted", "has_been_full", "items")

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


class DeltaEviction:
    """Keeps the items whose measure lies at most `size` below that of the newest tuple; the oldest leave first."""

    __slots__ = ("evicted", "has_been_full", "items", "measure", "newest", "size", "values")

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


class TimeEviction:
    """Keeps the items of the last `size` nanoseconds: what came at T has left at T + size.

    `punctual` windows evict with a timer at that very time; others do it when next they are looked at, which nobody who
    only reads the window can tell apart.
    """

    __slots__ = ("arrivals", "context", "evicted", "first_ns", "is_armed", "items", "punctual", "size")

    def __init__(self, size: int, context: Context, evicted: Notify, *, punctual: bool) -> None:
        self.size = size
        self.context = context
        self.evicted = evicted
        self.punctual = punctual
        self.items: deque[Any] = deque()
        self.arrivals: deque[int] = deque()
        self.first_ns: int | None = None
        self.is_armed = False

    @property
    def has_been_full(self) -> bool:
        """Whether the first tuple's time is over."""
        return self.first_ns is not None and self.context.environment.clock.now_ns - self.first_ns >= self.size

    def expire(self) -> None:
        """Evict what is too old by now."""
        horizon = self.context.environment.clock.now_ns - self.size
        while self.arrivals and self.arrivals[0] <= horizon:
            self.arrivals.popleft()
            self.evicted(self.items.popleft())

    def make_room(self, tuple_: Tuple) -> None:
        """Nothing leaves because something comes."""

    def add(self, item: Any) -> None:
        """Keep an item."""
        now_ns = self.context.environment.clock.now_ns
        if self.first_ns is None:
            self.first_ns = now_ns
        self.items.append(item)
        self.arrivals.append(now_ns)
        self._arm()

    def _arm(self) -> None:
        if self.punctual and not self.is_armed and self.arrivals:
            self.is_armed = True
            self.context.at(self.arrivals[0] + self.size, self._on_timer)

    def _on_timer(self) -> None:
        self.is_armed = False
        self.expire()
        self._arm()


Eviction = CountEviction | NoMemory | DeltaEviction | TimeEviction


def eviction(policy: ReadyPolicy, context: Context, evicted: Notify, *, punctual: bool = False) -> Eviction:
    """An empty memory that keeps what a policy says."""
    match policy.kind:
        case PolicyKind.TIME:
            return TimeEviction(policy.size, context, evicted, punctual=punctual)
        case PolicyKind.DELTA:
            assert policy.measure is not None
            return DeltaEviction(policy.size, policy.measure, evicted)
        case _:
            return CountEviction(policy.size, evicted) if policy.size else NoMemory(evicted)


class Sliding:
    """What all sliding windows of a partition share.

    Attributes:
        memory: What it holds.
        fire: Called with the window when its trigger says so.
        inserted: Told of every item before it is kept.
    """

    def __init__(self, memory: Eviction, fire: Fire, inserted: Notify) -> None:
        self.memory = memory
        self.fire = fire
        self.inserted = inserted

    @property
    def items(self) -> deque[Any]:
        """What the window holds, the oldest first."""
        return self.memory.items

    @property
    def has_been_full(self) -> bool:
        """Whether the window has ever been whole."""
        return self.memory.has_been_full

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Take a tuple: evict, insert."""
        self.memory.expire()
        self.memory.make_room(tuple_)
        self.inserted(item)
        self.memory.add(item)

    def on_punctuation(self) -> None:
        """Sliding windows know no punctuation."""


class SlidingCount(Sliding):
    """Fires with every `size`-th tuple, which is then in the window."""

    def __init__(self, memory: Eviction, size: int, fire: Fire, inserted: Notify) -> None:
        super().__init__(memory, fire, inserted)
        self.size = size
        self.count = 0

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Evict, insert, trigger."""
        memory = self.memory
        memory.expire()
        memory.make_room(tuple_)
        self.inserted(item)
        memory.add(item)
        self.count += 1
        if self.count == self.size:
            self.count = 0
            self.fire(self)


class SlidingDelta(Sliding):
    """Fires before a tuple that lies more than `size` above the tuple before which it fired last."""

    def __init__(self, memory: Eviction, policy: ReadyPolicy, fire: Fire, inserted: Notify) -> None:
        super().__init__(memory, fire, inserted)
        assert policy.measure is not None
        self.size = policy.size
        self.measure = policy.measure
        self.last: Any = None

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Trigger, evict, insert."""
        value = self.measure(tuple_)
        if self.last is None:
            self.last = value
        elif value - self.last > self.size:
            self.last = value
            self.memory.expire()
            self.fire(self)
        super().insert(tuple_, item)


class SlidingTime(Sliding):
    """Fires every `size` nanoseconds from the partition's first tuple on, empty or not."""

    def __init__(self, memory: Eviction, size: int, context: Context, fire: Fire, inserted: Notify) -> None:
        super().__init__(memory, fire, inserted)
        self.size = size
        self.context = context
        self.next_ns: int | None = None

    @property
    def has_been_full(self) -> bool:
        """With a time trigger a window counts as whole from the start."""
        return True

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Evict, insert; the first tuple starts the timer."""
        super().insert(tuple_, item)
        if self.next_ns is None:
            self._arm(self.context.environment.clock.now_ns)

    def _arm(self, now_ns: int) -> None:
        self.next_ns = now_ns + self.size
        self.context.at(self.next_ns, self._on_timer)

    def _on_timer(self) -> None:
        assert self.next_ns is not None
        self._arm(self.next_ns)
        self.memory.expire()
        self.fire(self)


Fire = Callable[[Sliding], None]


def sliding(
    window: ReadyWindow, context: Context, fire: Fire, *, inserted: Notify = ignore, evicted: Notify = ignore
) -> Sliding:
    """An empty sliding window.

    Args:
        window: Its policies.
        context: Gives the time and timers.
        fire: Called with the window whenever it is triggered.
        inserted: Told of every item that comes.
        evicted: Told of every item that leaves.
    """
    memory = eviction(window.eviction, context, evicted)
    match window.trigger.kind:
        case PolicyKind.TIME:
            return SlidingTime(memory, window.trigger.size, context, fire, inserted)
        case PolicyKind.DELTA:
            return SlidingDelta(memory, window.trigger, fire, inserted)
        case _:
            return SlidingCount(memory, window.trigger.size, fire, inserted)
