"""Where rows stand in the sequential order of one PE and one batch.

Introduction:
    A PE takes the items of a batch one by one, and what an item causes inside the PE happens depth first. A generated
    PE works operator by operator instead, on all rows of the batch. Where streams meet again, and where tuples leave,
    the sequential order has to be found again.

Formulation:
    The place of a row is the number of the arriving item it descends from, and below that one level for each point
    where the depth-first order has a choice: which subscriber of a stream, which output port, which of several tuples
    that an operator made of one. Places compare level by level. A level is an `int` where all rows of a stream agree,
    as after a fan-out, and an array where they differ, as after a merge.

Example:
    >>> left = Places(np.array([0, 2])).under(0)
    >>> right = Places(np.array([0, 1])).under(1)
    >>> merged, order = merge([right, left])
    >>> merged.item.tolist(), merged.levels[0].tolist(), order.tolist()
    ([0, 0, 1, 2], [0, 1, 1, 0], [2, 0, 1, 3])

Algorithm:
    If the first level at which two streams differ is an `int` in both, all rows of the one come before all rows of the
    other within an item: a stable sort by item of the concatenation, which costs little because the parts are
    sorted. Otherwise all levels are sorted by.

Preserves:
    The rows of every stream are in the order of their places; `take`, `under` and `merge` keep it so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from penstock.profiler.apart import apart

Array = Any
"""A numpy array; numpy's own types say too little about what is inside to be worth their length."""

Level = Any
"""An `int`, or an array with a number for each row."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The places of the rows of a stream, in order.

    Attributes:
        item: For each row the number of the item, within the batch, that it descends from.
        levels: What tells rows of one item apart, outermost first.
    """

    item: Array
    levels: tuple[Level, ...] = ()

    def __len__(self) -> int:
        return len(self.item)

    @property
    def is_static(self) -> bool:
        """Whether an item has at most one row here, in a place that is known without looking."""
        return all(isinstance(level, int) for level in self.levels)

    @apart
    def take(self, chosen: Array) -> Places:
        """The places of some rows, by their positions in ascending order."""
        return Places(self.item[chosen], tuple(v if isinstance(v, int) else v[chosen] for v in self.levels))

    def under(self, *levels: Level) -> Places:
        """The places one or more levels deeper."""
        return Places(self.item, (*self.levels, *levels))


NOWHERE = Places(np.zeros(0, np.int64))


@apart
def merge(parts: Sequence[Places]) -> tuple[Places, Array]:
    """The places of several streams as one, and where each row stood in the concatenation of the parts."""
    depth = max(len(p.levels) for p in parts)
    padded = [Places(p.item, (*p.levels, *(-1,) * (depth - len(p.levels)))) for p in parts]
    levels = tuple(_joined([p.levels[i] for p in padded], [len(p) for p in padded]) for i in range(depth))
    together = Places(np.concatenate([p.item for p in padded]), levels)
    order = _by_item(padded) if _are_decided(padded) else _by_place(together)
    return together.take(order), order


def _by_place(places: Places) -> Array:
    """The order of rows by item and levels; as one number where it fits, because runs that are sorted merge quickly."""
    keys = [level for level in places.levels if not isinstance(level, int)]
    combined, largest = places.item, int(places.item.max(initial=0))
    for level in keys:
        low = int(level.min(initial=0))
        span = int(level.max(initial=0)) - low + 1
        largest = largest * span + span
        if largest >= 2**63:
            return np.lexsort((*reversed(keys), places.item))
        combined = combined * span + (level - low)
    return np.argsort(combined, kind="stable")


def _joined(levels: Sequence[Level], sizes: Sequence[int]) -> Level:
    if all(isinstance(v, int) for v in levels) and len(set(levels)) == 1:
        return levels[0]
    return np.concatenate(
        [np.full(size, v, np.int64) if isinstance(v, int) else v for v, size in zip(levels, sizes, strict=True)]
    )


def _are_decided(parts: Sequence[Places]) -> bool:
    """Whether, for any two streams, the first levels at which they may differ tell all their rows apart."""
    prefixes = sorted(map(_static_prefix, parts))
    # In ascending order a prefix of another stands right before one of which it is a prefix.
    return all(later[: len(earlier)] != earlier for earlier, later in pairwise(prefixes))


def _by_item(parts: Sequence[Places]) -> Array:
    starts = np.cumsum([0, *(len(p) for p in parts)])
    ranked = sorted(range(len(parts)), key=lambda i: _static_prefix(parts[i]))
    positions = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in ranked])
    items = np.concatenate([parts[i].item for i in ranked])
    return positions[np.argsort(items, kind="stable")]


def _static_prefix(part: Places) -> tuple[int, ...]:
    found: list[int] = []
    for level in part.levels:
        if not isinstance(level, int):
            break
        found.append(level)
    return tuple(found)


def ranks(parts: Sequence[Places]) -> list[Level]:
    """For each part a number, or one for each row, that orders the rows of one item over all parts.

    Example:
        >>> ranks([Places(np.array([0, 1]), (1,)), Places(np.array([0]), (0,))])
        [1, 0]
    """
    static = all(p.is_static for p in parts)
    if static and len({p.levels for p in parts}) == len(parts):
        order = sorted(range(len(parts)), key=lambda i: parts[i].levels)
        return [order.index(i) for i in range(len(parts))]
    merged, order = merge(parts)
    starts = np.flatnonzero(np.diff(merged.item, prepend=-1))
    counted = np.empty(len(merged), np.int64)
    counted[order] = np.arange(len(merged)) - np.repeat(starts, np.diff(starts, append=len(merged)))
    return list(np.split(counted, np.cumsum([len(p) for p in parts])[:-1]))
