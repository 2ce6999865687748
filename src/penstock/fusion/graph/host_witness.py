"""A valid choice of hosts that is kept while units are joined: proof that hosts can still be found.

Units are what must share a host: PEs, or PEs of one host colocation. Joining two of them asks more of one host, and
whether hosts can then still be found for all is a question about all units. Instead of asking it anew each time, this
keeps one answer to it, and changes that a little: the joined unit goes to the host of either, or to any other that
takes it. Only where none does the whole question is asked (`host_signatures`), if it is small enough;
otherwise the answer is no, which costs a merge but never validity.

Example:
    >>> apart = [HostNeed(hosts=0b11, colours={0: colour}) for colour in (1, 2)]
    >>> anywhere = HostNeed(hosts=0b11, colours={})
    >>> witness = HostWitness({0: apart[0], 1: apart[1], 2: anywhere}, 2, Deadline.after(None))
    >>> witness.may_join([(0, 1)]), witness.may_join([(0, 2)])
    (False, True)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from penstock.base.deadline import Deadline
from penstock.fusion.graph.host_needs import HostNeed
from penstock.fusion.graph.host_signatures import host_signatures

_Before = tuple[int, HostNeed, int]
"""A unit, what it asked and where it was."""

_MOST_ASKED = 400
"""How many different needs times hosts the whole question may have."""


class HostWitness:
    """Units with their hosts.

    Args:
        needs: What each unit asks of its host.
        hosts: How many hosts there are.
        deadline: When to stop asking.

    Attributes:
        needs: What each unit asks; a unit that has joined another is gone.
    """

    def __init__(self, needs: dict[int, HostNeed], hosts: int, deadline: Deadline) -> None:
        self.needs = dict(needs)
        self._hosts = hosts
        self._deadline = deadline
        self._host_of: dict[int, int] | None = None
        self._shown: list[dict[int, Counter[int]]] = []
        self._find()

    def may_join(self, pairs: Sequence[tuple[int, int]]) -> bool:
        """Whether hosts can be found when the second unit of each pair joins the first; nothing is changed."""
        if self._host_of is None:
            return False
        undo: list[_Before] = []
        done = all(self._try(one, other, undo) for one, other in pairs)
        self._restore(undo)
        return done or self._may_join_somehow(pairs)

    def join(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Let the second unit of each pair join the first; the caller has asked `may_join`."""
        for one, other in pairs:
            undo: list[_Before] = []
            if self._host_of is not None and self._try(one, other, undo):
                self._leave(other)
                del self.needs[other]
                continue
            self._restore(undo)
            joined = self.needs[one].joined(self.needs.pop(other))
            assert joined is not None, "units that clash"
            self.needs[one] = joined
            self._find()

    def _restore(self, undo: list[_Before]) -> None:
        for unit, need, host in reversed(undo):
            self._leave(unit)
            self._enter(unit, need, host)

    def _try(self, one: int, other: int, undo: list[_Before]) -> bool:
        """Give the need of both to the first unit, on a host that takes it; the second asks for nothing any more."""
        assert self._host_of is not None
        joined = self.needs[one].joined(self.needs[other])
        if joined is None:
            return False
        for unit in (one, other):
            undo.append((unit, self.needs[unit], self._host_of[unit]))
        here, there = self._host_of[one], self._host_of[other]
        self._leave(one)
        self._leave(other)
        self._enter(other, HostNeed(hosts=(1 << self._hosts) - 1, colours={}), there)
        for host in (here, there, *range(self._hosts)):
            if self._takes(host, joined):
                self._enter(one, joined, host)
                return True
        self._enter(one, HostNeed(hosts=joined.hosts, colours={}), here)
        return False

    def _takes(self, host: int, need: HostNeed) -> bool:
        if not need.hosts >> host & 1:
            return False
        shown = self._shown[host]
        return all(not shown.get(colouring, {}).keys() - {colour} for colouring, colour in need.colours.items())

    def _enter(self, unit: int, need: HostNeed, host: int) -> None:
        assert self._host_of is not None
        self.needs[unit] = need
        self._host_of[unit] = host
        for colouring, colour in need.colours.items():
            self._shown[host].setdefault(colouring, Counter())[colour] += 1

    def _leave(self, unit: int) -> None:
        assert self._host_of is not None
        shown = self._shown[self._host_of[unit]]
        for colouring, colour in self.needs[unit].colours.items():
            shown[colouring][colour] -= 1
            if not shown[colouring][colour]:
                del shown[colouring][colour]

    def _may_join_somehow(self, pairs: Sequence[tuple[int, int]]) -> bool:
        """The whole question, where it is small."""
        needs = dict(self.needs)
        for one, other in pairs:
            joined = needs[one].joined(needs.pop(other))
            if joined is None:
                return False
            needs[one] = joined
        distinct = {need.signature() for need in needs.values()}
        if len(distinct) * self._hosts > _MOST_ASKED:
            return False
        return host_signatures(needs.values(), self._hosts, self._deadline) is not None

    def _find(self) -> None:
        """Hosts from scratch: those that ask the same share one."""
        found = host_signatures(self.needs.values(), self._hosts, self._deadline)
        self._shown = [{} for _ in range(self._hosts)]
        if found is None:
            self._host_of = None
            return
        self._host_of = {}
        for unit, need in self.needs.items():
            self._enter(unit, need, found[need.signature()])
