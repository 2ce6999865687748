"""The state of an operator as Arrow tables, a row for each key, with its key group; and back.

    group      the key group of the row; 0 where the state is not kept by key
    position   where the row stood, so that what is read is what was written
    key.NAME   the key, by the attributes that it is, pickled where its type gives other values back; `key` where it is
               computed, pickled
    NAME       what is kept of the key, in columns of its own type; `value` where it is Python objects, pickled

What a column was before is in the metadata of its field, under `penstock`: `arrow`; `slices` of an array of a type that
Parquet does not keep, with that type; `pickle`; or `numpy` with the type and the width of an array.
"""

from __future__ import annotations

import json
import pickle
from base64 import b64decode, b64encode
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.base.plain_pickle import load_plain
from penstock.codegen.kernels.key_tables import Table, packed, unpacked
from penstock.codegen.rows.places import Array
from penstock.expr.values import from_arrow_array, to_arrow_array
from penstock.expr.vector.frame import Column
from penstock.ir.types import Type
from penstock.parallel.routing import group_of_values
from penstock.runtime.savepoints.state_columns import count_keys, group_keys

KIND = b"penstock"
_WHAT = "the state of an operator"
Part = tuple[tuple[str, ...] | None, dict[Hashable, Any]]
"""Of a memory: the attributes that a key is, and what is kept of each."""


def tables_of_part(part: Part, key: Sequence[str], types: Mapping[str, Type], groups: int) -> pa.Table:
    """A part of a memory as a table.

    Args:
        part: What is kept, by key.
        key: The attributes that tell the group; those of the part where it does not have all of them.
        types: Of the attributes.
        groups: How many key groups there are.
    """
    names, values = part
    rows = list(values)
    fields: list[tuple[str, str, Any]] = []
    group = np.zeros(len(rows), np.int64)
    if names is None:
        fields.append(("key", "pickle", [_pickled(row) for row in rows]))
    else:
        columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(names, ())
        told_by = [name for name in key if name in names] or sorted(names)
        group = np.array(
            [group_of_values([columns[n][i] for n in told_by], groups) for i in range(len(rows))], np.int64
        )
        fields += [(f"key.{n}", *_key_column(list(columns[n]), types[n])) for n in names]
    fields.append(("value", "pickle", [_pickled(value) for value in values.values()]))
    return _assemble(group, fields, {"names": names})


def part_of_table(table: pa.Table, types: Mapping[str, Type]) -> Part:
    """The part of a memory that a table holds."""
    table, head = _in_order(table)
    values = [load_plain(value, _WHAT) for value in table.column("value").to_pylist()]
    names = None if head["names"] is None else tuple(head["names"])
    if names is None:
        rows: list[Any] = [load_plain(key, _WHAT) for key in table.column("key").to_pylist()]
    else:
        columns = [_key_values(table, f"key.{name}", types[name]) for name in names]
        rows = list(zip(*columns, strict=True)) if columns else [()] * len(values)
    return names, dict(zip(rows, values, strict=True))


def _key_column(values: list[Any], type_: Type) -> tuple[str, Any]:
    """A part of keys in its own type; pickled where that would not give the very same values back, as of a list."""
    try:
        array = to_arrow_array(values, type_)
        back = from_arrow_array(array, type_)
        # What cannot be hashed is no key, though it may be equal to one.
        if back == values and {*back} == {*values}:
            return "arrow", array
    except (TypeError, ValueError, AttributeError, pa.ArrowException):
        pass
    return "pickle", [_pickled(value) for value in values]


def _key_values(table: pa.Table, name: str, type_: Type) -> list[Any]:
    if table.schema.field(name).metadata[KIND] == b"pickle":
        return [load_plain(value, _WHAT) for value in table.column(name).to_pylist()]
    return list(from_arrow_array(_whole(table.column(name)), type_))


