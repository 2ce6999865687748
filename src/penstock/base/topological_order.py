"""The topological order of a graph: every node behind those that lead to it.

Kahn's algorithm: a node is ready when all that lead to it have been taken. Which of several ready nodes comes next is
the caller's choice, and the order follows from that choice and the order of the graph alone.

Example:
    >>> graph = {"a": ["c"], "b": ["c", "d"], "c": [], "d": []}
    >>> sort_topologically(graph)
    ['a', 'b', 'c', 'd']
    >>> sort_topologically(graph, take=list.pop)
    ['b', 'd', 'a', 'c']
    >>> from heapq import heappop, heappush
    >>> sort_topologically({3: [1], 2: [], 1: []}, put=heappush, take=heappop)
    [2, 3, 1]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def sort_topologically(
    after: Mapping[Node, Iterable[Node]],
    *,
    put: Callable[[list[Node], Node], object] = list.append,
    take: Callable[[list[Node]], Node] | None = None,
) -> list[Node]:
    """The nodes, each behind all that lead to it; those on a cycle, and what follows them, are left out.

    Args:
        after: From each node to those that it leads to, as often as it does.
        put: Adds a node to the list of ready ones.
        take: Takes the next node from that list; without it they are taken in the order in which they became ready.

    Example:
        >>> sort_topologically({"a": "b", "b": "bc", "c": "", "d": ""})
        ['a', 'd']
    """
    waiting = dict(Counter(chain.from_iterable(after.values())))
    ready: list[Node] = []
    for node in after:
        if node not in waiting:
            put(ready, node)
    order: list[Node] = []
    for node in ready if take is None else _take_each(ready, take):
        order.append(node)
        for following in after[node]:
            waiting[following] = left = waiting[following] - 1
            if not left:
                put(ready, following)
    return order


def _take_each(ready: list[Node], take: Callable[[list[Node]], Node]) -> Iterator[Node]:
    while ready:
        yield take(ready)


def turn_edges(before: Mapping[Node, Iterable[Node]]) -> dict[Node, list[Node]]:
    """From each node to those that it leads to, given from each node to those that lead to it.

    Example:
        >>> turn_edges({"c": ["a", "b"], "d": ["b"]})
        {'c': [], 'a': ['c'], 'b': ['c', 'd'], 'd': []}
    """
    after: dict[Node, list[Node]] = {}
    for node, nodes in before.items():
        after.setdefault(node, [])
        for first in nodes:
            after.setdefault(first, []).append(node)
    return after
