"""Timers whose tickets are places in the sequential order, so that channels agree on who comes first.

Of timers that are due at one time, the one that was set first fires first. On one channel a running number tells which
that was. On several, no channel knows the numbers of the others; but where a timer was set is a place in the sequential
order, and places compare across channels. So a ticket is

    (when it was set, the number of the item at that time or -1 if a timer set it, its origin)

The origin of a timer that was set for an item is the item's place. One that is set while another fires takes over its
origin, so a window that fires every five seconds keeps the place of the tuple that opened it for ever: its timer and
that of another partition, set again at one time in the order of their origins, stay in it.

What a timer makes leaves at the time at which it was due, before the items of that time, with its ticket as path.

Example:
    >>> timers = PlacedTimers()
    >>> timers.stand_at(5, 1, b"")
    >>> early = timers.add(20, lambda: None)
    >>> timers.stand_at(5, 2, b"")
    >>> late = timers.add(20, lambda: None)
    >>> early < late
    True
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable
from typing import Any

from penstock.reference.virtual_time import Timers

AFTER_TIMERS = -1
"""The number of what a timer makes: it comes before the items of the sources at the same time."""

Ticket = tuple[int, int, bytes]


class PlacedTimers(Timers):
    """Timers for one instance of a PE.

    Attributes:
        place: Where the instance stands in the sequential order: time, number, path.
        left: How many items have left there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.place: tuple[int, int, bytes] = (0, AFTER_TIMERS, b"")
        self.left = 0
        self._firing: Ticket | None = None
        self._set = 0

    def stand_at(self, time_ns: int, number: int, path: bytes) -> None:
        """Stand at the place of an item: what leaves and what is set from now on comes from there."""
        self.place, self.left = (time_ns, number, path), 0
        self._firing, self._set = None, 0

    def is_due_before(self, time_ns: int, number: int, path: bytes) -> bool:
        """Whether the next timer fires before an item of that place."""
        if not self._heap:
            return False
        due, ticket = self._heap[0][0], self._heap[0][1]
        if due != time_ns or number != AFTER_TIMERS:
            return due <= time_ns
        return _path(ticket) < path

    def add(self, time_ns: int, action: Callable[[], None], ticket: Any = None) -> Any:
        """Ask for a call; calls for one time come in the order of their tickets, the present place without one."""
        number = self._ticket() if ticket is None else tuple(ticket)
        self._added += 1
        heapq.heappush(self._heap, (time_ns, number, self._added, action))
        return number

    def pop_due(self, time_ns: int) -> Callable[[], None] | None:
        """The next action that is due at or before a time; the instance then stands at its place."""
        if not self._heap or self._heap[0][0] > time_ns:
            return None
        due, ticket, _, action = heapq.heappop(self._heap)
        self.stand_at(due, AFTER_TIMERS, _path(ticket))
        self._firing = ticket
        return action

    def _ticket(self) -> Ticket:
        time_ns, number, path = self.place
        again, self._set = self._set, self._set + 1
        if self._firing is None:
            return time_ns, number, _packed(time_ns, number) + _steps(path) + again.to_bytes(4)
        origin = self._firing[2]
        return time_ns, AFTER_TIMERS, origin if not again else origin + again.to_bytes(4)


def _path(ticket: Ticket) -> bytes:
    set_ns, number, origin = ticket
    return _packed(set_ns, number) + origin


def _packed(time_ns: int, number: int) -> bytes:
    return struct.pack(">QQ", time_ns, number + 1)


def _steps(path: bytes) -> bytes:
    """A path in a form in which it comes before all paths that go on from it, whatever is appended to either."""
    return b"".join(b"\x01" + path[i : i + 4] for i in range(0, len(path), 4)) + b"\x00"
