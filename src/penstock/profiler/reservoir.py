"""Reservoir sampling: which of the collected values are kept.

Introduction:
    A stream does not end, memory does. A reservoir keeps S values, of all that it has seen each with the same chance.

Formulation:
    After n values, every set of min(S, n) of them is equally likely to be what the reservoir holds.

Example:
    >>> reservoir = Reservoir(3)
    >>> for value in range(100):
    ...     reservoir.add(value)
    >>> len(reservoir.values), reservoir.seen
    (3, 100)

Algorithm:
    The value number i, from 0: if i < S it is added; otherwise it takes the place of a random one with probability
    S / (i + 1), and is dropped with the rest. One random number a value.

    Two reservoirs of parts of a stream (channels, batches) become one of the whole: how many of the kept values come
    from the first is a draw without replacement from all that both have seen, a hypergeometric number; which ones is a
    random subset. Values are not weighted one by one, so the result is uniform, not nearly so.

Preserves:
    Uniformity, and the bound S on memory.

Reference:
    Gedik et al., CIKM 2009, section 3.2, after Vitter. The paper prints the probability S / i for the i-th value
    counted from 0; that would take the value number S with certainty. S / (i + 1) is Vitter's, and is uniform.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

_RANDOM = random.Random()


class Reservoir:
    """A uniform sample of bounded size.

    Args:
        size: The paper's S.
        seed: For tests; random unless given.

    Attributes:
        values: What is kept.
        seen: How many values have come.
    """

    __slots__ = ("_random", "seen", "size", "values")

    def __init__(self, size: int, *, seed: int | None = None) -> None:
        self.size = size
        self.values: list[Any] = []
        self.seen = 0
        # A generator of its own takes longer to make than most reservoirs of a batch take to fill.
        self._random: random.Random = _RANDOM if seed is None else random.Random(seed)

    def add(self, value: Any) -> None:
        """See one more value."""
        if self.seen < self.size:
            self.values.append(value)
        else:
            place = int(self._random.random() * (self.seen + 1))
            if place < self.size:
                self.values[place] = value
        self.seen += 1

    def merge(self, other: Reservoir) -> None:
        """See all that another reservoir has seen."""
        total = self.seen + other.seen
        if total <= self.size:
            self.values += other.values
        else:
            generator = np.random.default_rng(self._random.getrandbits(64))
            mine = int(generator.hypergeometric(self.seen, other.seen, min(self.size, total))) if self.seen else 0
            kept = self._random.sample(self.values, min(mine, len(self.values)))
            theirs = min(self.size - len(kept), len(other.values))
            self.values = kept + self._random.sample(other.values, theirs)
        self.seen = total