def table_of_columns(known: Table, key: Sequence[str], types: Mapping[str, Type], groups: int) -> pa.Table:
    """A table of a kernel as an Arrow table."""
    names = known["names"]
    group = np.zeros(count_keys(known), np.int64)
    if names:
        group = group_keys(known, [n for n in key if n in names] or sorted(names), types, groups)
    labels = names if names is not None else range(len(known["keys"]))
    keys = [(f"key.{label}", unpacked(column)) for label, column in zip(labels, known["keys"], strict=True)]
    rows = [(f"row.{name}", unpacked(column)) for name, column in known["rows"].items()]
    fields = [(name, *_stored(column)) for name, column in (*keys, *rows)]
    return _assemble(group, fields, {"names": names})


def columns_of_table(table: pa.Table) -> Table:
    """The table of a kernel that an Arrow table holds."""
    table, head = _in_order(table)
    columns = {field.name: _restored(table.column(field.name), field) for field in table.schema}
    return {
        "names": head["names"],
        "keys": [packed(column) for name, column in columns.items() if name.startswith("key.")],
        "rows": {n.removeprefix("row."): packed(column) for n, column in columns.items() if n.startswith("row.")},
    }


def _assemble(group: Array, fields: Sequence[tuple[str, str, Any]], head: Mapping[str, Any]) -> pa.Table:
    """Rows with their groups, those of a group next to each other."""
    order = np.argsort(group, kind="stable")
    schema = [pa.field("group", pa.int32()), pa.field("position", pa.int64())]
    columns: list[Any] = [pa.array(group[order], pa.int32()), pa.array(order, pa.int64())]
    for name, kind, values in fields:
        array = values if isinstance(values, pa.Array) else pa.array(values, pa.binary())
        schema.append(pa.field(name, array.type, metadata={KIND: kind}))
        columns.append(array.take(pa.array(order)))
    return pa.Table.from_arrays(columns, schema=pa.schema(schema, metadata={KIND: json.dumps(head)}))


def _in_order(table: pa.Table) -> tuple[pa.Table, dict[str, Any]]:
    """The rows as they stood, and what is said of all of them."""
    head: dict[str, Any] = json.loads(table.schema.metadata[KIND])
    return table.sort_by("position"), head


def _stored(column: Column) -> tuple[str, Any]:
    """A column as Parquet can hold it, and what it was."""
    if isinstance(column, np.ndarray):
        if column.dtype == object or (column.ndim > 1 and not column.shape[1]):
            return f"pickle {column.dtype.str} {json.dumps(column.shape[1:])}", [_pickled(row) for row in column]
        kind = f"numpy {column.dtype.str} {json.dumps(column.shape[1:])}"
        if column.ndim == 1:
            return kind, pa.array(column)
        return kind, pa.FixedSizeListArray.from_arrays(pa.array(column.reshape(-1)), column.shape[1])
    if _is_plain(column.type):
        return "arrow", column
    # Of other types Parquet keeps too little.
    written = pa.schema([pa.field("column", column.type)]).serialize().to_pybytes()
    return f"slices {b64encode(written).decode()}", [_pickled(column.slice(i, 1)) for i in range(len(column))]


def _restored(column: pa.ChunkedArray, field: pa.Field) -> Any:
    kind, *rest = (field.metadata or {}).get(KIND, b"").decode().split(" ", 2)
    if kind == "arrow":
        return _whole(column)
    if kind == "slices":
        # Without rows, too, the type is what it was.
        empty = pa.array([], pa.ipc.read_schema(pa.py_buffer(b64decode(rest[0]))).field(0).type)
        return pa.concat_arrays([empty, *(load_plain(value, _WHAT) for value in column.to_pylist())])
    if kind not in ("numpy", "pickle"):
        return None
    shape = (len(column), *json.loads(rest[1]))
    if kind == "pickle":
        found = np.empty(shape, np.dtype(rest[0]))
        for i, value in enumerate(column.to_pylist()):
            found[i] = load_plain(value, _WHAT)
        return found
    flat = _whole(column)
    flat = flat.flatten() if len(shape) > 1 else flat
    return flat.to_numpy(zero_copy_only=False).astype(np.dtype(rest[0])).reshape(shape)


def _is_plain(type_: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string, pa.types.is_binary)
    return any(is_kind(type_) for is_kind in (*kinds, pa.types.is_large_string, pa.types.is_large_binary))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _pickled(value: Any) -> bytes:
    return pickle.dumps(value, protocol=5)
