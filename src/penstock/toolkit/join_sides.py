"""The two windows of a Join: who is in them, by partition for eviction and by equality key for matching."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from penstock.expr.environment import Tuple
from penstock.toolkit.memory import Keyed, same_nan
from penstock.toolkit.windows_eviction import Eviction
from penstock.toolkit.windows_partition import Key, Partitions

Record = tuple[int, Any, Hashable, int | None, bool, Tuple]
"""What is remembered of an entry: its number, its mark in the window, the window's partition and ticket, whether it has
matched, and the tuple."""


class Entry:
    """A tuple in a window, with what is to be known of it when it leaves."""

    __slots__ = ("key", "matched", "number", "tuple")

    def __init__(self, tuple_: Tuple, key: Hashable, number: int) -> None:
        self.tuple = tuple_
        self.key = key
        self.number = number
        self.matched = False


class Side:
    """One port's window: who is in it, by partition for eviction and by equality key for matching.

    Attributes:
        memories: The window's partitions.
        equal: Gives the equality key, if there is one.
        keeps_by_time: Whether the windows evict by time.
        unmatched: Told of every tuple that leaves without having matched, in an outer join.
    """

    def __init__(
        self,
        make_memory: Callable[[Callable[[Any], None]], Eviction],
        key: Key | None,
        equal: Key | None,
        *,
        keeps_by_time: bool,
    ) -> None:
        self.memories: Partitions[Eviction] = Partitions(key, lambda _: make_memory(self._evicted))
        self.equal = equal
        self.keeps_by_time = keeps_by_time
        self.unmatched: Callable[[Tuple], None] | None = None
        self._index: dict[Hashable, dict[int, Entry]] = {}
        self._number = 0

    def enter(self, tuple_: Tuple) -> tuple[Entry, Eviction]:
        """Make room for a tuple; it is in the window once `keep` is called."""
        memory = self.memories.of(tuple_)
        memory.make_room(tuple_)
        self._number += 1
        return Entry(tuple_, None if self.equal is None else self.equal(tuple_), self._number), memory

    def keep(self, entry: Entry, memory: Eviction) -> None:
        """Take an entry in; a side without memory lets it go at once."""
        same_key = self._index.get(entry.key)
        if same_key is None:
            same_key = self._index[entry.key] = {}
        same_key[entry.number] = entry
        memory.add(entry)

    def candidates(self, key: Hashable) -> Iterable[Entry]:
        """The entries that a tuple of the other side with this equality key may match, in order of arrival."""
        found = self._index.get(key)
        return found.values() if found else ()

    def _evicted(self, entry: Entry) -> None:
        same_key = self._index[entry.key]
        del same_key[entry.number]
        if not same_key:
            del self._index[entry.key]
        if self.unmatched is not None and not entry.matched:
            self.unmatched(entry.tuple)

    def records(self) -> Iterator[tuple[Hashable, Record]]:
        """Every entry as plain data, with its equality key."""
        for partition, memory in self.memories.parts.items():
            for entry, mark in zip(memory.items, memory.marks(), strict=True):
                yield entry.key, (entry.number, mark, partition, memory.ticket, entry.matched, entry.tuple)

    def restore(self, found: Iterable[tuple[Hashable, Record]]) -> None:
        """Take in the entries that other sides held."""
        tickets: dict[Hashable, int | None] = {}
        for key, record in sorted(found, key=self._place):
            number, mark, partition, ticket, matched, tuple_ = record
            entry = Entry(tuple_, same_nan(key), number)
            entry.matched = matched
            self._number = max(self._number, number)
            self._index.setdefault(entry.key, {})[number] = entry
            self.memories.at(same_nan(partition)).put_back(entry, mark)
            tickets.setdefault(same_nan(partition), ticket)
        for partition, ticket in tickets.items():
            self.memories.at(partition).rearm(ticket)

    def _place(self, found: tuple[Hashable, Record]) -> tuple[int, int]:
        # Entries that come from several places are numbered apart, but a window that keeps by time is in order of time.
        _, (number, mark, *_) = found
        return (mark if self.keeps_by_time else 0), number


class Entries(Keyed):
    """The windows of both sides, by equality key."""

    def __init__(self, sides: Sequence[Side], names: tuple[str, ...] | None) -> None:
        self.sides = sides
        self.names = names

    def remember_parts(self) -> dict[Hashable, list[list[Record]]]:
        """The entries of each side with a key."""
        found: dict[Hashable, list[list[Record]]] = {}
        for port, side in enumerate(self.sides):
            for key, record in side.records():
                found.setdefault(key, [[], []])[port].append(record)
        return found

    def recall_parts(self, parts: Mapping[Hashable, list[list[Record]]]) -> None:
        """Put all entries back."""
        for port, side in enumerate(self.sides):
            side.restore((key, record) for key, records in parts.items() for record in records[port])
