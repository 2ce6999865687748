"""Tumbling windows of one partition: items gather until the window is full, then all of them leave at once.

`insert` takes the tuple, which policies measure, and the item, which the window keeps. The window is empty again when
`fire` is called, so an operator that fails while it fires loses that window and no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from penstock.expr.environment import Tuple
from penstock.ir.graph import PolicyKind
from penstock.toolkit.core.memory import Remembering, Timer
from penstock.toolkit.core.runtime import Context
from penstock.toolkit.windows.policy import Measure, ReadyPolicy

Fire = Callable[[list[Any]], None]


class WindowOfPartition(Protocol):
    """The tuples that one partition of a port remembers."""

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Take a tuple; what the window keeps of it is `item`."""

    def on_punctuation(self) -> None:
        """Take a window marker of the port."""

    def snapshot(self) -> Any:
        """The state of the window, as plain data."""

    def restore(self, state: Any) -> None:
        """Hold what another window held."""

    def is_blank(self) -> bool:
        """Whether forgetting it changes nothing."""

    def cease(self) -> None:
        """Wait for nothing any more."""


class TumblingWindow(WindowOfPartition, Protocol):
    """A window whose tuples leave all at once."""

    items: list[Any]


class TumblingCount(Remembering):
    """Fires when it holds `size` items."""

    __slots__ = ("fire", "items", "size")
    remembers = ("items",)

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

    def is_blank(self) -> bool:
        """Whether it is empty."""
        return not self.items


class TumblingDelta(Remembering):
    """Fires before the tuple whose measure lies more than `size` above that of the oldest item; it then starts anew."""

    __slots__ = ("fire", "items", "measure", "oldest", "size")
    remembers = ("items", "oldest")

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


class TumblingTime(Remembering):
    """Fires every `size` nanoseconds from the partition's first tuple on, empty or not."""

    __slots__ = ("context", "fire", "items", "size", "timer")
    remembers = ("items", "timer")

    def __init__(self, size: int, context: Context, fire: Fire) -> None:
        self.size = size
        self.context = context
        self.fire = fire
        self.timer = Timer(context, self._on_timer)
        self.items: list[Any] = []

    def insert(self, tuple_: Tuple, item: Any) -> None:
        """Add; the first tuple starts the timer."""
        self.items.append(item)
        if self.timer.due_ns is None:
            self.timer.set(self.context.environment.clock.now_ns + self.size)

    def on_punctuation(self) -> None:
        """Times know no punctuation."""

    def _on_timer(self, due_ns: int) -> None:
        self.timer.set(due_ns + self.size)
        items, self.items = self.items, []
        self.fire(items)


class TumblingPunctuation(Remembering):
    """Fires on every window marker, empty or not."""

    __slots__ = ("fire", "items")
    remembers = ("items",)

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


def tumbling(policy: ReadyPolicy, context: Context, fire: Fire) -> TumblingWindow:
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
