"""Holds things back until a later time, in order: what Delay and Throttle have in common."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from penstock.toolkit.runtime import Context


class Releases:
    """A queue of actions, each with the time at which it happens; the times never fall.

    Example:
        >>> class Timers:
        ...     def __init__(self): self.due = []
        ...     def at(self, time_ns, action): self.due.append((time_ns, action))
        >>> timers, seen = Timers(), []
        >>> releases = Releases(timers)
        >>> releases.at(5, lambda: seen.append("a"))
        >>> bool(releases)
        True
        >>> timers.due[0][1]()
        >>> seen, bool(releases)
        (['a'], False)
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._held: deque[Callable[[], None]] = deque()

    def __bool__(self) -> bool:
        return bool(self._held)

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        """Do something at a time, after everything that was asked for before."""
        self._held.append(action)
        self._context.at(time_ns, self._release)

    def release_all(self) -> None:
        """Do everything now; for an interpreter that ends before the time has come."""
        while self._held:
            self._held.popleft()()

    def _release(self) -> None:
        if self._held:
            self._held.popleft()()
