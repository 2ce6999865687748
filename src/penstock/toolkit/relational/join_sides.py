"""The two windows of a Join: who is in them, by partition for eviction and by equality key for matching."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from penstock.expr.environment import Tuple
from penstock.toolkit.core.memory import Keyed, same_nan
from penstock.toolkit.core.runtime import Context
from penstock.toolkit.windows.eviction import Eviction
from penstock.toolkit.windows.partition import Key, Partitions

Record = tuple[int, Any, Hashable, Any, bool, Tuple]
"""The state of an entry: its number, its mark in the window, the window's partition, the ticket of the timer that it
waits for, whether it has matched, and the tuple. Where partitions have an age, the mark is a pair with the time at
which the last tuple has come into the partition."""


class Entry:
    """A tuple in a window, with what is to be known of it when it leaves."""

    __slots__ = ("key", "matched", "number", "partition", "ticket", "tuple")

    def __init__(self, tuple_: Tuple, key: Hashable, number: int) -> None:
        self.tuple = tuple_
        self.key = key
        self.number = number
        self.partition: Hashable = None
        self.ticket: Any = None
        self.matched = False


class Side:
    """One port's window: who is in it, by partition for eviction and by equality key for matching.

    What leaves by time leaves by itself, whatever else is in the window, so such a window has one partition. Its tuples
    are gone for whoever looks once their time has come; only one that nothing has matched waits for that time, to be
    sent.

    A partition that is idle for too long is gone for whoever looks, too: for a tuple that is to come into it, for one
    of the other side that looks for partners, and when state is stored.

    Attributes:
        memories: The window's partitions.
        equal: Gives the equality key, if there is one.
        keeps_ns: How long tuples stay, if that is a matter of time.
        age_ns: How long a partition is kept into which no tuple comes, if not for ever.
        expired: How many partitions have gone so with tuples in them.
        unmatched: Told of every tuple that leaves without having matched, in an outer join.
    """

    def __init__(
        self,
        make_memory: Callable[[Callable[[Any], None]], Eviction],
        key: Key | None,
        equal: Key | None,
        context: Context,
        *,
        keeps_ns: int | None,
        age_ns: int | None = None,
    ) -> None:
        self.memories: Partitions[Eviction] = Partitions(
            key if keeps_ns is None else None, lambda _: make_memory(self._evicted)
        )
        self.equal = equal
        self.context = context
        self.keeps_ns = keeps_ns
        self.age_ns = age_ns
        self._last_ns: OrderedDict[Hashable, int] = OrderedDict()
        self.expired = 0
        self.unmatched: Callable[[Tuple], None] | None = None
        self._index: dict[Hashable, dict[int, Entry]] = {}
        self._number = 0

    def enter(self, tuple_: Tuple) -> Entry:
        """The entry of a tuple that has come; it is in the window once `keep` is called."""
        self._number += 1
        return Entry(tuple_, None if self.equal is None else self.equal(tuple_), self._number)

    def keep(self, entry: Entry) -> None:
        """Make room for an entry and take it in; a side without memory lets it go at once."""
        if self.age_ns is not None:
            self._come_into(entry)
        memory = self.memories.of(entry.tuple)
        memory.expire()
        memory.make_room(entry.tuple)
        same_key = self._index.get(entry.key)
        if same_key is None:
            same_key = self._index[entry.key] = {}
        same_key[entry.number] = entry
        memory.add(entry)
        if self.keeps_ns is not None and self.unmatched is not None and not entry.matched:
            self._wait(entry, self.context.environment.clock.now_ns)

    def candidates(self, key: Hashable) -> Iterable[Entry]:
        """The entries that a tuple of the other side with this equality key may match, in order of arrival."""
        if self.keeps_ns is not None:
            self.memories.at(None).expire()
        found = self._index.get(key)
        if found and self.age_ns is not None:
            self.forget_old()
            found = self._index.get(key)
        return found.values() if found else ()

    def _come_into(self, entry: Entry) -> None:
        """Let the partition that an entry comes into live on, anew if it was idle for too long."""
        assert self.memories.key is not None
        entry.partition = self.memories.key(entry.tuple)
        self.forget_old()
        self._last_ns[entry.partition] = self.context.environment.clock.now_ns
        self._last_ns.move_to_end(entry.partition)

    def forget_old(self) -> None:
        """Forget the partitions that were idle for too long; the oldest stand first."""
        if self.age_ns is None:
            return
        since_ns = self.context.environment.clock.now_ns - self.age_ns
        while self._last_ns and next(iter(self._last_ns.values())) <= since_ns:
            partition, _ = self._last_ns.popitem(last=False)
            memory = self.memories.parts.pop(partition, None)
            items = () if memory is None else memory.items
            self.expired += bool(items)
            for entry in items:
                self._take_out(entry)

    def _evicted(self, entry: Entry) -> None:
        self._take_out(entry)
        if self.keeps_ns is None:
            self._left(entry)

    def _take_out(self, entry: Entry) -> None:
        same_key = self._index[entry.key]
        del same_key[entry.number]
        if not same_key:
            del self._index[entry.key]

    def _left(self, entry: Entry) -> None:
        if self.unmatched is not None and not entry.matched:
            self.unmatched(entry.tuple)

    def _wait(self, entry: Entry, arrived_ns: int, ticket: Any = None) -> None:
        assert self.keeps_ns is not None
        entry.ticket = self.context.at(arrived_ns + self.keeps_ns, partial(self._left, entry), ticket)

    def records(self) -> Iterator[tuple[Hashable, Record]]:
        """Every entry as plain data, with its equality key."""
        self.forget_old()
        for partition, memory in self.memories.parts.items():
            memory.expire()
            for entry, mark in zip(memory.items, memory.marks(), strict=True):
                mark = mark if self.age_ns is None else (mark, self._last_ns[partition])
                yield entry.key, (entry.number, mark, partition, entry.ticket, entry.matched, entry.tuple)

    def restore(self, found: Iterable[tuple[Hashable, Record]]) -> None:
        """Take in the entries that other sides held."""
        for key, record in sorted(found, key=self._place):
            number, mark, partition, ticket, matched, tuple_ = record
            entry = Entry(tuple_, same_nan(key), number)
            entry.matched = matched
            if self.age_ns is not None:
                mark, last_ns = mark
                entry.partition = same_nan(partition)
                self._last_ns[entry.partition] = last_ns
            self._number = max(self._number, number)
            self._index.setdefault(entry.key, {})[number] = entry
            self.memories.at(same_nan(partition)).put_back(entry, mark)
            if ticket is not None and not matched:
                self._wait(entry, mark, ticket)
        self._last_ns = OrderedDict(sorted(self._last_ns.items(), key=itemgetter(1)))

    def _place(self, found: tuple[Hashable, Record]) -> tuple[int, int]:
        # Entries that come from several places are numbered apart, but a window that keeps by time is in order of time.
        _, (number, mark, *_) = found
        return (0 if self.keeps_ns is None else mark), number


class Entries(Keyed):
    """The windows of both sides, by equality key."""

    def __init__(self, sides: Sequence[Side], names: tuple[str, ...] | None) -> None:
        self.sides = sides
        self.names = names

    def forget_old(self) -> None:
        """Forget the partitions of both sides that were idle for too long."""
        for side in self.sides:
            side.forget_old()
        self.expired = sum(side.expired for side in self.sides)

    def snapshot_parts(self) -> dict[Hashable, list[list[Record]]]:
        """The entries of each side with a key."""
        found: dict[Hashable, list[list[Record]]] = {}
        for port, side in enumerate(self.sides):
            for key, record in side.records():
                found.setdefault(key, [[], []])[port].append(record)
        return found

    def restore_parts(self, parts: Mapping[Hashable, list[list[Record]]]) -> None:
        """Put all entries back."""
        for port, side in enumerate(self.sides):
            side.restore((key, record) for key, records in parts.items() for record in records[port])
