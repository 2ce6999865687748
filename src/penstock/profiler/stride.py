"""Stride sampling: for which tuples metrics are collected.

Introduction:
    Reading a clock costs more than a light operator does. So metrics are collected for a fraction s of the tuples.

Formulation:
    With a sampling fraction 0 < s <= 1, one tuple in every 1/s is taken: of any n tuples in a row, n s of them, up to
    one more or less.

Example:
    >>> stride = Stride(0.25, phase=0.5)
    >>> stride.take(10), stride.take(5)
    ([2, 6], [0, 4])

When it does not apply:
    A stream with a period that divides 1/s shows the same tuple of each period. The phase is drawn at random, so that
    runs differ in which.

Algorithm:
    The place of the next tuple to take is kept as a float and moved by 1/s. Taking out of a whole batch costs as much
    as tuples are taken, not as many as there are.

Reference:
    Gedik et al., CIKM 2009, section 3.2. We depart in the random phase: an instance that sees a single batch would
    otherwise always take its first tuple.
"""

from __future__ import annotations

import math
import random


class Stride:
    """Counts tuples, and says which are taken.

    Args:
        fraction: The paper's s.
        phase: Where the first tuple to take lies within the first 1/s tuples, from 0 up to 1; random unless given.
    """

    def __init__(self, fraction: float, *, phase: float | None = None) -> None:
        self._step = 1.0 / fraction
        self._next = (random.random() if phase is None else phase) * self._step

    def take(self, count: int) -> list[int]:
        """Of the next `count` tuples, the positions of those that are taken."""
        taken = []
        while self._next < count:
            taken.append(math.floor(self._next))
            self._next += self._step
        self._next -= count
        return taken
