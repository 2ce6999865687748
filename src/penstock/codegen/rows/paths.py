"""The paths of many items: how they are ordered, and how a path grows when an item leaves a PE.

A path is four bytes, the highest first, for each PE that an item has left. Mostly all items of a batch have left
equally many, and their paths are one matrix of bytes; where not, they stay what they are in Arrow.

Example:
    >>> paths = Paths.of(pa.array([b"0001", b"0000"], pa.binary()))
    >>> paths.order(np.array([5, 5]), np.array([1, 1])).tolist()
    [1, 0]
    >>> paths.grown(np.array([1]), 7).at(0)
    b'0000\\x00\\x00\\x00\\x07'
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.codegen.rows.places import Array, Level

STEP_BYTES = 4


class Paths:
    """The paths of items.

    Args:
        array: As Arrow lays them out; none if they are a matrix.
        matrix: A row of bytes for each item, if all are of one length.
    """

    def __init__(self, array: pa.BinaryArray | None, matrix: Array | None) -> None:
        self._array = array
        self._matrix = matrix

    @classmethod
    def of(cls, together: pa.BinaryArray) -> Paths:
        """The paths that an array holds."""
        lengths = np.diff(_offsets(together))
        if not len(lengths) or (lengths != lengths[0]).any():
            return cls(together, None)
        start, width = int(_offsets(together)[0]), int(lengths[0])
        size = len(lengths) * width
        data = together.buffers()[2]
        flat = np.frombuffer(data, np.uint8)[start : start + size] if size else np.zeros(0, np.uint8)
        return cls(None, flat.reshape(len(lengths), width))

    @classmethod
    def one_step(cls, step: int, items: int) -> Paths:
        """The paths of items that have left their source, all by the same step."""
        return cls(None, np.broadcast_to(_bytes(step), (items, STEP_BYTES)))

    @classmethod
    def concatenated(cls, parts: Sequence[Paths]) -> Paths:
        """The paths of several batches, one behind the other."""
        if len(parts) == 1:
            return parts[0]
        matrices = [part._matrix for part in parts if part._matrix is not None]
        if parts and len(matrices) == len(parts) and len({matrix.shape[1] for matrix in matrices}) == 1:
            return cls(None, np.concatenate(matrices))
        return cls.of(pa.concat_arrays([part.array() for part in parts]) if parts else pa.array([], pa.binary()))

    def take(self, chosen: Array) -> Paths:
        """The paths of some items."""
        if self._matrix is not None:
            return Paths(None, self._matrix[chosen])
        assert self._array is not None
        return Paths(self._array.take(pa.array(chosen)), None)

    def array(self) -> pa.BinaryArray:
        """The paths as Arrow lays them out."""
        return self._array if self._matrix is None else binary_array(self._matrix)

    def at(self, item: int) -> bytes:
        """The path of one item."""
        if self._matrix is not None:
            return bytes(self._matrix[item])
        assert self._array is not None
        found: bytes = self._array[item].as_py()
        return found

    def come_before(self, bound: bytes) -> Array:
        """Which of the paths come before another one."""
        found: Array = pc.less(self.array(), pa.scalar(bound, pa.binary())).to_numpy(zero_copy_only=False)
        return found

    def order(self, time_ns: Array, number: Array) -> Array | None:
        """The positions of the items in the sequential order; None if they stand in it already."""
        later = np.diff(time_ns)
        if ((later > 0) | ((later == 0) & (np.diff(number) > 0))).all():
            return None
        return np.lexsort((*reversed(self._keys()), number, time_ns))

    def _keys(self) -> list[Array]:
        """Numbers by which paths are ordered, the most important first."""
        matrix, lengths = (self._matrix, []) if self._matrix is not None else self._padded()
        padding = -matrix.shape[1] % STEP_BYTES
        steps = np.ascontiguousarray(np.pad(matrix, ((0, 0), (0, padding)))).view(">u4")
        return [*(steps[:, i] for i in range(steps.shape[1])), *lengths]

    def _padded(self) -> tuple[Array, list[Array]]:
        """The paths filled up with zeros, and their lengths: of two that are then equal, the shorter comes first."""
        assert self._array is not None
        offsets = _offsets(self._array)
        lengths = np.diff(offsets)
        data = np.frombuffer(self._array.buffers()[2] or b"", np.uint8)
        matrix = np.zeros((len(lengths), int(lengths.max(initial=0))), np.uint8)
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            matrix[rows, :length] = data[offsets[rows][:, None] + np.arange(length)]
        return matrix, [lengths]

    def grown(self, item: Array, steps: Level) -> Paths:
        """The paths of what descends from items, one step longer."""
        if self._matrix is None:
            assert self._array is not None
            ends = np.broadcast_to(_bytes(steps), (len(item), STEP_BYTES))
            before = self._array.take(pa.array(item))
            return Paths(pc.binary_join_element_wise(before, binary_array(ends), pa.scalar(b"")), None)
        width = self._matrix.shape[1] + STEP_BYTES
        grown = np.empty((len(item), width), np.uint8)
        grown[:, :-STEP_BYTES] = self._matrix[item]
        grown[:, -STEP_BYTES:] = _bytes(steps)
        return Paths(None, grown)


def _bytes(steps: Level) -> Array:
    """The bytes of steps, a row for each."""
    return np.atleast_1d(np.asarray(steps, ">u4")).view(np.uint8).reshape(-1, STEP_BYTES)


def binary_array(matrix: Array) -> pa.BinaryArray:
    """The Arrow array of the rows of a matrix of bytes."""
    rows, width = matrix.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(matrix))]
    return pa.Array.from_buffers(pa.binary(), rows, buffers)


def _offsets(array: pa.BinaryArray) -> Array:
    if not len(array):
        return np.zeros(1, np.int32)
    return np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]
