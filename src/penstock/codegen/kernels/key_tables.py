"""The state of many keys: a table with a row for each key.

Introduction:
    A kernel with a state for each key keeps it in tables. A batch takes the rows of its keys, works on them and puts
    them back. Between batches the state lies in a store, as plain data: columns, which cost a copy of memory to write
    and to read, and no Python object for each key.

Formulation:
    What `snapshot` gives is `{"tables": [table, ...], "whole": {name: value}}`; a table is `{"names", "keys", "rows"}`:
    the attributes that the parts of the key are, or None where they are computed; a column for each part of the key;
    and a column for each thing that is remembered of a key. A column is a numpy array, or the bytes of an Arrow stream.
    `change` gives the same of some rows only, with their numbers; `assemble` puts such changes together.

Example:
    >>> seen = KeyTable(["k"], ["int64"], {"seen": np.int32})
    >>> present = seen.find([np.array([7, 8, 7])])
    >>> seen.put("seen", present, np.array([2, 1, 2]))
    >>> unpacked(seen.snapshot()["rows"]["seen"]).tolist(), seen.take_touched().tolist()
    ([2, 1], [0, 1])

When it does not apply:
    What belongs to no key, such as a count of all tuples, stands in `whole`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.kernels.growing_arrays import GrowingArray
from penstock.codegen.kernels.growing_columns import GrowingColumn, growing_column
from penstock.codegen.kernels.keys import Keys
from penstock.codegen.rows.frames import concatenated, taken
from penstock.codegen.rows.places import Array
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


def take_rows(state: Table, rows: Array) -> Table:
    """Some rows of a table, as plain data."""

    def take(data: Any) -> Any:
        return packed(taken(unpacked(data), rows))

    return {
        "names": state["names"],
        "keys": [take(column) for column in state["keys"]],
        "rows": {name: take(column) for name, column in state["rows"].items()},
    }


class KeyTable:
    """A row for each key.

    Args:
        names: The attributes that the parts of a key are; None if they are computed.
        keys: The types of the parts of a key; without any there is one key alone.
        rows: What is remembered of a key, with the type of each: numpy's, SPL's, or numpy's with the shape of a value.

    Attributes:
        keys: The numbers of the keys.
        is_new: Whether nothing that was stored before holds any more.
        unused: How many rows stand for a key of which nothing is known any more.
    """

    def __init__(self, names: Sequence[str] | None, keys: Sequence[str], rows: Mapping[str, Any]) -> None:
        self._names = names
        self.keys = Keys(keys)
        self._columns: dict[str, GrowingColumn] = {}
        self._types: dict[str, str] = {}
        for name, type_ in rows.items():
            self._columns[name] = growing_column(*type_) if isinstance(type_, tuple) else growing_column(type_)
        self._count = 0
        self._touched: list[Array] = []
        self.is_new = True
        self.unused = 0

    def __len__(self) -> int:
        return self._count

    def find(self, columns: Sequence[Column], rows: int = 0) -> Array:
        """The number of each row's key; keys that are new get a row of zeros."""
        codes = self.keys.codes(columns, rows=rows)
        if len(codes):
            self.grow()
        return codes

    def grow(self) -> None:
        """Have a row for every key."""
        if self._count < len(self.keys):
            self.touch(np.arange(self._count, len(self.keys)))
            self._count = len(self.keys)
            for column in self._columns.values():
                column.reserve(self._count)

    def define(self, name: str, dtype: Any) -> None:
        """Have a column whose type is known only when the first values come."""
        if name not in self._columns:
            self._types[name] = np.dtype(dtype).str
            self._columns[name] = growing_column(np.dtype(dtype))
            self._columns[name].reserve(self._count)

    def take(self, name: str, codes: Array) -> Any:
        """What is remembered of some keys."""
        return self._columns[name].take(codes)

    def put(self, name: str, codes: Array, values: Column) -> None:
        """Remember something of some keys; where it is a number, a key may come several times, and the last counts."""
        self._columns[name].put(codes, values)
        self.touch(codes)

    def head(self, name: str) -> Any:
        """What is remembered of all keys, in the order of their numbers."""
        return self._columns[name].head(self._count)

    def touch(self, codes: Array) -> None:
        """Note that the rows of some keys have changed."""
        if not self._touched or self._touched[-1] is not codes:
            self._touched.append(codes)

    def take_touched(self) -> Array:
        """The keys whose rows have changed since the last call, ascending."""
        touched, self._touched = self._touched, []
        if not touched:
            return np.zeros(0, np.int64)
        return np.unique(np.concatenate(touched))

    def keep(self, kept: Array) -> None:
        """Forget all keys but those for which a mask holds; they are numbered anew, in their old order."""
        chosen = np.flatnonzero(kept)
        self._restore(self.keys.columns(chosen), {name: c.take(chosen) for name, c in self._columns.items()})
        self.unused = 0

    def snapshot(self) -> Table:
        """The table as plain data."""
        keys = self.keys.columns() if self._count else self.keys.columns(np.zeros(0, np.int64))
        return table(self._names, keys, {name: self.head(name) for name in self._columns})

    def rows(self, codes: Array) -> dict[str, Column]:
        """All that is remembered of some keys."""
        return {name: column.take(codes) for name, column in self._columns.items()}

    def change(self, codes: Array) -> Table:
        """Some rows as plain data."""
        return {"codes": codes, "count": self._count, **table(self._names, self.keys.columns(codes), self.rows(codes))}

    def restore(self, state: Table) -> None:
        """Hold the rows of another table."""
        self._restore(
            [unpacked(column) for column in state["keys"]],
            {name: unpacked(column) for name, column in state["rows"].items()},
        )

    def _restore(self, keys: Sequence[Column], rows: Mapping[str, Column]) -> None:
        self.keys.restore(keys)
        self._count = len(next(iter([*rows.values(), *keys])))
        for name, column in rows.items():
            if name not in self._columns:
                self.define(name, column.dtype)
            self._columns[name].restore(column)
            self._columns[name].reserve(self._count)
        self._touched, self.is_new = [], True

    def count_bytes(self) -> int:
        """The bytes of all rows, about; the same for the same rows, however they came to be."""
        return self.keys.count_bytes() + sum(column.count_bytes(self._count) for column in self._columns.values())

    @property
    def arrays(self) -> list[GrowingArray] | None:
        """What the table lies in; None if that is more than arrays."""
        found = self.keys.arrays
        for column in self._columns.values():
            if found is None or not column.arrays:
                return None
            found = [*found, *column.arrays]
        return found

    @property
    def is_in_files(self) -> bool:
        """Whether all of the table lies in files."""
        arrays = self.arrays
        return arrays is not None and all(array.is_mapped for array in arrays)

    def sizes(self) -> list[Any]:
        """What else has to be known to go on with the arrays in another process."""
        return [self._count, self._types, self.keys.sizes(), {n: c.sizes() for n, c in self._columns.items()}]

    def move_to(self, folder: Path) -> None:
        """Lie in files from now on."""
        for number, array in enumerate(self.arrays or ()):
            array.move_to(folder / str(number))

    def attach(self, folder: Path, sizes: Sequence[Any]) -> None:
        """Go on with what lies in files."""
        self._count, types, keys, columns = sizes
        for name, dtype in types.items():
            self.define(name, dtype)
        for number, array in enumerate(self.arrays or ()):
            array.attach(folder / str(number))
        self.keys.restore_sizes(keys)
        for name, own in columns.items():
            self._columns[name].restore_sizes(own)
            self._columns[name].reserve(self._count)
        self.is_new = False


