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


class Order:
    """Nodes in topological order, with their streams.

    Args:
        successors: Whom each node sends to; without cycles.
        predecessors: Whom each node receives from.
    """

    def __init__(self, successors: Sequence[Iterable[int]], predecessors: Sequence[Iterable[int]]) -> None:
        self.after = [set(nodes) for nodes in successors]
        self.before = [set(nodes) for nodes in predecessors]
        self.at = sort_topologically(dict(enumerate(self.after)))
        self.rank = [0] * len(self.at)
        for rank, node in enumerate(self.at):
            self.rank[node] = rank

    def may_merge(self, one: int, other: int) -> bool:
        """Whether no path leads from one to the other through a third."""
        return self._between(one, other) is not None

    def merge(self, one: int, other: int) -> None:
        """Merge the second into the first; the caller has asked `may_merge`."""
        later = self._between(one, other)
        assert later is not None, "a merge that closes a cycle"
        low, high = sorted((self.rank[one], self.rank[other]))
        window = [node for node in self.at[low + 1 : high] if node >= 0]
        sequence = [node for node in window if node not in later] + [one] + [node for node in window if node in later]
        self.at[low : high + 1] = sequence + [-1] * (high + 1 - low - len(sequence))
        for rank in range(low, low + len(sequence)):
            self.rank[self.at[rank]] = rank
        self._unite(self.after, self.before, one, other)
        self._unite(self.before, self.after, one, other)

    def may_merge_all(self, pairs: Sequence[tuple[int, int]]) -> bool:
        """Whether pairs can be merged at once; that can close a cycle though none of them closes one alone.

        Such a cycle runs through one of the new nodes, so it is enough to search from these, up to the last of them.
        """
        twin = {end: pair for pair in pairs for end in pair}
        limit = max(self.rank[end] for end in twin)
        return not any(self._returns(pair, twin, limit) for pair in pairs)

    def _returns(self, pair: tuple[int, int], twin: dict[int, tuple[int, int]], limit: int) -> bool:
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

    def _between(self, one: int, other: int) -> set[int] | None:
        """The nodes that follow the first of two and rank before the second; None if the second follows from one."""
        first, last = (one, other) if self.rank[one] < self.rank[other] else (other, one)
        limit = self.rank[last]
        stack = [node for node in self.after[first] if self.rank[node] < limit]
        seen = set(stack)
        while stack:
            for node in self.after[stack.pop()]:
                if node == last:
                    return None
                if self.rank[node] < limit and node not in seen:
                    seen.add(node)
                    stack.append(node)
        return seen

    @staticmethod
    def _unite(forward: list[set[int]], backward: list[set[int]], one: int, other: int) -> None:
        for node in forward[other]:
            backward[node].discard(other)
            backward[node].add(one)
        forward[one] |= forward[other]
        forward[one] -= {one, other}
        forward[other] = set()
        backward[one] -= {one, other}
