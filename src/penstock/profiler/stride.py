"""Stride sampling: for which tuples metrics are collected.

Introduction:
    Reading a clock costs more than a light operator does. So metrics are collected for a fraction s of the tuples.

Formulation:
    With a sampling fraction 0 < s <= 1, one tuple in every 1/s is taken: of any n tuples in a row, n s of them, up to
    one more or less.

Example:
    >>> stride = Stride(0.25, seed=1)
    >>> len(stride.take(1000)), len(stride.take(2)) <= 1
    (250, True)

Algorithm:
    The stream is divided into stretches of 1/s tuples, and out of each a random one is taken. Taking out of a whole
    batch costs as much as tuples are taken, not as many as there are. An instance that sees few tuples may begin
    anywhere in a stretch.

Reference:
    Gedik et al., CIKM 2009, section 3.2. The paper takes every tuple number k/s. We depart in the random place within a
    stretch: a stream with a period, such as two kinds of tuples in turns, would otherwise show one kind only.
"""

from __future__ import annotations

import math
import random


class Stride:
    """Counts tuples, and says which are taken.

    Args:
        fraction: The paper's s.
        seed: For tests; random unless given.
    """

    def __init__(self, fraction: float, *, seed: int | None = None) -> None:
        self._step = 1.0 / fraction
        self._random = random.Random(seed)
        # Where the present stretch began, counted from the next tuple, and which of its tuples is taken.
        self._start = -self._random.random() * self._step
        self._chosen = self._choose()

    def take(self, count: int) -> list[int]:
        """Of the next `count` tuples, the positions of those that are taken."""
        taken = []
        while self._chosen < count:
            if self._chosen >= 0:
                taken.append(self._chosen)
            self._start += self._step
            self._chosen = self._choose()
        self._start -= count
        self._chosen -= count
        return taken

    def _choose(self) -> int:
        first = math.ceil(self._start)
        last = math.ceil(self._start + self._step) - 1
        return self._random.randint(first, max(first, last))
