"""Keys as small numbers: what lets state lie in arrays.

Every key that a state knows has a number. A batch of keys becomes an array of numbers by way of its distinct keys: only
those are looked up one by one.

Example:
    >>> keys = Keys(["rstring"])
    >>> keys.codes([pa.array(["b", "a", "b"])]).tolist(), keys.codes([pa.array(["a", "c"])], known=True).tolist()
    ([0, 1, 0], [1, -1])
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # noqa: F401 # the example above needs it

from penstock.codegen.columns import values
from penstock.codegen.places import Array
from penstock.expr.vector_frame import Column
from penstock.ir.types import EnumType, Type, is_string, parse_type
from penstock.toolkit.aggregates_distinct import identity_of
from penstock.toolkit.memory import same_nan


class Keys:
    """The numbers of keys.

    Args:
        types: Of the parts of a key, as SPL writes them; without any there is one key alone.
    """

    def __init__(self, types: Sequence[str]) -> None:
        self._types = [parse_type(text) for text in types]
        self._numbers: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._numbers) if self._types else 1

    def codes(self, columns: Sequence[Column], *, known: bool = False, rows: int = 0) -> Array:
        """The number of each row's key.

        Args:
            columns: The parts of the key.
            known: Whether a key that is not known stays so, and gets -1.
            rows: How many there are; needed where the key has no parts.
        """
        if not self._types:
            return np.zeros(rows, np.int64)
        distinct, inverse = self._distinct(columns)
        if known:
            found = [self._numbers.get(key, -1) for key in distinct]
        else:
            found = [self._numbers.setdefault(key, len(self._numbers)) for key in distinct]
        return np.array(found, np.int64)[inverse] if len(inverse) else np.zeros(0, np.int64)

    def keep(self, kept: Array) -> None:
        """Forget all keys but those for which a mask holds; they are numbered anew, in their old order."""
        remaining = [key for key, keep in zip(self._numbers, kept.tolist(), strict=True) if keep]
        self._numbers = {key: i for i, key in enumerate(remaining)}

    def remember(self) -> list[Hashable]:
        """The keys in the order of their numbers."""
        return list(self._numbers)

    def recall(self, keys: Sequence[Hashable]) -> None:
        """Take over keys."""
        self._numbers = {same_nan(key): i for i, key in enumerate(keys)}

    def _distinct(self, columns: Sequence[Column]) -> tuple[list[Hashable], Array]:
        """The distinct keys of a batch, and for each row which of them it has."""
        parts = [_coded(column, type_) for column, type_ in zip(columns, self._types, strict=True)]
        if len(parts) == 1:
            return [(value,) for value in parts[0][0]], parts[0][1]
        inverse = parts[0][1]
        for found, codes in parts[1:]:
            inverse = inverse * len(found) + codes
        _, first, inverse = np.unique(inverse, return_index=True, return_inverse=True)
        lists = [[found[code] for code in codes[first].tolist()] for found, codes in parts]
        return list(zip(*lists, strict=True)), inverse


def _coded(column: Column, type_: Type) -> tuple[list[Any], Array]:
    """The distinct values of a column, as they stand in keys, and for each row which of them it has."""
    if isinstance(column, np.ndarray):
        found, codes = np.unique(column, return_inverse=True)
        return [same_nan(value) for value in found.tolist()], codes.astype(np.int64)
    if is_string(type_) or isinstance(type_, EnumType):
        coded = column.dictionary_encode()
        return coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    identity = identity_of(type_)
    numbers: dict[Hashable, int] = {}
    made = [value if identity is None else identity(value) for value in values(column, type_)]
    return_codes = [numbers.setdefault(value, len(numbers)) for value in made]
    return list(numbers), np.array(return_codes, np.int64)


def by_key(codes: Array, count: int) -> Array:
    """The rows in the order of their keys' numbers, of which there are `count`, and within a key as they came."""
    # Numpy sorts small numbers by their digits, which is several times faster.
    small = codes.astype(np.uint16) if count <= 1 << 16 else codes
    return np.argsort(small, kind="stable")


def grown(array: Array, rows: int) -> Array:
    """An array with room for at least so many rows; what is new is zero."""
    if len(array) >= rows:
        return array
    larger = np.zeros((max(rows, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
