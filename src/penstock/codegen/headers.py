"""Places of items that tell themselves: no number travels where the place of a tuple follows from the one before.

Introduction:
    The first row of table 1 of the auto-parallelization paper: where a region has no state and makes exactly one tuple
    of one, the merge knows the order from channel and position, and no sequence number travels. Here that is a matter
    of encoding, for every edge: items whose numbers follow each other at one time and by one path are a run, and a run
    travels as its first place and its length. What is routed in turns goes in runs, and an operator that makes one
    tuple of one keeps them; so such a region sends nothing for each tuple. Where tuples are routed by key or dropped,
    runs are short, and places travel as they are: sequence numbers.

Example:
    20,000 tuples of a source, one after the other, and a pulse: two runs instead of 20,001 places of 29 bytes.

When it does not apply:
    Headers with many runs (more than a quarter of the items) are left as they are; `compact` then returns the same
    object. Source items that come at different times are in different runs.

Algorithm:
    Compare each item with the one before it: linear, on whole columns.

Preserves:
    `expanded(compact(header))` equals the header.

Reference:
    Auto-parallelization paper, section 4.3, round-robin; ours keeps numbers for all that follows the region.
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
    """
    if _numbers_travel or header.num_rows < _FEWEST:
        return header
    starts = _starts(header)
    if starts is None:
        return header
    lengths = np.diff(np.append(starts, header.num_rows))
    return header.take(pa.array(starts)).append_column(_LENGTH, pa.array(lengths))


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
    ends = np.cumsum(lengths)
    # The number of an item is that of its run's first, and its distance from there.
    numbers = np.arange(ends[-1]) + np.repeat(number - (ends - lengths), lengths)
    columns = [
        pa.array(np.repeat(time_ns, lengths)),
        pa.array(numbers),
        _repeated(header.column(2), lengths),
        pa.array(np.repeat(kind, lengths)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(list(header.schema)[:4]))


def _repeated(paths: pa.BinaryArray, lengths: Array) -> pa.BinaryArray:
    if len(lengths) > _FEW_RUNS:
        return paths.take(pa.array(np.repeat(np.arange(len(lengths)), lengths)))
    return pa.concat_arrays([pa.repeat(path, length) for path, length in zip(paths, lengths.tolist(), strict=True)])


def _starts(header: pa.RecordBatch) -> Array | None:
    """Where runs start; None if they are too many."""
    number = header.column(1).to_numpy()
    goes_on = np.diff(number) == 1
    if np.count_nonzero(goes_on) * _FEWEST < (_FEWEST - 1) * len(goes_on):
        return None
    time_ns, kind = header.column(0).to_numpy(), header.column(3).to_numpy()
    goes_on &= (time_ns[1:] == time_ns[:-1]) & (kind[1:] == kind[:-1])
    paths = header.column(2)
    if not _are_alike(paths):
        goes_on &= pc.equal(paths.slice(1), paths.slice(0, len(paths) - 1)).to_numpy(zero_copy_only=False)
    starts = np.append(0, np.flatnonzero(~goes_on) + 1)
    return starts if len(starts) * _FEWEST <= header.num_rows else None


def _are_alike(paths: pa.BinaryArray) -> bool:
    """Whether all paths are the same, but for the last, which may be that of a mark; told without looking at each."""
    count = len(paths) - 1
    offsets = np.frombuffer(paths.buffers()[1], np.int32)[paths.offset : paths.offset + count + 1]
    width = int(offsets[1] - offsets[0])
    if not width or offsets[-1] - offsets[0] != count * width or paths[count].as_py() not in (b"", paths[0].as_py()):
        return False
    flat = np.frombuffer(paths.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    return bool((np.diff(offsets) == width).all() and (flat[width:] == flat[:-width]).all())
