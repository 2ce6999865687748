"""Timers of keys: one for each key at most, which are the engine's own."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from penstock.toolkit.memory import Timer
from penstock.toolkit.runtime import Context


class KeyTimers:
    """Calls that keys wait for.

    Of those that are due at one time the one that was set last comes last; a call that the key's own call sets again
    keeps its place.

    Args:
        context: The interpreter's side.
        action: Is called with the key.
    """

    def __init__(self, context: Context, action: Callable[[Hashable], object]) -> None:
        self._context = context
        self._action = action
        self._timers: dict[Hashable, Timer] = {}
        self._firing: Timer | None = None

    def set(self, key: Hashable, due_ns: int) -> None:
        """Call at a time, and not at the one that was set before; the same time changes nothing."""
        timer = self._timers.get(key)
        if timer is not None and timer is self._firing:
            timer.set(due_ns)
        elif timer is None or timer.due_ns != due_ns:
            # A new one, because the old one's place may come again with its old time.
            self.cancel(key)
            timer = self._timers[key] = Timer(self._context, partial(self._fire, key))
            timer.set(due_ns)

    def cancel(self, key: Hashable) -> None:
        """Do not call."""
        timer = self._timers.get(key)
        if timer is not None:
            timer.cancel()
            if timer is not self._firing:
                del self._timers[key]

    def remember(self, key: Hashable) -> Any:
        """What the timer of a key needs to wait again, as plain data."""
        timer = self._timers.get(key)
        return None if timer is None else timer.remember()

    def recall(self, key: Hashable, state: Any) -> None:
        """Wait again, in the old place."""
        if state is not None:
            timer = self._timers[key] = Timer(self._context, partial(self._fire, key))
            timer.recall(state)

    def _fire(self, key: Hashable, time_ns: int) -> None:
        timer = self._firing = self._timers[key]
        try:
            self._action(key)
        finally:
            self._firing = None
            if timer.due_ns is None:
                del self._timers[key]
