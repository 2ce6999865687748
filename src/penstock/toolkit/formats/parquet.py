"""Parquet: columns by name, one group of rows after the other.

A value is brought into the attribute's type where that loses nothing; a group that has one for which it would is
malformed as a whole. A null is null if it may be, and else the type's default. Columns that no attribute is named after
are not read.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> sink = pa.BufferOutputStream()
    >>> parquet.write_table(pa.table({"n": pa.array([1, None], pa.int64()), "s": ["a", "b"]}), sink)
    >>> list(read(parse_schema("int32 n"), iter([sink.getvalue().to_pybytes()])))
    [(1,), (0,)]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from penstock.expr.values import default_value, rows_from_batch, to_arrow_array
from penstock.ir.arrow import arrow_schema
from penstock.ir.types import Schema, Type
from penstock.toolkit.formats.conform_columns import conform_column
from penstock.toolkit.formats.items import Chunks, Item, Malformed, Pause


def read(schema: Schema, chunks: Chunks) -> Iterator[Item]:
    """The items of a file."""
    found: list[bytes] = []
    for chunk in chunks:
        if chunk is None:
            yield Pause.INSIDE
        else:
            found.append(chunk)
    try:
        file = parquet.ParquetFile(pa.BufferReader(b"".join(found)))
    except (pa.ArrowException, OSError) as error:
        yield Malformed("", f"not a Parquet file: {error}")
        return
    for group in range(file.num_row_groups):
        batch = read_group(file, group, schema)
        if isinstance(batch, Malformed):
            yield batch
        else:
            yield from rows_from_batch(batch, schema)


def read_group(file: parquet.ParquetFile, group: int, schema: Schema) -> pa.RecordBatch | Malformed:
    """The tuples of a group of rows."""
    try:
        missing = [name for name in schema.names if name not in file.schema_arrow.names]
        if missing:
            raise ValueError(f"there is no column `{missing[0]}`; found {', '.join(file.schema_arrow.names)}")
        table = file.read_row_group(group, columns=list(schema.names), use_threads=False)
        columns = [_column(table.column(a.name), a.name, a.type) for a in schema.attributes]
    except (pa.ArrowException, OSError, ValueError) as error:
        return Malformed(f"row group {group}", str(error))
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(schema))


def _column(column: pa.ChunkedArray, name: str, type_: Type) -> pa.Array:
    try:
        array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        return _without_nulls(conform_column(array, type_), type_)
    except (pa.ArrowException, ValueError) as error:
        raise ValueError(f"attribute `{name}`: {error}") from None


def _without_nulls(array: pa.Array, type_: Type) -> pa.Array:
    default: Any = default_value(type_)
    if default is None or not array.null_count:
        return array
    scalar = to_arrow_array([default], type_)[0]
    try:
        return pc.fill_null(array, scalar)
    except pa.ArrowNotImplementedError:
        raise ValueError(f"a null in a column of {type_}") from None
