"""Blocks as PySpark's functions take them, and what these give as tuples.

Pandas frames have the columns that PySpark gives: points of time are `datetime64` in UTC without a zone, as in a
session whose time zone is UTC, and integers with nulls are floats. A NaN that comes back is a null where the attribute
is optional, as in PySpark.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.api.rows import ConformError
from penstock.ir.arrow import arrow_schema
from penstock.ir.types import OptionalType, Schema, TupleType, TypedName
from penstock.toolkit.formats.conform_columns import conform_column
from penstock.toolkit.formats.spark_columns import to_rows


def to_frame(block: pa.RecordBatch, schema: Schema) -> Any:
    """A block as a frame of pandas."""
    rows = to_rows(block, schema)
    zoned = [i for i, field in enumerate(rows.schema) if pa.types.is_timestamp(field.type)]
    for i in zoned:
        rows = rows.set_column(i, rows.schema.field(i).name, rows.column(i).cast(pa.timestamp("us")))
    return rows.to_pandas(split_blocks=True)


def from_frame(given: Any, schema: Schema) -> pa.RecordBatch:
    """What a function of pandas gives, as tuples: columns by name, or by position where they have no names.

    Raises:
        ConformError: It does not fit the schema.
    """
    import pandas as pd

    if not isinstance(given, pd.DataFrame):
        raise ConformError(f"the function gives a pandas DataFrame, got {type(given).__name__}")
    names = list(schema.names)
    if not all(isinstance(name, str) for name in given.columns) and len(given.columns) == len(names):
        given = given.set_axis(names, axis=1)
    missing = [name for name in names if name not in given.columns]
    if missing:
        found = ", ".join(map(str, given.columns))
        raise ConformError(f"the function gives no column `{missing[0]}`, but {found or 'none'}")
    columns = []
    for attribute in schema.attributes:
        is_optional = isinstance(attribute.type, OptionalType)
        column = pa.array(given[attribute.name], from_pandas=is_optional)
        columns.append(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
    return _conformed(columns, schema)


def from_arrow(given: Any, schema: Schema) -> pa.RecordBatch:
    """What a function of Arrow gives, as tuples.

    Raises:
        ConformError: It does not fit the schema.
    """
    if not isinstance(given, pa.RecordBatch):
        raise ConformError(f"the function gives a pyarrow RecordBatch, got {type(given).__name__}")
    missing = [name for name in schema.names if name not in given.schema.names]
    if missing:
        raise ConformError(f"the function gives no column `{missing[0]}`, but {', '.join(given.schema.names)}")
    return _conformed([given.column(name) for name in schema.names], schema)


def conform_values(values: list[Any], attribute: TypedName) -> pa.Array:
    """Values that a function gave, as a column.

    Raises:
        ConformError: One does not fit the attribute.
    """
    try:
        column = pa.array(values, from_pandas=isinstance(attribute.type, OptionalType))
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise ConformError(f"attribute `{attribute.name}` of type {attribute.type}: {error}") from error
    return _conformed([column], TupleType((attribute,))).column(0)


def _conformed(columns: list[pa.Array], schema: Schema) -> pa.RecordBatch:
    made = []
    for column, attribute in zip(columns, schema.attributes, strict=True):
        try:
            found = conform_column(column, attribute.type)
        except (pa.ArrowException, ValueError) as error:
            raise ConformError(f"attribute `{attribute.name}` of type {attribute.type}: {error}") from error
        if found.null_count and not isinstance(attribute.type, OptionalType):
            raise ConformError(f"attribute `{attribute.name}` of type {attribute.type}: a value is missing")
        made.append(found)
    return pa.RecordBatch.from_arrays(made, schema=arrow_schema(schema))
