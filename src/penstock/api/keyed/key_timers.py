"""Timers of keys: one for each key at most, which are the engine's own.

Of the timers that a snapshot holds only the one that is due first waits in the engine; when it fires, or is set anew,
the next one takes its turn, in its old place. So a batch does not pay for keys whose time does not come.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from heapq import heapify, heappop
from typing import Any

from penstock.toolkit.core.memory import Timer
from penstock.toolkit.core.runtime import Context


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
        self._stored: dict[Hashable, Any] = {}
        self._order: list[tuple[int, Any, int, Hashable]] = []
        self._next: Hashable = None

    def set(self, key: Hashable, due_ns: int) -> None:
        """Call at a time, and not at the one that was set before; the same time changes nothing."""
        timer = self._timers.get(key)
        if timer is not None and timer is self._firing:
            timer.set(due_ns)
        elif self._due_ns(key) != due_ns:
            # A new one, because the old one's place may come again with its old time.
            self.cancel(key)
            timer = self._timers[key] = Timer(self._context, partial(self._fire, key))
            timer.set(due_ns)

    def _due_ns(self, key: Hashable) -> int | None:
        state = self.snapshot(key)
        return None if state is None else int(state[0])

    def cancel(self, key: Hashable) -> None:
        """Do not call."""
        timer = self._timers.get(key)
        if timer is not None:
            timer.cancel()
            if timer is not self._firing:
                del self._timers[key]
        self._stored.pop(key, None)
        self._go_on_from(key)

    def snapshot(self, key: Hashable) -> Any:
        """The state of the timer of a key, as plain data; None if it is not set."""
        timer = self._timers.get(key)
        return self._stored.get(key) if timer is None else timer.snapshot()

    def restore(self, states: Iterable[tuple[Hashable, Any]]) -> None:
        """Let keys wait again, in their old places."""
        self._stored = {key: state for key, state in states if state is not None}
        self._order = [(state[0], state[1], i, key) for i, (key, state) in enumerate(self._stored.items())]
        heapify(self._order)
        self._go_on_from(self._next)

    def add(self, key: Hashable, state: Any) -> None:
        """Let one more key wait again, in its old place."""
        if state is not None:
            timer = self._timers[key] = Timer(self._context, partial(self._fire, key))
            timer.restore(state)

    def _go_on_from(self, key: Hashable) -> None:
        """Let the next key of the snapshot wait in the engine if this one, which did, does not any more."""
        if key != self._next:
            return
        self._next = None
        while self._order and self._next is None:
            following = heappop(self._order)[3]
            if following in self._stored:
                timer = self._timers[following] = Timer(self._context, partial(self._fire, following))
                timer.restore(self._stored.pop(following))
                self._next = following

    def _fire(self, key: Hashable, time_ns: int) -> None:
        timer = self._firing = self._timers[key]
        self._go_on_from(key)
        try:
            self._action(key)
        finally:
            self._firing = None
            if timer.due_ns is None:
                del self._timers[key]