@dataclass(frozen=True, slots=True)
class Outline:
    """The state of a kernel without the rows of its tables.

    Attributes:
        tables: How many there are.
        whole: What belongs to no key.
    """

    tables: int
    whole: dict[str, Any]


class TabledState:
    """The base of kernels whose state lies in tables.

    Attributes:
        tables: The tables.
    """

    tables: Sequence[KeyTable]

    def whole(self) -> dict[str, Any]:
        """What belongs to no key, as plain data."""
        return {}

    def restore_whole(self, whole: Mapping[str, Any]) -> None:
        """Take over what belongs to no key."""

    def snapshot(self) -> dict[str, Any]:
        """The state as plain data."""
        return {"tables": [table.snapshot() for table in self.tables], "whole": self.whole()}

    def outline(self) -> Outline:
        """The state without the rows of tables."""
        return Outline(len(self.tables), self.whole())

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        for mine, stored in zip(self.tables, state["tables"], strict=True):
            mine.restore(stored)
        self.restore_whole(state["whole"])


class AgingState:
    """The base of states whose keys may have a time to live."""

    def stand_at(self, now_ns: int) -> None:
        """Take note of the time at which it goes on, before it is restored."""

    def forget_expired(self, now_ns: int) -> int:
        """Drop the keys whose time is over by now; tells how many have been dropped since the last call."""
        return 0


def assemble(changes: Sequence[Table]) -> Table:
    """The table that changes add up to, the oldest first.

    Example:
        >>> seen = KeyTable(["k"], ["int64"], {"seen": np.int32})
        >>> first = seen.find([np.array([7, 8])])
        >>> seen.put("seen", first, np.array([1, 2]))
        >>> before = seen.change(first)
        >>> seen.put("seen", first[1:], np.array([5]))
        >>> unpacked(assemble([before, seen.change(first[1:])])["rows"]["seen"]).tolist()
        [1, 5]
    """
    newest = changes[-1]
    owner = np.zeros(newest["count"], np.int64)
    for number, change in enumerate(changes):
        owner[change["codes"]] = number
    # Of each change only what no later one has: all of them together may be more than a column can hold.
    kept = [np.flatnonzero(owner[change["codes"]] == number) for number, change in enumerate(changes)]
    codes = np.concatenate([change["codes"][rows] for change, rows in zip(changes, kept, strict=True)])
    order = np.argsort(codes)

    def together(parts: Sequence[Any]) -> Any:
        newest_parts = [taken(unpacked(part), rows) for part, rows in zip(parts, kept, strict=True)]
        return packed(taken(concatenated(newest_parts), order))

    return {
        "names": newest["names"],
        "keys": [together(parts) for parts in zip(*(change["keys"] for change in changes), strict=True)],
        "rows": {name: together([change["rows"][name] for change in changes]) for name in newest["rows"]},
    }
