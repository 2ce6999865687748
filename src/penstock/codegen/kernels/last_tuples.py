"""Join where a side remembers the last tuple of each key, or nothing: `sliding, count(1)` and `sliding, count(0)`.

Formulation:
    A tuple of one side meets at most one of the other: the last tuple with its key that came before it. So a batch of
    pairs is found by one search for each side that remembers. Each tuple that is remembered has a number made of its
    key and its position among all tuples of the batch, key first; in ascending order, the one just below the number of
    a tuple of the other side is its partner, if it has the same key. If not, the partner is what the state holds.

Algorithm:
    Sorting and binary search: O(b log b) for b tuples, whatever the number of keys.

Preserves:
    The pairs of `toolkit.relational.join`, and the order of the tuples that complete them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.codegen.kernels.column_operations import typed
from penstock.codegen.kernels.key_tables import table, unpacked
from penstock.codegen.kernels.keys import Keys, by_key
from penstock.codegen.rows.frames import Frame, concatenated, taken
from penstock.codegen.rows.places import Array, Places, merge
from penstock.expr.vector.frame import Column
from penstock.ir.types import parse_type


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The tuples that met, side by side."""

    left: Frame
    right: Frame


class LastTuples:
    """The last tuple of each key, for each side that remembers.

    Args:
        keys: The types of the parts of a key.
        sides: For each side the columns that a pair needs of it, with their types; None for a side without memory.
        names: For each side the attributes that the parts of a key are; None if they are computed.
    """

    def __init__(
        self,
        *,
        keys: Sequence[str],
        sides: Sequence[dict[str, str] | None],
        names: Sequence[Sequence[str] | None] = (None, None),
    ) -> None:
        both = zip(sides, names, strict=True)
        self._sides = [None if columns is None else _Side(keys, columns, known) for columns, known in both]

    def pairs(self, frames: Sequence[Frame], keys: Sequence[Sequence[Column]], names: Sequence[Sequence[str]]) -> Pairs:
        """Take a batch in; a pair stands in the place of the tuple that came later.

        Args:
            frames: Of the left and the right side.
            keys: The columns of the keys of both sides.
            names: Of the columns that a pair needs of each side.
        """
        places, order = merge([f.places for f in frames])
        positions = np.empty(len(order), np.int64)
        positions[order] = np.arange(len(order))
        position = positions[: len(frames[0])], positions[len(frames[0]) :]
        found: list[_Met] = []
        for side, memory in enumerate(self._sides):
            if memory is not None:
                found.append(memory.meet(side, frames, keys, position, names[side]))
        return _side_by_side(found, frames, names, places)

    def snapshot(self) -> dict[str, Any]:
        """The state as plain data: a table for each side that remembers."""
        return {"tables": [side.snapshot() for side in self._sides if side is not None], "whole": {}}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        remembering = [side for side in self._sides if side is not None]
        for side, remembered in zip(remembering, state["tables"], strict=True):
            side.restore(remembered)


@dataclass(frozen=True, slots=True, eq=False)
class _Met:
    """The matches of the tuples of one side with the last tuples of the other.

    Attributes:
        side: The side whose last tuples are matched.
        at: The positions of the tuples, among all of the batch.
        rows: The tuples, as rows of their frame.
        partners: The columns of the last tuples that they match.
    """

    side: int
    at: Array
    rows: Array
    partners: dict[str, Column]


class _Side:
    """The last tuple of each key of one side."""

    def __init__(self, keys: Sequence[str], columns: dict[str, str], names: Sequence[str] | None) -> None:
        self._keys = Keys(keys)
        self._names = names
        self._types = {name: parse_type(text) for name, text in columns.items()}
        self._last: dict[str, Column] = {name: typed([], type_) for name, type_ in self._types.items()}
        self._count = 0

    def meet(
        self,
        side: int,
        frames: Sequence[Frame],
        keys: Sequence[Sequence[Column]],
        position: Sequence[Array],
        names: Sequence[str],
    ) -> _Met:
        """Match the tuples of the other side with the last tuples of this one; then update its last tuples."""
        mine, others = frames[side], frames[1 - side]
        before = self._count
        codes = self._keys.codes(keys[side], rows=len(mine))
        others_codes = self._keys.codes(keys[1 - side], known=True, rows=len(others))
        total = len(mine) + len(others) + 1
        order = by_key(codes, len(self._keys))
        numbers = codes[order] * total + position[side][order]
        below = np.searchsorted(numbers, others_codes * total + position[1 - side]) - 1
        candidates = order[np.maximum(below, 0)] if len(order) else np.zeros(len(others), np.int64)
        is_new = (below >= 0) & (codes[candidates] == others_codes) if len(order) else np.zeros(len(others), bool)
        is_old = ~is_new & (others_codes >= 0) & (others_codes < before)
        rows = np.flatnonzero(is_new | is_old)
        chosen = np.where(is_new, before + candidates, others_codes)[rows]
        pools = {name: concatenated([self._last[name], mine[name]]) for name in self._types}
        self._keep(pools, codes, before)
        return _Met(side, position[1 - side][rows], rows, {name: taken(pools[name], chosen) for name in names})

    def _keep(self, pools: dict[str, Column], codes: Array, before: int) -> None:
        """The last row of each key, among those remembered and those of the batch."""
        self._count = max(before, int(codes.max()) + 1) if len(codes) else before
        last = np.arange(self._count)
        # Of several rows of one key the last one is assigned last.
        last[codes] = before + np.arange(len(codes))
        self._last = {name: taken(pool, last) for name, pool in pools.items()}

    def snapshot(self) -> dict[str, Any]:
        """The keys and the columns of their last tuples."""
        # Without key and columns only this column tells whether there has been a tuple.
        rows = {"": np.ones(self._count, bool), **self._last}
        return table(self._names, self._keys.columns(), rows)

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self._keys.restore([unpacked(column) for column in state["keys"]])
        self._last = {name: unpacked(column) for name, column in state["rows"].items()}
        self._count = len(self._last.pop(""))


def _side_by_side(
    found: Sequence[_Met], frames: Sequence[Frame], names: Sequence[Sequence[str]], places: Places
) -> Pairs:
    """All pairs in the order of the tuples that complete them."""
    at = np.concatenate([met.at for met in found])
    order = np.argsort(at, kind="stable")
    sides = []
    for side in (0, 1):
        columns = {}
        for name in names[side]:
            parts = [met.partners[name] if met.side == side else taken(frames[side][name], met.rows) for met in found]
            columns[name] = taken(concatenated(parts), order)
        sides.append(Frame(places.take(at[order]), columns))
    return Pairs(*sides)
