"""Virtual time: timers, and whose turn it is among the sources.

Nothing sleeps. The clock stands still while an item is processed and jumps to the time of the next one. At one time,
timers come first, those of operators upstream before those downstream, and those of one operator in the order in which
they were asked for; then the sources take turns, one item each, in order of declaration. A source that waits for the
world outside, such as a socket, does not hold time up: it is asked again with every turn of the others.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, Generic, TypeVar

S = TypeVar("S")

Place = tuple[Any, ...]
"""Where a timer fires: its time, and what orders those of one time."""


class Timers:
    """Actions that wait for their time.

    Those that are due at one time come in the order of (wave, rank, ticket). The rank is that of the operator. The
    ticket is a running number of the calls that were asked for. The wave is 0, but for what a loop asks for at that
    very time for an operator that has had its turn: one more than that of the timer that is firing.

    Example:
        >>> timers, seen = Timers(), []
        >>> timers.add(20, lambda: seen.append("late")), timers.add(10, lambda: seen.append("early"))
        (1, 2)
        >>> timers.pop_due(15)()
        >>> seen, timers.next_ns
        (['early'], 20)
    """

    def __init__(self) -> None:
        # The number keeps actions apart that came with one ticket from two places.
        self._heap: list[tuple[Place, int, Callable[[], None]]] = []
        self._asked = 0
        self._added = 0
        self._firing: Place | None = None

    @property
    def next_ns(self) -> int | None:
        """When the next timer is due, if there is one."""
        return self._heap[0][0][0] if self._heap else None

    def add(self, time_ns: int, action: Callable[[], None], *, rank: int = 0, ticket: Any = None) -> Any:
        """Ask for a call; without a ticket it takes the next one, which is returned."""
        given = self._take_ticket() if ticket is None else ticket
        self._added += 1
        heapq.heappush(self._heap, (self._place(time_ns, rank, given), self._added, action))
        return given

    def pop_due(self, time_ns: int) -> Callable[[], None] | None:
        """The next action that is due at or before a time; `fired` is to be called when all is done that it causes."""
        if not self._heap or self._heap[0][0][0] > time_ns:
            return None
        self._firing, _, action = heapq.heappop(self._heap)
        return action

    def fired(self) -> None:
        """The action that was due has been called, with all that follows from it."""
        self._firing = None

    def _take_ticket(self) -> Any:
        self._asked += 1
        return self._asked

    def _place(self, time_ns: int, rank: int, ticket: Any) -> Place:
        self._asked = max(self._asked, ticket)
        if self._firing is None or time_ns > self._firing[0]:
            return time_ns, 0, rank, ticket
        _, wave, firing, _ = self._firing
        return time_ns, wave + (rank < firing), rank, ticket


class Turns(Generic[S]):
    """Sources by the time of their next item; those with equal time take turns in order of declaration.

    Example:
        >>> turns = Turns(["a", "b"], now_ns=0)
        >>> turns.next, turns.take(0), turns.next, turns.take(5), turns.next
        ((0, 'a'), None, (0, 'b'), None, (0, 'a'))
    """

    def __init__(self, sources: list[S], now_ns: int) -> None:
        self._idle: set[int] = set()
        # The second number counts the turns that a source has had since it woke up at its time.
        self._heap = [(now_ns, 0, order, source) for order, source in enumerate(sources)]

    def __bool__(self) -> bool:
        return bool(self._heap)

    @property
    def next(self) -> tuple[int, S]:
        """The time and the source of the next turn."""
        time_ns, _, _, source = self._heap[0]
        return time_ns, source

    def take(self, wait_ns: int) -> None:
        """The source at the front has had its turn and wants the next one after a while."""
        time_ns, turn, order, source = self._heap[0]
        self._idle.discard(order)
        entry = (time_ns, turn + 1, order, source) if wait_ns <= 0 else (time_ns + wait_ns, 0, order, source)
        heapq.heapreplace(self._heap, entry)

    def step_back(self, due_ns: int | None) -> None:
        """The source at the front waits for the world outside: the others, and what is due, need not wait for it."""
        time_ns, _, order, _ = self._heap[0]
        times = [time for time, _, other, _ in self._heap if other != order and other not in self._idle]
        if due_ns is not None:
            times.append(due_ns)
        self.take(min(times, default=time_ns) - time_ns)
        self._idle.add(order)

    def leave(self) -> None:
        """The source at the front has no more items."""
        heapq.heappop(self._heap)
