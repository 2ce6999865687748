"""The state of an operator instance, from which another instance resumes in its place.

Introduction:
    On Spark an instance lives for one micro-batch; between batches its state lies in a state store. `snapshot` gives
    the state as plain data, and `restore` on a fresh, connected instance takes it, timers included: what follows is
    exactly what the first instance would have done.

Formulation:
    A class says in `remembers` which of its attributes are its memory. Everything else, closures and compiled
    expressions above all, is made anew by the constructor. A runtime's memory is a pair of dictionaries::

        whole    attribute -> value: what belongs to the operator as a whole
        parts    attribute -> (names, {key: value}): what belongs to the tuples of one key

    A key is the tuple of the values of the key expressions; `names` are the attributes that these are, of the first
    input port, or None where they are computed or there is no key at all. What never changes, such as a state variable
    that is only read, is in `whole` under `constants`. `split` deals the keys of a memory out to groups and `join`
    puts them together again, so that the state of an operator that its model calls partitioned can move to other
    channels. The values are plain data: numbers, strings, bytes, tuples, lists, sets, dictionaries.

Example:
    >>> class Counter(Remembering):
    ...     remembers = ("seen",)
    ...     def __init__(self): self.seen = deque()
    >>> first, second = Counter(), Counter()
    >>> first.seen.append((1, "a"))
    >>> second.restore(first.snapshot())
    >>> second.seen
    deque([(1, 'a')])

When it does not apply:
    What `snapshot` gives may share lists with the instance: pickle it before the instance continues. A partition that
    is as good as new is left out (`is_blank`); one that is only idle is kept, however old it is, unless its window has
    a `partitionAge` (`age`).

Preserves:
    Order. Partitions come back in the order in which they were made. A timer comes back with the ticket that it was
    given when it was asked for, so among the timers of its operator that are due at one time it keeps its place.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError

if TYPE_CHECKING:
    from penstock.toolkit.core.runtime import Context

Whole = dict[str, Any]
Parts = dict[str, tuple[tuple[str, ...] | None, dict[Hashable, Any]]]
Memory = tuple[Whole, Parts]

CONSTANTS = "constants"
"""Where `whole` holds what never changes, so that every group has a copy."""


class Remembering:
    """The base of what is part of a memory.

    Attributes:
        remembers: The names of the attributes that are the memory.
    """

    __slots__ = ()
    remembers: tuple[str, ...] = ()

    def snapshot(self) -> Any:
        """The memory as plain data."""
        return tuple([remembered(getattr(self, name)) for name in self.remembers])

    def restore(self, state: Any) -> None:
        """Take over what another instance remembered."""
        for name, value in zip(self.remembers, state, strict=True):
            restore_attribute(self, name, value)

    def is_blank(self) -> bool:
        """Whether forgetting it changes nothing; by default unknown, so that it is kept."""
        return False

    def cease(self) -> None:
        """Wait for nothing any more: whoever holds it forgets it."""
        for value in (getattr(self, name) for name in self.remembers):
            if isinstance(value, Remembering):
                value.cease()


class Keyed:
    """The base of memories with a part for each key.

    Attributes:
        names: The attributes that are the key, in order; None where it is computed, or where there is none.
        expired: How many keys it has forgotten, with what it held of them, because their time to live was over.
    """

    names: tuple[str, ...] | None
    expired: int = 0

    def forget_old(self) -> None:
        """Forget the keys whose time to live is over; by default none has one."""

    def snapshot_parts(self) -> dict[Hashable, Any]:
        """The memory of each key, as plain data."""
        raise NotImplementedError

    def restore_parts(self, parts: Mapping[Hashable, Any]) -> None:
        """Take over what others remembered of some keys."""
        raise NotImplementedError


def remembered(value: Any) -> Any:
    """The value of an attribute as plain data."""
    if isinstance(value, Remembering):
        return value.snapshot()
    return list(value) if isinstance(value, deque) else value


def restore_attribute(owner: object, name: str, value: Any) -> None:
    """Set an attribute to what was remembered of it; containers keep their identity, because closures hold them."""
    current = getattr(owner, name)
    match current:
        case Remembering():
            current.restore(value)
        case deque():
            current.clear()
            current.extend(value)
        case set():
            current.clear()
            current.update(map(same_nan, value))
        case dict():
            current.clear()
            current.update((same_nan(key), entry) for key, entry in value.items())
        case _:
            setattr(owner, name, value)


DECIMAL_NAN = Decimal("NaN")
"""The NaN that keys with decimals are made with: Python finds one again only if it is the same object."""


def same_nan(key: Any) -> Any:
    """A key as a dictionary finds it again: all its NaN values are the one that keys are made with.

    Example:
        >>> same_nan(("a", float("nan"))) == ("a", math.nan)
        True
    """
    if isinstance(key, tuple):
        return tuple([same_nan(part) for part in key])
    if isinstance(key, frozenset):
        return frozenset(map(same_nan, key))
    if isinstance(key, Decimal) and key.is_nan():
        return DECIMAL_NAN
    return math.nan if isinstance(key, float) and key != key else key


class Timer(Remembering):
    """One call that waits for its time; setting it anew forgets the call before.

    Among the timers of its operator that are due at one time it has the place in which it was asked for. Set again by
    its own call, for a later time, it keeps that place: a window that fires every five seconds stands for ever where
    the tuple stood that opened it.
    """

    __slots__ = ("_action", "_context", "_firing_ns", "_first", "_ticket", "due_ns")

    def __init__(self, context: Context, action: Callable[[int], None]) -> None:
        self._context = context
        self._action = action
        self._first: Any = None
        self._ticket: Any = None
        self._firing_ns: int | None = None
        self.due_ns: int | None = None

    def set(self, time_ns: int) -> None:
        """Call the action, with the time, when that time comes."""
        if self._firing_ns is None:
            self._first = self._ticket = self._wait(time_ns, None)
        else:
            # A second call at one and the same time has a place of its own.
            self._ticket = self._wait(time_ns, self._first if time_ns > self._firing_ns else None)

    def _wait(self, time_ns: int, ticket: Any) -> Any:
        self.due_ns = time_ns
        return self._context.at(time_ns, partial(self._fire, time_ns), ticket)

    def cancel(self) -> None:
        """Call nothing."""
        self.due_ns = None

    cease = cancel

    def snapshot(self) -> tuple[int, Any, Any] | None:
        """When it is due, its ticket and its first one; nothing if it is not set."""
        return None if self.due_ns is None else (self.due_ns, self._ticket, self._first)

    def restore(self, state: tuple[int, Any, Any] | None) -> None:
        """Wait again, in the old place."""
        if state is None:
            self.cancel()
        else:
            due_ns, ticket, self._first = state
            self._ticket = self._wait(due_ns, ticket)

    def _fire(self, time_ns: int) -> None:
        if self.due_ns == time_ns:
            self.due_ns, self._firing_ns = None, time_ns
            try:
                self._action(time_ns)
            finally:
                self._firing_ns = None


class Queues(list[deque[Any]], Remembering):
    """A queue for each input port."""

    def __init__(self, ports: int) -> None:
        super().__init__(deque() for _ in range(ports))

    def snapshot(self) -> list[list[Any]]:
        """The items that wait at each port."""
        return [list(queue) for queue in self]

    def is_blank(self) -> bool:
        """Whether nothing waits."""
        return not any(self)

    def restore(self, state: list[list[Any]]) -> None:
        """Let the same wait."""
        for queue, items in zip(self, state, strict=True):
            queue.clear()
            queue.extend(items)


def split(memory: Memory | None, group_of: Callable[[Mapping[str, Any]], int]) -> dict[int, Memory]:
    """The memories of groups of keys.

    Args:
        memory: Of an operator whose state is partitioned, as its runtime remembers it.
        group_of: The group of a key, given the values of its attributes by name.

    Raises:
        UserError: Something in the memory belongs to no key.

    Example:
        >>> counts = ({}, {"counts": (("uid",), {(7,): 1, (8,): 2})})
        >>> split(counts, lambda key: key["uid"] % 2)
        {1: ({}, {'counts': (('uid',), {(7,): 1})}), 0: ({}, {'counts': (('uid',), {(8,): 2})})}
    """
    if memory is None:
        return {}
    whole, parts = memory
    _check_splits(whole, parts)
    groups: dict[int, Memory] = {}
    for attribute, (names, values) in parts.items():
        for key, value in values.items():
            assert names is not None
            group = group_of(dict(zip(names, key, strict=True)))  # type: ignore[call-overload]
            _, own = groups.setdefault(group, (dict(whole), {a: (n, {}) for a, (n, _) in parts.items()}))
            own[attribute][1][key] = value
    return groups


def _check_splits(whole: Whole, parts: Parts) -> None:
    unsplit = [name for name in whole if name != CONSTANTS]
    unsplit += [name for name, (names, values) in parts.items() if names is None and values]
    if unsplit:
        listing = ", ".join(f"`{name}`" for name in unsplit)
        raise UserError(f"the state {listing} belongs to no key, so it cannot be split by key")


def join(memories: Iterable[Memory | None]) -> Memory | None:
    """The memory that holds the keys of several.

    Raises:
        UserError: Two of them hold the same key, or differ in what belongs to no key.

    Example:
        >>> join([({}, {"counts": (("uid",), {(7,): 1})}), ({}, {"counts": (("uid",), {(8,): 2})})])
        ({}, {'counts': (('uid',), {(7,): 1, (8,): 2})})
    """
    found: Memory | None = None
    for memory in memories:
        if memory is None:
            continue
        if found is None:
            found = (dict(memory[0]), {a: (names, dict(values)) for a, (names, values) in memory[1].items()})
        else:
            _add(found, memory)
    return found


def _add(found: Memory, other: Memory) -> None:
    if found[0] != other[0]:
        raise UserError("the states differ in what belongs to no key, so they cannot be joined")
    for attribute, (names, values) in other[1].items():
        _, mine = found[1].setdefault(attribute, (names, {}))
        twice = mine.keys() & values.keys()
        if twice:
            raise UserError(f"the key {next(iter(twice))!r} has state in two places, so they cannot be joined")
        mine.update(values)
