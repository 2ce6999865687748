"""The items that wait until the current one has been processed: they go round a loop, or to another application."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any


class Feedback:
    """Delivers round by round: what is sent while one round is delivered belongs to the next.

    In one round operators upstream get theirs first, each first in first out.

    Example:
        >>> feedback, seen = Feedback(), []
        >>> feedback.send(2, seen.append, "b"), feedback.send(1, seen.append, "a"), feedback.send(2, seen.append, "c")
        (None, None, None)
        >>> feedback.drain()
        >>> seen
        ['a', 'b', 'c']
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, Callable[[Any], None], Any]] = []
        self._round = 0
        self._sent = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def send(self, rank: int, deliver: Callable[[Any], None], item: Any) -> None:
        """Let an item wait for the operator of that rank."""
        self._sent += 1
        heapq.heappush(self._heap, (self._round + 1, rank, self._sent, deliver, item))

    def drain(self) -> None:
        """Deliver what waits, and what comes to wait meanwhile."""
        while self._heap:
            self._round, _, _, deliver, item = heapq.heappop(self._heap)
            deliver(item)
        self._round = 0
