"""Many moves at once, as arrays: what sweeps and relief choose from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.placement.problem import Flags, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moves:
    """Moves that are thought of.

    Attributes:
        tasks: The tasks, each once.
        to: The machine that each would go to.
        gains: What each move is worth.
    """

    tasks: Ints
    to: Ints
    gains: Floats

    def only(self, which: Flags | Ints) -> Moves:
        """Some of the moves, in the order asked for."""
        return Moves(tasks=self.tasks[which], to=self.to[which], gains=self.gains[which])


def running_sums(rows: Floats, groups: Ints) -> Floats:
    """Sums from the start of each group on; the groups stand one after another.

    Example:
        >>> running_sums(np.array([[1.0], [2.0], [5.0]]), np.array([0, 0, 3])).ravel().tolist()
        [1.0, 3.0, 5.0]
    """
    sums = np.cumsum(rows, axis=0)
    if not len(rows):
        return sums
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    lengths = np.diff(np.r_[starts, len(rows)])
    return np.asarray(sums - np.repeat((sums - rows)[starts], lengths, axis=0))
