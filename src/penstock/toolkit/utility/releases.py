"""Holds items back until a later time, in order: what Delay and Throttle have in common."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.expr.environment import Tuple
from penstock.toolkit.core.memory import Remembering
from penstock.toolkit.core.runtime import Context, Punctuation
from penstock.toolkit.utility.held_items import Item, held_form, held_item


class Releases(Remembering):
    """A queue of items, each with the time at which it is sent; the times never fall.

    Example:
        >>> class Timers:
        ...     def __init__(self): self.due = []
        ...     def at(self, time_ns, action, ticket=None): self.due.append((time_ns, action)); return 1
        >>> timers, seen = Timers(), []
        >>> releases = Releases(timers, seen.append)
        >>> releases.at(5, ("a",))
        >>> bool(releases), releases.snapshot()
        (True, [(5, 1, ('a',))])
        >>> timers.due[0][1]()
        >>> seen, bool(releases)
        ([('a',)], False)
    """

    def __init__(self, context: Context, send: Callable[[Item], None]) -> None:
        self._context = context
        self._send = send
        self._held: deque[tuple[int, Any, Item]] = deque()

    def __bool__(self) -> bool:
        return bool(self._held)

    @property
    def has_tuples(self) -> bool:
        """Whether tuples wait; markers alone, which nobody may have asked for, keep no operator alive."""
        return any(not isinstance(item, Punctuation) for _, _, item in self._held)

    def at(self, time_ns: int, item: Item) -> None:
        """Send an item at a time, after everything that was asked for before."""
        self._held.append((time_ns, self._context.at(time_ns, self._release), item))

    def release_all(self) -> None:
        """Send everything now; for an interpreter that ends before the time has come."""
        while self._held:
            self._release()

    def snapshot(self) -> list[tuple[int, Any, Tuple | None]]:
        """When each item is due, the ticket of its timer, and the item."""
        return [(time_ns, ticket, held_form(item)) for time_ns, ticket, item in self._held]

    def restore(self, state: list[tuple[int, Any, Tuple | None]]) -> None:
        """Hold back what others held back, each until its time."""
        for time_ns, ticket, form in state:
            self._context.at(time_ns, self._release, ticket)
            self._held.append((time_ns, ticket, held_item(form)))

    def _release(self) -> None:
        if self._held:
            self._send(self._held.popleft()[2])
