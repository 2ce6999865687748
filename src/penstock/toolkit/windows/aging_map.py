"""Maps of a logic clause whose entries are forgotten when they are idle: `ttl` of a Custom.

An entry that nobody has looked up or stored under its key for so many seconds is gone before the next code of the
operator runs. `m[k]` counts in any place, as do functions that give or store the value of a key; to ask whether there
is a key, or to go through all of them, does not. What is stored as a whole (`m = other`) is new in all its entries.

Example:
    >>> clock = Clock()
    >>> seen = AgingMap({}, ttl_ns=10, clock=clock)
    >>> seen["a"] = seen["b"] = 1
    >>> clock.advance_to(9)
    >>> seen.get("a"), "b" in seen
    (1, True)
    >>> clock.advance_to(10)
    >>> seen.forget_old(), seen
    (1, {'a': 1})
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from operator import itemgetter
from typing import Any

from penstock.expr.emit.parts import has_nan
from penstock.expr.environment import Clock

Aged = dict[Hashable, tuple[Any, int]]
"""The entries of a map as plain data: the value of each key, and when it was last used."""


class AgingMap(dict[Hashable, Any]):
    """A map that knows when each key was last used.

    Args:
        entries: What it begins with, all of it used now.
        ttl_ns: How long an entry is kept that is not used.
        clock: Of the application.
    """

    def __init__(self, entries: Mapping[Hashable, Any], *, ttl_ns: int, clock: Clock) -> None:
        super().__init__(entries)
        self._ttl_ns, self._clock = ttl_ns, clock
        self._last_ns: OrderedDict[Hashable, int] = OrderedDict.fromkeys(entries, clock.now_ns)

    def forget_old(self) -> int:
        """Forget the entries whose time is over; tells how many they were."""
        since_ns, before = self._clock.now_ns - self._ttl_ns, len(self)
        while self._last_ns and next(iter(self._last_ns.values())) <= since_ns:
            del self[next(iter(self._last_ns))]
        return before - len(self)

    def aged(self) -> Aged:
        """The entries as plain data."""
        return {key: (value, self._last_ns[key]) for key, value in self.items()}

    def restore(self, aged: Aged) -> None:
        """Hold the entries of another map."""
        super().update({key: value for key, (value, _) in aged.items()})
        times = ((key, last_ns) for key, (_, last_ns) in aged.items())
        self._last_ns = OrderedDict(sorted(times, key=itemgetter(1)))

    def _use(self, key: Hashable) -> None:
        self._last_ns[key] = self._clock.now_ns
        self._last_ns.move_to_end(key)

    # What generated code and standard functions do with maps.

    def get(self, key: Hashable, default: Any = None) -> Any:
        """The value of a key, which is used so."""
        # No NaN equals another, though it may be the same object.
        if key in self and not has_nan(key):
            self._use(key)
        return super().get(key, default)

    def __getitem__(self, key: Hashable) -> Any:
        value = super().__getitem__(key)
        self._use(key)
        return value

    def __setitem__(self, key: Hashable, value: Any) -> None:
        super().__setitem__(key, value)
        self._use(key)

    def __delitem__(self, key: Hashable) -> None:
        super().__delitem__(key)
        del self._last_ns[key]

    def pop(self, key: Hashable, *default: Any) -> Any:
        """Take a key out."""
        self._last_ns.pop(key, None)
        return super().pop(key, *default)

    def clear(self) -> None:
        """Take all out."""
        self._last_ns.clear()
        super().clear()

    def update(self, entries: Mapping[Hashable, Any]) -> None:  # type: ignore[override] # maps have but this form
        """Store the entries of another map."""
        for key, value in entries.items():
            self[key] = value
