"""Columns as Spark's own Python functions see them: points of time are timestamps, and unsigned numbers are wider."""

from __future__ import annotations

import pyarrow as pa

from penstock.ir.arrow import arrow_type
from penstock.ir.types import TIMESTAMP, ListType, MapType, OptionalType, Primitive, Schema, SetType, TupleType, Type


def to_rows(tuples: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """Tuples as rows for Spark.

    Example:
        >>> from penstock.ir.arrow import arrow_schema
        >>> from penstock.ir.types import parse_schema
        >>> schema = parse_schema("uint64 n, timestamp t")
        >>> tuples = pa.record_batch([[7], [1_500_000_000]], schema=arrow_schema(schema))
        >>> rows = to_rows(tuples, schema)
        >>> str(rows.schema.field("n").type), str(rows.column("t")[0])
        ('decimal128(20, 0)', '1970-01-01 00:00:01.500000+00:00')
    """
    columns = [_as_row_type(column, a.type) for column, a in zip(tuples.columns, schema.attributes, strict=True)]
    fields = [
        pa.field(a.name, column.type, isinstance(a.type, OptionalType))
        for a, column in zip(schema.attributes, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _as_row_type(column: pa.Array, type_: Type) -> pa.Array:
    nanoseconds, wanted = (row_arrow_type(type_, unit) for unit in ("ns", "us"))
    if column.type == wanted:
        return column
    # The unit of time first: an integer counts nanoseconds.
    found = column if column.type == nanoseconds else column.cast(nanoseconds)
    return found if nanoseconds == wanted else found.cast(wanted, safe=False)


def row_arrow_type(type_: Type, unit: str) -> pa.DataType:
    """The Arrow type of a column of Spark's, with time in a unit; within values it allows nulls, as Spark's do."""
    match type_:
        case OptionalType(inner=inner):
            return row_arrow_type(inner, unit)
        case ListType(element=element) | SetType(element=element):
            return pa.list_(pa.field("element", row_arrow_type(element, unit)))
        case MapType(key=key, value=value):
            return pa.map_(row_arrow_type(key, unit), row_arrow_type(value, unit))
        case TupleType(attributes=attributes):
            return pa.struct([pa.field(a.name, row_arrow_type(a.type, unit)) for a in attributes])
        case Primitive(name="uint64"):
            return pa.decimal128(20, 0)
        case Primitive(name=name) if name.startswith("uint"):
            return {"uint8": pa.int16(), "uint16": pa.int32(), "uint32": pa.int64()}[name]
    return pa.timestamp(unit, "UTC") if type_ == TIMESTAMP else arrow_type(type_)
