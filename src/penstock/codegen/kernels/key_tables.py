"""The state of many keys as plain data: columns, with a row for each key.

Introduction:
    A kernel with a state for each key keeps it in arrays. Between batches the state lies in a store, as what
    `snapshot` gives: tables of columns, which cost a copy of memory to write and to read, and no Python object for
    each key.

Formulation:
    A memory is `{"tables": [table, ...], "whole": {name: value}}`; a table is `{"names", "keys", "rows"}`: the
    attributes that the parts of the key are, or None where they are computed; a column for each part of the key; and a
    column for each thing that is remembered of a key. A column is a numpy array, or the bytes of an Arrow stream.

Example:
    >>> memory = {"tables": [table(["k"], [np.array([7, 8])], {"seen": np.array([1, 2])})], "whole": {}}
    >>> unpacked(memory["tables"][0]["rows"]["seen"]).tolist()
    [1, 2]

When it does not apply:
    What belongs to no key, such as a count of all tuples, stands in `whole`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.expr.vector.frame import Column

Table = dict[str, Any]


def table(names: Sequence[str] | None, keys: Sequence[Column], rows: Mapping[str, Column]) -> Table:
    """A table as plain data."""
    return {
        "names": None if names is None else list(names),
        "keys": [packed(column) for column in keys],
        "rows": {name: packed(column) for name, column in rows.items()},
    }


def packed(column: Column) -> Any:
    """A column as plain data; what is copied shares no memory with what goes on.

    Example:
        >>> unpacked(packed(pa.array(["a", "b"]))).to_pylist()
        ['a', 'b']
    """
    if isinstance(column, np.ndarray):
        return column.copy()
    batch = pa.RecordBatch.from_arrays([column], names=["column"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def unpacked(data: Any) -> Column:
    """The column that `packed` made data of; it can be changed in place."""
    if isinstance(data, np.ndarray):
        return data.copy()
    return pa.ipc.open_stream(data).read_next_batch().column(0)
