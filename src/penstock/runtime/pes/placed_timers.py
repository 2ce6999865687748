"""Timers whose tickets are places in the sequential order, so that channels agree on who comes first.

Introduction:
    Of timers that are due at one time, those of operators upstream fire first, and those of one operator in the order
    in which they were asked for. On one channel a running number tells which that was. On several, no channel knows the
    numbers of the others; but where a timer was asked for is a place in the sequential order, and places compare
    across channels and across PEs. So what a timer makes has a place as well, by which it is merged with all else.

Formulation:
    A ticket is the place (time, number, path) of what was being processed when the call was asked for, and how many
    calls had been asked for there. A timer fires at the place

        its time    the number -1, before all items of that time; but of a call that was asked for at that very time,
                    the number of the item that caused it, behind all else that the item causes
        its path    the wave, the rank of its operator, its ticket

    A wave begins with a byte that no step of a path has, so it comes behind all that an item causes at once. It is the
    first wave, but for a call that a loop asks for, at that very time, for an operator that has had its turn: that one
    comes in the next wave.

When it does not apply:
    In a loop a path would grow with every round, because the ticket of a timer is in the path of what it makes. But an
    operator on a loop stands on one channel, where a number within the time and number of the place is enough.

Preserves:
    The order of `reference.virtual_time.Timers`. No place of an item that comes to a PE begins with that of another
    one, for it would descend from it, and come by a loop; so places can be joined without anything between them.

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
from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.codegen.rows.timer_places import AFTER_TIMERS, firing_path, is_round, round_path, ticket_at, wave_and_rank
from penstock.reference.feedback import Feedback
from penstock.reference.virtual_time import Place, Timers


class PlacedTimers(Timers):
    """Timers for one instance of a PE.

    Args:
        has_loop: Whether the PE holds a loop of the graph.

    Attributes:
        place: Where the instance stands in the sequential order: time, number, path.
        left: How many items have left there.
    """

    def __init__(self, *, has_loop: bool = False) -> None:
        super().__init__()
        self.place: tuple[int, int, bytes] = (0, AFTER_TIMERS, b"")
        self.left = 0
        self._has_loop = has_loop

    def stand_at(self, time_ns: int, number: int, path: bytes) -> None:
        """Stand at the place of an item: what leaves and what is asked for from now on comes from there."""
        if not self._has_loop or self.place[:2] != (time_ns, number):
            self._asked = 0
        self.place, self.left = (time_ns, number, path), 0

    def is_due_before(self, time_ns: int, number: int, path: bytes) -> bool:
        """Whether the next timer fires before an item of that place."""
        return bool(self._heap) and self._heap[0][0] < (time_ns, number, path)

    def pop_due(self, time_ns: int) -> Callable[[], None] | None:
        """The next action that is due at or before a time; the instance then stands at its place."""
        action = super().pop_due(time_ns)
        if action is not None:
            assert self._firing is not None
            self.stand_at(*self._firing)
        return action

    @property
    def is_round_next(self) -> bool:
        """Whether the next call is for something that comes round a loop."""
        return bool(self._heap) and is_round(self._heap[0][0][2])

    def add_round(self, rank: int, action: Callable[[], None]) -> None:
        """Ask for a call when all has been processed that follows at once from what is being processed."""
        time_ns, number, path = self.place
        self._added += 1
        place = time_ns, number, round_path(path, rank, self._added)
        heapq.heappush(self._heap, (place, self._added, action))

    def _take_ticket(self) -> bytes:
        time_ns, number, path = self.place
        asked, self._asked = self._asked, self._asked + 1
        return ticket_at(time_ns, number, b"" if self._has_loop else path, asked)

    def _place(self, time_ns: int, rank: int, ticket: bytes) -> Place:
        now_ns, number, path = self.place
        if time_ns > now_ns:
            return time_ns, AFTER_TIMERS, firing_path(0, rank, ticket)
        wave, firing = wave_and_rank(path)
        return time_ns, number, firing_path(wave + (rank < firing), rank, ticket)


class PlacedFeedback(Feedback):
    """The feedback of a loop in a PE: items wait among the timers, for a place behind all that comes by other PEs."""

    def __init__(self, timers: PlacedTimers) -> None:
        super().__init__()
        self._timers = timers

    def send(self, rank: int, deliver: Callable[[Any], None], item: Any) -> None:
        """Let an item wait for the operator of that rank."""
        self._timers.add_round(rank, partial(deliver, item))
