"""Partitions that are forgotten when they are idle: `partitioned, partitionAge(60)`.

A partition into which no tuple has been inserted for so many seconds is deleted with all that it holds, and its window
never fires; a tuple that comes later starts a new one. Nobody can tell when exactly that happens, so nothing waits for
it: partitions stand in the order of their last tuples, and old ones go from the front when anything is next asked for
(by a tuple, a marker or a timer), when state is stored, and behind a batch, which tells how many have gone. A partition
that holds nothing is not counted.

Where what a partition held is aggregated as it goes (`aggregateEvictedPartitions`), everybody can tell: an
`IdleWindow` waits for the very moment.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from penstock.expr.environment import Clock, Tuple
from penstock.toolkit.core.memory import Remembering, Timer, same_nan
from penstock.toolkit.core.runtime import Context
from penstock.toolkit.windows.partition import Key, Part, Partitions
from penstock.toolkit.windows.tumbling import WindowOfPartition


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

    Attributes:
        last_ns: The time of the last tuple of each partition, the oldest first.
        expired: How many partitions have gone with something in them.
    """

    def __init__(
        self,
        key: Key | None,
        make: Callable[[Hashable], A],
        names: tuple[str, ...] | None,
        *,
        age_ns: int,
        clock: Clock,
    ) -> None:
        super().__init__(key, make, names)
        self.age_ns, self.clock = age_ns, clock
        self.last_ns: OrderedDict[Hashable, int] = OrderedDict()
        self.expired = 0

    def of(self, tuple_: Tuple) -> A:
        """The part that a tuple is about to be inserted into."""
        assert self.key is not None
        return self.reach(self.key(tuple_))

    def reach(self, key: Hashable) -> A:
        """The part of a key, into which something is about to come."""
        self.forget_old()
        if self.apart is not None:
            self.apart.fetch(key)
            self.forget_if_old(key)
        self.last_ns[key] = self.clock.now_ns
        self.last_ns.move_to_end(key)
        return self.at(key)

    def find(self, key: Hashable) -> A | None:
        """The part of a key, if there is one that is not old."""
        part = super().find(key)
        return None if part is None or self.forget_if_old(key) else part

    def drop(self, key: Hashable) -> None:
        """Let go of the part of a key, which holds nothing any more."""
        super().drop(key)
        del self.last_ns[key]

    def forget_if_old(self, key: Hashable) -> bool:
        """Forget the part of a key if it has been idle for too long; tells whether it has."""
        last_ns = self.last_ns.get(key)
        is_old = last_ns is not None and self.clock.now_ns - last_ns >= self.age_ns
        if is_old:
            del self.last_ns[key]
            part = self.parts.pop(key)
            self.expired += not part.is_blank()
            part.cease()
        return is_old

    def forget_old(self) -> None:
        """Forget the parts that have been idle for too long."""
        while self.last_ns and self.forget_if_old(next(iter(self.last_ns))):
            pass

    def snapshot_parts(self) -> dict[Hashable, Any]:
        """The place, the memory and the last time of each part that is neither blank nor old."""
        self.forget_old()
        return {key: (*part, self.last_ns[key]) for key, part in super().snapshot_parts().items()}

    def restore_parts(self, parts: Mapping[Hashable, Any]) -> None:
        """Make the parts again, in their old order."""
        super().restore_parts({key: part[:2] for key, part in parts.items()})
        aged = sorted(parts.items(), key=lambda entry: entry[1][2])
        self.last_ns.update({same_nan(key): part[2] for key, part in aged})

    def _keys(self) -> list[Hashable]:
        keys = super()._keys()
        # Those that were fetched do not stand in the order of their last tuples.
        return keys if self.apart is None else [key for key in keys if not self.forget_if_old(key)]

    def __iter__(self) -> Iterator[A]:
        self.forget_old()
        return super().__iter__()


def partitions_by(
    key: Key | None, make: Callable[[Hashable], A], names: tuple[str, ...] | None, age_ns: int | None, clock: Clock
) -> Partitions[A]:
    """Partitions with an age, or without one where none is given."""
    if age_ns is None:
        return Partitions(key, make, names)
    return AgingPartitions(key, make, names, age_ns=age_ns, clock=clock)


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
