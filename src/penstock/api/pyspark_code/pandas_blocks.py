"""Blocks as PySpark's functions take them, and what these give as tuples.

Pandas frames have the columns that PySpark gives: points of time are `datetime64[ns]` in UTC without a zone, as in a
session whose time zone is UTC, integers with nulls are floats, maps and tuples are dicts, lists are arrays of NumPy. A
NaN that comes back is a null where the attribute is optional, as in PySpark.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.api.pyspark_code.nested_values import nested_row_type, value_for_pandas, value_from_python
from penstock.api.rows import ConformError
from penstock.expr.values import batch_from_rows
from penstock.ir.arrow import arrow_schema
from penstock.ir.types import ListType, OptionalType, Schema, SetType, TupleType, Type, TypedName
from penstock.toolkit.formats.conform_columns import conform_column
from penstock.toolkit.formats.spark_columns import to_rows


def to_frame(block: pa.RecordBatch, schema: Schema) -> Any:
    """A block as a frame of pandas."""
    rows = to_rows(block, schema)
    nested = {}
    for i, attribute in enumerate(schema.attributes):
        if pa.types.is_timestamp(rows.column(i).type):
            rows = rows.set_column(i, attribute.name, rows.column(i).cast(pa.timestamp("us")).cast(pa.timestamp("ns")))
        elif pa.types.is_nested(rows.column(i).type):
            nested[attribute.name] = rows.column(i)
    frame = rows.to_pandas(split_blocks=True)
    for name, column in nested.items():
        convert = value_for_pandas(schema.attribute(name).type)
        series = column.to_pandas(integer_object_nulls=True)
        frame[name] = series if convert is None else series.map(convert, na_action="ignore")
    return frame


def from_frame(given: Any, schema: Schema) -> pa.RecordBatch:
    """What a function of pandas gives, as tuples: columns by name, or by position where they have no names.

    Raises:
        ConformError: It does not fit the schema.
    """
    import pandas as pd

    if not isinstance(given, pd.DataFrame):
        raise ConformError(f"the function gives a pandas DataFrame, got {type(given).__name__}")
    if not len(given) and not len(given.columns):
        # As PySpark takes `pd.DataFrame()`.
        return batch_from_rows([], schema)
    names = list(schema.names)
    if not all(isinstance(name, str) for name in given.columns) and len(given.columns) == len(names):
        given = given.set_axis(names, axis=1)
    missing = [name for name in names if name not in given.columns]
    if missing:
        found = ", ".join(map(str, given.columns))
        raise ConformError(f"the function gives no column `{missing[0]}`, but {found or 'none'}")
    columns = []
    for attribute in schema.attributes:
        columns.append(_to_column(given[attribute.name], attribute))
    return _conformed(columns, schema)


def from_arrow(given: Any, schema: Schema) -> pa.RecordBatch:
    """What a function of Arrow gives, as tuples.

    Raises:
        ConformError: It does not fit the schema.
    """
    if not isinstance(given, pa.RecordBatch):
        raise ConformError(f"the function gives a pyarrow RecordBatch, got {type(given).__name__}")
    if not given.num_rows and not given.num_columns:
        return batch_from_rows([], schema)
    missing = [name for name in schema.names if name not in given.schema.names]
    if missing:
        raise ConformError(f"the function gives no column `{missing[0]}`, but {', '.join(given.schema.names)}")
    return _conformed([given.column(name) for name in schema.names], schema)


def conform_values(values: list[Any], attribute: TypedName) -> pa.Array:
    """Values that a function gave, as a column.

    Raises:
        ConformError: One does not fit the attribute.
    """
    return _conformed([_to_column(values, attribute)], TupleType((attribute,))).column(0)


def _to_column(values: Any, attribute: TypedName) -> pa.Array:
    """Values of pandas or Python as a column, which need not be of the attribute's type yet."""
    convert = value_from_python(attribute.type)
    try:
        if convert is not None:
            made = [None if value is None else convert(value) for value in values]
            return pa.array(made, nested_row_type(attribute.type))
        # Empty arrays of NumPy have a type, which need not be that of the others.
        made = (
            [v.tolist() if isinstance(v, np.ndarray) else v for v in values] if _has_lists(attribute.type) else values
        )
        column = pa.array(made, from_pandas=isinstance(attribute.type, OptionalType))
    except (pa.ArrowException, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ConformError(f"attribute `{attribute.name}` of type {attribute.type}: {error}") from error
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _has_lists(type_: Type) -> bool:
    return isinstance(type_.inner if isinstance(type_, OptionalType) else type_, ListType | SetType)


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
