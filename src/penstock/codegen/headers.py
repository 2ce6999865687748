"""How places travel: what tuples have in common once, and no number where it follows from the one before.

Introduction:
    The rows of table 1 of the auto-parallelization paper, as a matter of encoding, for every edge. Items that stand
    next to each other at one time, by one path and of one kind are a run, and a run travels as its first place and its
    length. Where a region has no state and makes exactly one tuple of one, what is routed in turns goes in runs whose
    numbers follow each other, and the region keeps them; then no number travels, and the merge knows the order from
    channel and position: round-robin. Where tuples are routed by key or dropped there are gaps, and every tuple carries
    its number, as the distance from the first of its run in two or four bytes: sequence numbers.

Example:
    20,000 tuples of a source, one after the other, and a pulse: two runs instead of 20,001 places of 29 bytes. Half of
    them, chosen by their key: two runs, and two bytes for each tuple.

When it does not apply:
    Headers with many runs (more than a quarter of the items) are left as they are, and so are those whose numbers lie
    further apart than four bytes tell; `compact` then returns the same object. Items that come at different times, or
    that an operator made of one item, are in different runs.

Algorithm:
    Compare each item with the one before it: linear, on whole columns.

Preserves:
    `expanded(compact(header))` equals the header.

Reference:
    Auto-parallelization paper, section 4.3; ours keeps numbers for all that follows the region.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.codegen.places import Array

_LENGTH = "_r"
_DISTANCES = "_d"
_FEWEST = 4
"""A run of so many items on average is worth it."""

_FEW_RUNS = 16
"""So many runs are written one by one."""

NUMBERS = "PENSTOCK_NUMBERS"
"""Set to `always` where a job starts, places travel even where they tell themselves; for measurements."""

_numbers_travel = os.environ.get(NUMBERS) == "always"


@contextmanager
def numbers_on_every_tuple() -> Iterator[None]:
    """Let places travel even where they tell themselves, in this process."""
    global _numbers_travel
    before, _numbers_travel = _numbers_travel, True
    try:
        yield
    finally:
        _numbers_travel = before


def compact(header: pa.RecordBatch) -> pa.RecordBatch:
    """A header by its runs, if it has few.

    Example:
        >>> places = {"_t": [0, 0, 0, 0], "_n": [5, 6, 7, 8], "_k": [b"x"] * 4, "_p": [0] * 4}
        >>> compact(pa.record_batch(places)).to_pylist()
        [{'_t': 0, '_n': 5, '_k': b'x', '_p': 0, '_r': 4}]
        >>> compact(pa.record_batch(places | {"_n": [5, 8, 9, 12]})).to_pylist()
        [{'_t': 0, '_n': 5, '_k': b'x', '_p': 0, '_r': 4, '_d': [0, 3, 4, 7]}]
    """
    if header.num_rows < _FEWEST:
        return header
    is_alike = _is_alike(header)
    if is_alike is None:
        return header
    number = header.column(1).to_numpy()
    follows = np.diff(number) == 1
    starts = None if _numbers_travel else _starts(is_alike & follows)
    if starts is not None:
        return _runs(header, starts)
    starts = _starts(is_alike)
    return header if starts is None else _with_distances(header, starts, number)


def _runs(header: pa.RecordBatch, starts: Array) -> pa.RecordBatch:
    lengths = np.diff(np.append(starts, header.num_rows))
    return header.take(pa.array(starts)).append_column(_LENGTH, pa.array(lengths))


def _with_distances(header: pa.RecordBatch, starts: Array, number: Array) -> pa.RecordBatch:
    """The runs, and for each item how far its number is from the first of its run."""
    runs = _runs(header, starts)
    distances = number - np.repeat(number[starts], runs.column(4).to_numpy())
    if distances.min() < 0 or distances.max() >= 2**32:
        return header
    narrow = distances.astype(np.uint16 if distances.max() < 2**16 else np.uint32)
    ends = pa.array(np.append(starts, header.num_rows), pa.int32())
    return runs.append_column(_DISTANCES, pa.ListArray.from_arrays(ends, pa.array(narrow)))


def expanded(header: pa.RecordBatch) -> pa.RecordBatch:
    """A header with one place for each item.

    Example:
        >>> runs = pa.record_batch({"_t": [0], "_n": [5], "_k": [b"x"], "_p": [0], "_r": [3]})
        >>> expanded(runs).column("_n").to_pylist()
        [5, 6, 7]
    """
    if header.num_columns < 5:
        return header
    time_ns, number, kind, lengths = (header.column(i).to_numpy() for i in (0, 1, 3, 4))
    columns = [
        pa.array(np.repeat(time_ns, lengths)),
        pa.array(np.repeat(number, lengths) + _distances(header, lengths)),
        _repeated(header.column(2), lengths),
        pa.array(np.repeat(kind, lengths)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(list(header.schema)[:4]))


def _distances(header: pa.RecordBatch, lengths: Array) -> Array:
    """How far the number of each item is from the first of its run."""
    if header.num_columns > 5:
        return header.column(5).flatten().to_numpy()
    ends = np.cumsum(lengths)
    return np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)


def _repeated(paths: pa.BinaryArray, lengths: Array) -> pa.BinaryArray:
    if len(lengths) > _FEW_RUNS:
        return paths.take(pa.array(np.repeat(np.arange(len(lengths)), lengths)))
    return pa.concat_arrays([pa.repeat(path, length) for path, length in zip(paths, lengths.tolist(), strict=True)])


def _is_alike(header: pa.RecordBatch) -> Array | None:
    """Whether each item but the first has time, path and kind of the one before; None if too few have."""
    time_ns, kind, paths = header.column(0).to_numpy(), header.column(3).to_numpy(), header.column(2)
    found: Array = (time_ns[1:] == time_ns[:-1]) & (kind[1:] == kind[:-1])
    if _starts(found) is None:
        return None
    if not _are_alike(paths):
        found &= pc.equal(paths.slice(1), paths.slice(0, len(paths) - 1)).to_numpy(zero_copy_only=False)
    return found


def _starts(goes_on: Array) -> Array | None:
    """Where runs start, if `goes_on` says which items but the first go on with one; None if they are too many."""
    if np.count_nonzero(goes_on) * _FEWEST < (_FEWEST - 1) * (len(goes_on) + 1):
        return None
    return np.append(0, np.flatnonzero(~goes_on) + 1)


def _are_alike(paths: pa.BinaryArray) -> bool:
    """Whether all paths are the same, but for the last, which may be that of a mark; told without looking at each."""
    count = len(paths) - 1
    offsets = np.frombuffer(paths.buffers()[1], np.int32)[paths.offset : paths.offset + count + 1]
    width = int(offsets[1] - offsets[0])
    if not width or offsets[-1] - offsets[0] != count * width or paths[count].as_py() not in (b"", paths[0].as_py()):
        return False
    flat = np.frombuffer(paths.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    return bool((np.diff(offsets) == width).all() and (flat[width:] == flat[:-width]).all())
