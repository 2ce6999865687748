"""The bytes of an entry of stored state: compressed columns.

Introduction:
    Numbers of state are small for their types: counts, sums, keys from a range. Most of their bytes are zero, but not
    side by side.

Formulation:
    The first bytes of all values of an array come first, then all second ones, and so on. A general compressor then
    finds long runs of equal bytes, which makes it fast, too: some five times faster and half as large as on the values
    themselves.

Example:
    >>> change = {"codes": np.arange(3, dtype=np.int32), "keys": [b"as it is"]}
    >>> found = decode_entry(encode_entry(change))
    >>> found["codes"].tolist(), found["keys"]
    ([0, 1, 2], [b'as it is'])
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.kernels.key_tables import Table
from penstock.codegen.rows.places import Array

_CODEC = "zstd"
_SIZE_BYTES = 8


@dataclass(frozen=True, slots=True)
class _Planes:
    """An array by the bytes of its values.

    Attributes:
        dtype: Of the array.
        shape: Likewise.
        planes: A row for each byte of a value.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    planes: Array


def encode_entry(change: Table) -> bytes:
    """The bytes of some rows of a table."""
    data = pickle.dumps(_each_array(change, _to_planes), protocol=5)
    packed: bytes = pa.compress(data, codec=_CODEC, asbytes=True)
    return len(data).to_bytes(_SIZE_BYTES) + packed


def decode_entry(data: bytes) -> Table:
    """The rows of a table that bytes are of."""
    size = int.from_bytes(data[:_SIZE_BYTES])
    read = pickle.loads(pa.decompress(memoryview(data)[_SIZE_BYTES:], decompressed_size=size, codec=_CODEC))
    found: Table = _each_array(read, _from_planes)
    return found


def _each_array(data: Any, change: Any) -> Any:
    """Plain data with every array changed."""
    if isinstance(data, dict):
        return {name: _each_array(value, change) for name, value in data.items()}
    if isinstance(data, list):
        return [_each_array(value, change) for value in data]
    return change(data)


def _to_planes(value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype == object or not value.size:
        return value
    rows = np.ascontiguousarray(value).reshape(-1).view(np.uint8).reshape(value.size, -1)
    return _Planes(value.dtype, value.shape, np.ascontiguousarray(rows.T))


def _from_planes(value: Any) -> Any:
    if not isinstance(value, _Planes):
        return value
    return np.ascontiguousarray(value.planes.T).reshape(-1).view(value.dtype).reshape(value.shape)
