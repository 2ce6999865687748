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

import numpy as np

from penstock.codegen.kernels.key_tables import KeyTable, TabledState
from penstock.codegen.kernels.keys import by_key
from penstock.codegen.rows.frames import Frame, concatenated, taken
from penstock.codegen.rows.places import Array, Places, merge
from penstock.expr.vector.frame import Column
from penstock.ir.types import parse_type


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The tuples that met, side by side."""

    left: Frame
    right: Frame


class LastTuples(TabledState):
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
        self.tables = [side.table for side in self._sides if side is not None]

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
        self._names = list(columns)
        # Without key and columns only the first column tells whether there has been a tuple.
        held = {"": np.bool_, **{name: parse_type(text) for name, text in columns.items()}}
        self.table = KeyTable(names, keys, held)

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
        before = len(self.table)
        codes = self.table.find(keys[side], rows=len(mine))
        others_codes = self.table.keys.codes(keys[1 - side], known=True, rows=len(others))
        total = len(mine) + len(others) + 1
        order = by_key(codes, len(self.table.keys))
        numbers = codes[order] * total + position[side][order]
        below = np.searchsorted(numbers, others_codes * total + position[1 - side]) - 1
        candidates = order[np.maximum(below, 0)] if len(order) else np.zeros(len(others), np.int64)
        is_new = (below >= 0) & (codes[candidates] == others_codes) if len(order) else np.zeros(len(others), bool)
        is_old = ~is_new & (others_codes >= 0) & (others_codes < before)
        rows = np.flatnonzero(is_new | is_old)
        old = others_codes[is_old]
        chosen = np.where(is_new, len(old) + candidates, np.cumsum(is_old) - 1)[rows]
        pools = {name: concatenated([self.table.take(name, old), mine[name]]) for name in names}
        self._keep(mine, codes[order], order)
        return _Met(side, position[1 - side][rows], rows, {name: taken(pools[name], chosen) for name in names})

    def _keep(self, mine: Frame, ordered: Array, order: Array) -> None:
        """Remember the last row of each key of the batch."""
        is_last = np.diff(ordered, append=-1) != 0
        present, last = ordered[is_last], order[is_last]
        self.table.put("", present, np.ones(len(present), bool))
        for name in self._names:
            self.table.put(name, present, taken(mine[name], last))


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
