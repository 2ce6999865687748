"""Partitions that are forgotten when they are idle: `partitioned, partitionAge(60)`.

A partition into which no tuple has been inserted for so many seconds is deleted with all that it holds, and its window
never fires; a tuple that comes later starts a new one. Nobody can tell when exactly that happens, so nothing waits for
it: the age is looked at when the partition is next asked for something (by a tuple, a marker or its own timer), when
state is stored, and when there are twice as many partitions as were left the last time.

Where what a partition held is aggregated as it goes (`aggregateEvictedPartitions`), everybody can tell: an
`IdleWindow` waits for the very moment.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from penstock.expr.environment import Clock, Tuple
from penstock.toolkit.core.memory import Remembering, Timer, same_nan
from penstock.toolkit.core.runtime import Context
from penstock.toolkit.windows.partition import Key, Part, Partitions
from penstock.toolkit.windows.tumbling import WindowOfPartition

FEW = 1024
"""So many partitions are never looked through."""


class AgingPart(Part, Protocol):
    """A part that can be told to end."""

    def cease(self) -> None:
        """Wait for nothing any more."""


A = TypeVar("A", bound=AgingPart)


class AgingPartitions(Partitions[A]):
    """Partitions with the time of the last tuple of each.

    Args:
        key: Gives the key of a tuple.
        make: Makes the part of a key.
        names: The attributes that are the key.
        age_ns: How long a partition is kept without a tuple.
        clock: Of the application.
    """

    def __init__(
        self, key: Key, make: Callable[[Hashable], A], names: tuple[str, ...] | None, *, age_ns: int, clock: Clock
    ) -> None:
        super().__init__(key, make, names)
        self.age_ns, self.clock = age_ns, clock
        self.last_ns: dict[Hashable, int] = {}
        self.many = FEW

    def of(self, tuple_: Tuple) -> A:
        """The part that a tuple is about to be inserted into."""
        assert self.key is not None
        key = self.key(tuple_)
        if not self.forget_if_old(key) and len(self.parts) >= self.many:
            self._forget_all_old()
        self.last_ns[key] = self.clock.now_ns
        return self.at(key)

    def forget_if_old(self, key: Hashable) -> bool:
        """Forget the part of a key if it has been idle for too long; tells whether it has."""
        last_ns = self.last_ns.get(key)
        is_old = last_ns is not None and self.clock.now_ns - last_ns >= self.age_ns
        if is_old:
            del self.last_ns[key]
            self.parts.pop(key).cease()
        return is_old

    def snapshot_parts(self) -> dict[Hashable, Any]:
        """The place, the memory and the last time of each part that is neither blank nor old."""
        self._forget_all_old()
        return {key: (*part, self.last_ns[key]) for key, part in super().snapshot_parts().items()}

    def restore_parts(self, parts: Mapping[Hashable, Any]) -> None:
        """Make the parts again, in their old order."""
        super().restore_parts({key: part[:2] for key, part in parts.items()})
        self.last_ns.update({same_nan(key): part[2] for key, part in parts.items()})

    def __iter__(self) -> Iterator[A]:
        self._forget_all_old()
        return super().__iter__()

    def _forget_all_old(self) -> None:
        for key in list(self.parts):
            self.forget_if_old(key)
        self.many = max(FEW, 2 * len(self.parts))


class IdleWindow(Remembering):
    """A tumbling window that is told when no tuple has come for some time.

    Args:
        window: Takes the tuples.
        age_ns: How long it may be idle.
        evict: Called when it has been idle for so long.
        context: Of the operator.
    """

    remembers = ("window", "last_ns", "timer")

    def __init__(self, window: WindowOfPartition, *, age_ns: int, evict: Callable[[], None], context: Context) -> None:
        self.window, self.age_ns, self.evict = window, age_ns, evict
        self.clock = context.environment.clock
        self.last_ns = 0
        self.timer = Timer(context, self._on_timer)

    def is_old(self) -> bool:
        """Whether its time is up, even if the timer has not yet been called."""
        return self.timer.due_ns is not None and self.clock.now_ns - self.last_ns >= self.age_ns

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Let the window take a tuple."""
        self.last_ns = self.clock.now_ns
        if self.timer.due_ns is None:
            self.timer.set(self.last_ns + self.age_ns)
        self.window.insert(tuple_, item)

    def on_punctuation(self) -> None:
        """Let the window take a marker."""
        self.window.on_punctuation()

    def _on_timer(self, due_ns: int) -> None:
        if self.last_ns + self.age_ns > due_ns:
            self.timer.set(self.last_ns + self.age_ns)
        else:
            self.evict()


class IdlePartitions(Partitions[IdleWindow]):
    """Partitions of windows that leave when they have been idle for too long."""

    def of(self, tuple_: Tuple) -> IdleWindow:
        """The window that a tuple is about to be inserted into."""
        window = super().of(tuple_)
        if not window.is_old():
            return window
        window.evict()
        return super().of(tuple_)
