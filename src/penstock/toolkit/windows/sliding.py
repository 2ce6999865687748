"""Sliding windows of one partition: the oldest items leave as new ones come; a trigger says when to look.

Order of events for one tuple: with a count or time trigger evict, insert, then trigger, so the window that fires holds
the new tuple; with a delta trigger the trigger comes first, so it does not. What has outlived a time policy has left
before anything else happens. A count trigger counts the tuples of the partition from the first on; a delta trigger
fires on a tuple that lies more than its size above the tuple that fired last (above the first tuple at the start); a
time trigger fires periodically from the first tuple on.

`eviction` has the memories; with a time trigger a window counts as full from the start. It is for the operator
to care whether a window `has_been_full`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.expr.environment import Tuple
from penstock.ir.graph import PolicyKind
from penstock.toolkit.core.memory import Remembering, Timer
from penstock.toolkit.core.runtime import Context
from penstock.toolkit.windows.eviction import Eviction, Notify, eviction, ignore
from penstock.toolkit.windows.policy import ReadyPolicy, ReadyWindow


class Sliding(Remembering):
    """The base of the sliding windows of a partition.

    Attributes:
        memory: The items that it holds.
        fire: Called with the window when its trigger says so.
        inserted: Called with every item before it is kept.
    """

    remembers: tuple[str, ...] = ("memory",)

    def __init__(self, memory: Eviction, fire: Fire, inserted: Notify) -> None:
        self.memory = memory
        self.fire = fire
        self.inserted = inserted

    @property
    def items(self) -> deque[Any]:
        """The items of the window, the oldest first."""
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

    def restore(self, state: Any) -> None:
        """Take back what another window held; who keeps up with the window learns of every item again."""
        super().restore(state)
        for item in self.items:
            self.inserted(item)


class SlidingCount(Sliding):
    """Fires with every `size`-th tuple, which is then in the window."""

    remembers = ("memory", "count")

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

    remembers = ("memory", "last")

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

    remembers = ("memory", "timer")

    def __init__(self, memory: Eviction, size: int, context: Context, fire: Fire, inserted: Notify) -> None:
        super().__init__(memory, fire, inserted)
        self.size = size
        self.context = context
        self.timer = Timer(context, self._on_timer)

    @property
    def has_been_full(self) -> bool:
        """With a time trigger a window counts as whole from the start."""
        return True

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Evict, insert; the first tuple starts the timer."""
        super().insert(tuple_, item)
        if self.timer.due_ns is None:
            self.timer.set(self.context.environment.clock.now_ns + self.size)

    def _on_timer(self, due_ns: int) -> None:
        self.timer.set(due_ns + self.size)
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
    memory = eviction(window.eviction, context.environment.clock, evicted)
    match window.trigger.kind:
        case PolicyKind.TIME:
            return SlidingTime(memory, window.trigger.size, context, fire, inserted)
        case PolicyKind.DELTA:
            return SlidingDelta(memory, window.trigger, fire, inserted)
        case _:
            return SlidingCount(memory, window.trigger.size, fire, inserted)
