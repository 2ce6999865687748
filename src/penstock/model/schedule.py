"""The order of stages in a micro-batch, and the longest way through them.

Spark starts a stage when all stages that it reads from have finished, so a micro-batch takes at least as long as its
longest way; independent stages run at the same time.

Example:
    >>> order = in_order({"a": (), "b": (), "c": ("a", "b")})
    >>> order
    ['a', 'b', 'c']
    >>> longest_way(order, {"c": ("a", "b")}, {"a": 2.0, "b": 3.0, "c": 1.0})
    (4.0, ['b', 'c'])
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from penstock.base.topological_order import sort_topologically, turn_edges

Node = TypeVar("Node", bound=Hashable)


def in_order(before: Mapping[Node, Sequence[Node]]) -> list[Node] | None:
    """The nodes in an order in which each comes after those before it; None if there is a cycle."""
    order = sort_topologically(turn_edges(before))
    return order if len(order) == len(before) else None


def longest_way(
    order: Sequence[Node], before: Mapping[Node, Sequence[Node]], length: Mapping[Node, float]
) -> tuple[float, list[Node]]:
    """The longest way through nodes that are in order: its length, and the nodes on it."""
    reached: dict[Node, float] = {}
    previous: dict[Node, Node | None] = {}
    for node in order:
        from_ = max(before.get(node, ()), key=reached.__getitem__, default=None)
        previous[node] = from_
        reached[node] = length[node] + (reached[from_] if from_ is not None else 0.0)
    last: Node | None = max(order, key=reached.__getitem__, default=None)
    if last is None:
        return 0.0, []
    total, way = reached[last], []
    while last is not None:
        way.append(last)
        last = previous[last]
    return total, way[::-1]
