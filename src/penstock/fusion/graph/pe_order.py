"""A topological order of PEs that stays one while PEs are merged.

Merging two PEs closes a cycle exactly if a path leads from one to the other through a third. The order bounds the
search for such a path to the PEs that stand between the two, and a merge rearranges no more than these.

Example:
    >>> order = Order([{1, 2}, {2}, set()], [set(), {0}, {0, 1}])
    >>> order.may_merge(0, 2), order.may_merge(0, 1)
    (False, True)
    >>> order.merge(0, 1)
    >>> order.may_merge(0, 2)
    True
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.base.topological_order import sort_topologically

_CLOSEST = 1e-6
"""How close ranks may come before all are dealt out anew."""


class Order:
    """Nodes in topological order, with their streams.

    Args:
        successors: Whom each node sends to; without cycles.
        predecessors: Whom each node receives from.
    """

    def __init__(self, successors: Sequence[Iterable[int]], predecessors: Sequence[Iterable[int]]) -> None:
        self.after = [set(nodes) for nodes in successors]
        self.before = [set(nodes) for nodes in predecessors]
        count = len(self.after)
        self.rank = [0.0] * count
        # The order as a ring, with a mark behind the last: who stands behind whom, and before whom.
        self._next, self._last = [count] * (count + 1), [count] * (count + 1)
        ordered = sort_topologically(dict(enumerate(self.after)))
        assert len(ordered) == count, "nodes on a cycle"
        for node in ordered:
            self._insert([node], self._last[count])
        self._into = list(range(count))
        # Of pairs with a path between them a node on it: the path is there until that node joins one of the two.
        self._third: dict[int, dict[int, int]] = {node: {} for node in self._into}

    def may_merge(self, one: int, other: int) -> bool:
        """Whether no path leads from one to the other through a third."""
        third = self._third[one].get(other)
        if third is not None and self._now(third) not in (one, other):
            return False
        found = self._between(one, other)
        if isinstance(found, int):
            self._third[one][other] = self._third[other][one] = found
            return False
        return True

    def merge(self, one: int, other: int) -> None:
        """Merge the second into the first; the caller has asked `may_merge`."""
        found = self._between(one, other)
        assert not isinstance(found, int), "a merge that closes a cycle"
        connected, follow = found
        # The new node stands where the later of the two stood, and what follows the earlier one behind it; or else
        # where the earlier one stood, and what precedes the later one before it.
        stays = max(one, other, key=self.rank.__getitem__) if follow else min(one, other, key=self.rank.__getitem__)
        moved = sorted(connected, key=self.rank.__getitem__)
        behind = self._last[stays]
        for node in (*moved, one, other):
            behind = self._last[node] if behind == node else behind
            self._remove(node)
        self._insert([one, *moved] if follow else [*moved, one], behind)
        self._unite(self.after, self.before, one, other)
        self._unite(self.before, self.after, one, other)
        self._into[other] = one
        for node, third in self._third.pop(other).items():
            del self._third[node][other]
            if node != one:
                self._third[one][node] = self._third[node][one] = third

    def may_merge_all(self, pairs: Sequence[tuple[int, int]]) -> bool:
        """Whether pairs can be merged at once; that can close a cycle though none of them closes one alone.

        Such a cycle runs through one of the new nodes, so it is enough to search from these, up to the last of them.
        """
        twin = {end: pair for pair in pairs for end in pair}
        limit = max(self.rank[end] for end in twin)
        return not any(self._returns(pair, twin, limit) for pair in pairs)

    def _returns(self, pair: tuple[int, int], twin: dict[int, tuple[int, int]], limit: float) -> bool:
        """Whether a path leaves a pair that is to be merged and comes back to it."""
        stack = [node for end in pair for node in self.after[end] if node not in pair and self.rank[node] <= limit]
        seen = set(stack)
        while stack:
            for end in twin.get(node := stack.pop(), (node,)):
                for following in self.after[end]:
                    if following in pair:
                        return True
                    if following not in seen and self.rank[following] <= limit:
                        seen.add(following)
                        stack.append(following)
        return False

    def _remove(self, node: int) -> None:
        before, behind = self._last[node], self._next[node]
        self._next[before], self._last[behind] = behind, before

    def _insert(self, nodes: list[int], before: int) -> None:
        """Put nodes behind a node, with ranks between those of its neighbours."""
        mark = len(self.rank)
        behind = self._next[before]
        low = self.rank[before] if before != mark else self.rank[behind] - len(nodes) - 1 if behind != mark else 0.0
        step = (self.rank[behind] - low) / (len(nodes) + 1) if behind != mark else 1.0
        for number, node in enumerate(nodes, start=1):
            self.rank[node] = low + number * step
            self._next[before], self._last[node] = node, before
            before = node
        self._next[before], self._last[behind] = behind, before
        if step < _CLOSEST:
            self._rank_anew()

    def _rank_anew(self) -> None:
        node, rank = self._next[len(self.rank)], 0.0
        while node != len(self.rank):
            self.rank[node], rank = rank, rank + 1.0
            node = self._next[node]

    def _now(self, node: int) -> int:
        """The node that a node has been merged into."""
        while self._into[node] != node:
            self._into[node] = node = self._into[self._into[node]]
        return node

    def _between(self, one: int, other: int) -> tuple[set[int], bool] | int:
        """The nodes between two that follow the first, or precede the second, and which of both; or one on a path.

        The search goes on from both ends, where less has been seen: a node often has many that follow and few that
        precede, or the other way round.
        """
        rank = self.rank
        first, last = (one, other) if rank[one] < rank[other] else (other, one)
        low, high = rank[first], rank[last]
        later = {node for node in self.after[first] if rank[node] < high}
        earlier = {node for node in self.before[last] if rank[node] > low}
        if not later.isdisjoint(earlier):
            return next(iter(later & earlier))
        forward, backward = list(later), list(earlier)
        while forward and backward:
            goes_forward = len(later) <= len(earlier)
            mine, theirs = (later, earlier) if goes_forward else (earlier, later)
            waiting, streams = (forward, self.after) if goes_forward else (backward, self.before)
            for node in streams[waiting.pop()]:
                if node in theirs:
                    return node
                if low < rank[node] < high and node not in mine:
                    mine.add(node)
                    waiting.append(node)
        return (later, True) if not forward else (earlier, False)

    @staticmethod
    def _unite(forward: list[set[int]], backward: list[set[int]], one: int, other: int) -> None:
        for node in forward[other]:
            backward[node].discard(other)
            backward[node].add(one)
        forward[one] |= forward[other]
        forward[one] -= {one, other}
        forward[other] = set()
        backward[one] -= {one, other}
