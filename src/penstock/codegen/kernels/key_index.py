"""Finds the numbers of keys: a hash table in arrays, for a whole batch at once.

Introduction:
    A dictionary of Python's holds an object for each key, and lives in one process. This table is two arrays, which
    many keys are looked up in at once, and which may lie in a file.

Algorithm:
    Open addressing with linear probing, at most half full: each round compares all keys of the batch that are not found
    yet with what stands in their place, and lets those that met another go on to the next. A batch of b keys takes O(b)
    expected, however many are known.

Reference:
    Knuth, The Art of Computer Programming, volume 3, section 6.4, algorithm L.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.codegen.kernels.growing_arrays import GrowingArray
from penstock.codegen.rows.places import Array

_FEWEST_SLOTS = 64

Equals = Callable[[Array, Array], Array]
"""Whether rows of the batch have the same key as numbers that are known."""


class KeyIndex:
    """The numbers of keys by the hash of the key.

    Attributes:
        count: How many keys it knows; they are numbered from 0.
        arrays: What it lies in.

    Example:
        >>> index = KeyIndex()
        >>> hashes = np.array([7, 7 + 64], np.uint64)
        >>> index.add(hashes)
        >>> index.find(hashes[::-1], lambda rows, codes: codes >= 0).tolist()
        [1, 0]
    """

    def __init__(self) -> None:
        self.count = 0
        self._hashes = GrowingArray(np.uint64)
        # The number of a key and one; 0 where there is none.
        self._slots = GrowingArray(np.int32)
        self.arrays = (self._hashes, self._slots)

    def find(self, hashes: Array, equals: Equals) -> Array:
        """The numbers of keys, -1 for those that are not known."""
        found = np.full(len(hashes), -1, np.int64)
        if not self.count:
            return found
        slots, known = self._slots.array, self._hashes.array
        rows, at = np.arange(len(hashes)), self._first(hashes)
        while len(rows):
            codes = slots[at].astype(np.int64) - 1
            if codes.min() < 0:
                there = np.flatnonzero(codes >= 0)
                rows, at, codes = rows[there], at[there], codes[there]
            same = known[codes] == hashes[rows]
            met = np.flatnonzero(same)
            if len(met):
                right = equals(rows[met], codes[met])
                found[rows[met[right]]] = codes[met[right]]
                same[met[~right]] = False
            rows, at = rows[~same], at[~same]
            at = (at + 1) & (len(slots) - 1)
        return found

    def add(self, hashes: Array) -> None:
        """Know more keys, none of them twice, with the next numbers."""
        before, self.count = self.count, self.count + len(hashes)
        self._hashes.reserve(self.count)
        self._hashes.array[before : self.count] = hashes
        if 2 * self.count <= len(self._slots.array):
            self._place(np.arange(before, self.count))
        else:
            self._slots.clear(max(_FEWEST_SLOTS, 1 << (4 * self.count - 1).bit_length()))
            self._place(np.arange(self.count))

    def forget(self) -> None:
        """Know nothing."""
        self.count = 0
        self._slots.clear(_FEWEST_SLOTS)

    def _place(self, codes: Array) -> None:
        slots = self._slots.array
        at = self._first(self._hashes.array[codes])
        while len(codes):
            free = slots[at] == 0
            # Of several that come to one place the last gets it.
            slots[at[free]] = codes[free] + 1
            left = slots[at] != codes + 1
            codes, at = codes[left], (at[left] + 1) & (len(slots) - 1)

    def _first(self, hashes: Array) -> Array:
        """Where the search for each key begins."""
        return (hashes & np.uint64(len(self._slots.array) - 1)).astype(np.int64)
