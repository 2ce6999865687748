"""How places travel: what tuples have in common once, and no number where it follows from the one before.

Introduction:
    The rows of table 1 of the auto-parallelization paper, as a matter of encoding, for every edge. Items that stand
    next to each other, by one path and of one kind, are a run, and a run travels as its first place and its length.
    Where a region has no state and makes exactly one tuple of one, what is routed in turns goes in runs whose
    numbers follow each other, and the region keeps them; then no number travels, and the merge knows the order from
    channel and position: round-robin. Where tuples are routed by key or dropped there are gaps, and every tuple carries
    its number, as the distance from the first of its run in as few bytes as it takes: sequence numbers. Times
    that differ travel in the same way.

Example:
    20,000 tuples of a source, one after the other, and a pulse: two runs instead of 20,001 places of 29 bytes. Half of
    them, chosen by their key: two runs, and two bytes for each tuple.

When it does not apply:
    Headers with many runs (more than a quarter of the items) are left as they are, and so are those whose numbers or
    times fall within a run; `compact` then returns the same object. Items that an operator made of one item are in
    different runs.

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

from penstock.codegen.rows.places import Array

_LENGTH = "_r"
_DISTANCES = "_d"
_TIMES = "_s"
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
        >>> compact(pa.record_batch(places | {"_t": [1, 3, 9, 9]})).to_pylist()
        [{'_t': 1, '_n': 5, '_k': b'x', '_p': 0, '_r': 4, '_s': [0, 2, 8, 8]}]
    """
    if header.num_rows < _FEWEST:
        return header
    time_ns, number = header.column(0).to_numpy(), header.column(1).to_numpy()
    is_alike = _is_alike(header)
    stays, follows = time_ns[1:] == time_ns[:-1], np.diff(number) == 1
    # The first form that fits is the smallest.
    for goes_on in (is_alike & stays & follows, is_alike & stays, is_alike):
        starts = _starts(goes_on)
        if starts is not None:
            return _by_runs(header, starts, time_ns, number)
    return header


def _by_runs(header: pa.RecordBatch, starts: Array, time_ns: Array, number: Array) -> pa.RecordBatch:
    """The runs, and for each item what does not follow from the first of its run; the header if something falls."""
    lengths = np.diff(np.append(starts, header.num_rows))
    runs = header.take(pa.array(starts)).append_column(_LENGTH, pa.array(lengths))
    in_run = np.arange(header.num_rows) - np.repeat(starts, lengths)
    numbers, times = (values - np.repeat(values[starts], lengths) for values in (number, time_ns))
    travelling: dict[str, Array] = {}
    if _numbers_travel or not np.array_equal(numbers, in_run):
        travelling[_DISTANCES] = numbers
    if times.any():
        travelling[_TIMES] = times
    if any(far.min() < 0 for far in travelling.values()):
        return header
    ends = pa.array(np.append(starts, header.num_rows), pa.int32())
    for name, far in travelling.items():
        runs = runs.append_column(name, pa.ListArray.from_arrays(ends, pa.array(_narrow(far))))
    return runs


def _narrow(far: Array) -> Array:
    """Distances in as many bytes as the longest takes."""
    longest = int(far.max())
    return far if longest >= 2**32 else far.astype(np.uint16 if longest < 2**16 else np.uint32)


def expanded(header: pa.RecordBatch) -> pa.RecordBatch:
    """A header with one place for each item.

    Example:
        >>> runs = pa.record_batch({"_t": [0], "_n": [5], "_k": [b"x"], "_p": [0], "_r": [3]})
        >>> expanded(runs).column("_n").to_pylist()
        [5, 6, 7]
    """
    if header.num_columns < 5:
        return header
    time_ns, number, kind, lengths = (np.asarray(header.column(i)) for i in (0, 1, 3, 4))
    distances = _told(header, _DISTANCES)
    if distances is None:
        ends = np.cumsum(lengths)
        distances = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
    times, later = np.repeat(time_ns, lengths), _told(header, _TIMES)
    columns = [
        pa.array(times if later is None else times + later),
        pa.array(np.repeat(number, lengths) + distances),
        _repeated(header.column(2), lengths),
        pa.array(np.repeat(kind, lengths)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(list(header.schema)[:4]))


def _told(header: pa.RecordBatch, name: str) -> Array | None:
    """How far each item is from the first of its run, where that travels."""
    position = header.schema.get_field_index(name)
    return None if position < 0 else header.column(position).flatten().to_numpy()


def _repeated(paths: pa.BinaryArray, lengths: Array) -> pa.BinaryArray:
    if len(lengths) > _FEW_RUNS:
        return paths.take(pa.array(np.repeat(np.arange(len(lengths)), lengths)))
    return pa.concat_arrays([pa.repeat(path, length) for path, length in zip(paths, lengths.tolist(), strict=True)])


def _is_alike(header: pa.RecordBatch) -> Array:
    """Whether each item but the first has path and kind of the one before."""
    kind, paths = header.column(3).to_numpy(), header.column(2)
    found: Array = kind[1:] == kind[:-1]
    if not are_alike(paths):
        found = found & pc.equal(paths.slice(1), paths.slice(0, len(paths) - 1)).to_numpy(zero_copy_only=False)
    return found


def _starts(goes_on: Array) -> Array | None:
    """Where runs start, if `goes_on` says which items but the first go on with one; None if they are too many."""
    if np.count_nonzero(goes_on) * _FEWEST < (_FEWEST - 1) * (len(goes_on) + 1):
        return None
    return np.append(0, np.flatnonzero(~goes_on) + 1)


def are_alike(paths: pa.BinaryArray) -> bool:
    """Whether all paths are the same, but for the last, which may be that of a mark; told without looking at each."""
    count = len(paths) - 1
    offsets = np.frombuffer(paths.buffers()[1], np.int32)[paths.offset : paths.offset + count + 1]
    width = int(offsets[1] - offsets[0])
    if not width or offsets[-1] - offsets[0] != count * width or paths[count].as_py() not in (b"", paths[0].as_py()):
        return False
    flat = np.frombuffer(paths.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    return bool((np.diff(offsets) == width).all() and (flat[width:] == flat[:-width]).all())
