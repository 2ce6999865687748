"""Partitions that are forgotten when they are idle: `partitioned, partitionAge(60)`.

A partition into which no tuple has been inserted for so many seconds is deleted with all that it holds, and its window
never fires; a tuple that comes later starts a new one. Nobody can tell when exactly that happens, so nothing waits for
it: the age is looked at when the partition is next asked for something (by a tuple, a marker or its own timer), when
state is stored, and when there are twice as many partitions as were left the last time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from penstock.expr.environment import Clock, Tuple
from penstock.toolkit.core.memory import same_nan
from penstock.toolkit.windows.partition import Key, Part, Partitions

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
