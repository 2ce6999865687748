"""The state of many keys as plain data: columns, with a row for each key.

Introduction:
    A kernel with a state for each key keeps it in arrays. Between batches the state lies in a store, as what
    `remember` gives: tables of columns, which cost a copy of memory to write and to read, and no Python object for
    each key. As a row belongs to a key, a table can be taken apart and put together again, which lets the state of an
    operator move to other channels.

Formulation:
    A memory is `{"tables": [table, ...], "whole": {name: value}}`; a table is `{"names", "keys", "rows"}`: the
    attributes that the parts of the key are, or None where they are computed; a column for each part of the key; and a
    column for each thing that is remembered of a key. A column is a numpy array, or the bytes of an Arrow stream.

Example:
    >>> memory = {"tables": [table(["k"], [np.array([7, 8])], {"seen": np.array([1, 2])})], "whole": {}}
    >>> odd, even = (split(memory, lambda key: key["k"] % 2)[group] for group in (1, 0))
    >>> odd["tables"][0]["rows"]["seen"].tolist(), joined([odd, even])["tables"][0]["keys"][0].tolist()
    ([1], [7, 8])

When it does not apply:
    What belongs to no key, such as a count of all tuples, stands in `whole`; a memory that has any cannot be split.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.frames import concatenated, taken
from penstock.codegen.places import Array
from penstock.diagnostics import UserError
from penstock.expr.vector_frame import Column

Table = dict[str, Any]
Memory = dict[str, Any]

GroupOf = Callable[[Mapping[str, Column]], Array]
"""The groups of many keys, given the columns of their attributes by name."""


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


def split(memory: Memory, group_of: GroupOf) -> dict[int, Memory]:
    """The memories of groups of keys.

    Raises:
        UserError: Something in the memory belongs to no key.
    """
    if memory["whole"] or any(t["names"] is None for t in memory["tables"]):
        raise UserError("the state belongs to no key, so it cannot be split by key")
    groups = [_groups(t, group_of) for t in memory["tables"]]
    found = sorted({int(g) for array in groups for g in array})
    return {
        group: {
            "tables": [rows_at(t, np.flatnonzero(of == group)) for t, of in zip(memory["tables"], groups, strict=True)],
            "whole": {},
        }
        for group in found
    }


def _groups(whole: Table, group_of: GroupOf) -> Array:
    columns = [unpacked(column) for column in whole["keys"]]
    return np.asarray(group_of(dict(zip(whole["names"], columns, strict=True))))


def rows_at(whole: Table, chosen: Array) -> Table:
    """Some rows of a table, by their positions."""
    return {
        "names": whole["names"],
        "keys": [packed(taken(unpacked(column), chosen)) for column in whole["keys"]],
        "rows": {name: packed(taken(unpacked(column), chosen)) for name, column in whole["rows"].items()},
    }


def joined(memories: Sequence[Memory]) -> Memory:
    """The memory that holds the keys of several; no key may be in two of them.

    Raises:
        UserError: They hold something that belongs to no key.
    """
    if len(memories) > 1 and any(m["whole"] for m in memories):
        raise UserError("the states hold what belongs to no key, so they cannot be joined")
    first = memories[0]
    tables = [_together(parts) for parts in zip(*(m["tables"] for m in memories), strict=True)]
    return {"tables": tables, "whole": first["whole"]}


def _together(parts: Sequence[Table]) -> Table:
    first = parts[0]
    return {
        "names": first["names"],
        "keys": [_joined([p["keys"][i] for p in parts]) for i in range(len(first["keys"]))],
        "rows": {name: _joined([p["rows"][name] for p in parts]) for name in first["rows"]},
    }


def _joined(columns: Sequence[Any]) -> Any:
    return packed(concatenated([unpacked(column) for column in columns]))
