"""Tumbling windows of one partition: items gather until the window is full, then all of them leave at once.

`insert` takes the tuple, which policies measure, and the item, which the window keeps. The window is empty again when
`fire` is called, so an operator that fails while it fires loses that window and no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from penstock.expr.environment import Tuple
from penstock.ir.graph import PolicyKind
from penstock.toolkit.runtime import Context
from penstock.toolkit.windows_policy import Measure, ReadyPolicy

Fire = Callable[[list[Any]], None]


class WindowOfPartition(Protocol):
    """The tuples that one partition of a port remembers."""

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Take a tuple; what the window keeps of it is `item`."""

    def on_punctuation(self) -> None:
        """Take a window marker of the port."""


class TumblingCount:
    """Fires when it holds `size` items."""

    __slots__ = ("fire", "items", "size")

    def __init__(self, size: int, fire: Fire) -> None:
        self.size = size
        self.fire = fire
        self.items: list[Any] = []

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Add, and fire if that makes the window full."""
        items = self.items
        items.append(item)
        if len(items) >= self.size:
            self.items = []
            self.fire(items)

    def on_punctuation(self) -> None:
        """Counts know no punctuation."""


class TumblingDelta:
    """Fires before the tuple whose measure lies more than `size` above that of the oldest item; it then starts anew."""

    __slots__ = ("fire", "items", "measure", "oldest", "size")

    def __init__(self, size: Any, measure: Measure, fire: Fire) -> None:
        self.size = size
        self.measure = measure
        self.fire = fire
        self.oldest: Any = None
        self.items: list[Any] = []

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Fire if the tuple lies beyond the boundary, then add it."""
        value = self.measure(tuple_)
        items = self.items
        if not items:
            self.oldest = value
            items.append(item)
        elif value - self.oldest > self.size:
            self.oldest = value
            self.items = [item]
            self.fire(items)
        else:
            items.append(item)

    def on_punctuation(self) -> None:
        """Deltas know no punctuation."""


class TumblingTime:
    """Fires every `size` nanoseconds from the partition's first tuple on, empty or not."""

    __slots__ = ("context", "fire", "items", "next_ns", "size")

    def __init__(self, size: int, context: Context, fire: Fire) -> None:
        self.size = size
        self.context = context
        self.fire = fire
        self.next_ns: int | None = None
        self.items: list[Any] = []

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Add; the first tuple starts the timer."""
        self.items.append(item)
        if self.next_ns is None:
            self._arm(self.context.environment.clock.now_ns)

    def on_punctuation(self) -> None:
        """Times know no punctuation."""

    def _arm(self, now_ns: int) -> None:
        self.next_ns = now_ns + self.size
        self.context.at(self.next_ns, self._on_timer)

    def _on_timer(self) -> None:
        assert self.next_ns is not None
        self._arm(self.next_ns)
        items, self.items = self.items, []
        self.fire(items)


class TumblingPunctuation:
    """Fires on every window marker, empty or not."""

    __slots__ = ("fire", "items")

    def __init__(self, fire: Fire) -> None:
        self.fire = fire
        self.items: list[Any] = []

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Add."""
        self.items.append(item)

    def on_punctuation(self) -> None:
        """Fire."""
        items, self.items = self.items, []
        self.fire(items)


def tumbling(policy: ReadyPolicy, context: Context, fire: Fire) -> WindowOfPartition:
    """An empty tumbling window."""
    match policy.kind:
        case PolicyKind.COUNT:
            return TumblingCount(policy.size, fire)
        case PolicyKind.TIME:
            return TumblingTime(policy.size, context, fire)
        case PolicyKind.DELTA:
            assert policy.measure is not None
            return TumblingDelta(policy.size, policy.measure, fire)
        case PolicyKind.PUNCTUATION:
            return TumblingPunctuation(fire)
