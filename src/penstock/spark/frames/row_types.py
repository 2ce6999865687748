"""The types of DataFrame columns beside those of attributes: what fits, and how values come in and go out.

| attribute | comes from | goes out as |
|---|---|---|
| boolean, intN, floatN | that type, or a number that fits | boolean, tinyint ... bigint, float, double |
| uint8, uint16, uint32, uint64 | a number | smallint, int, bigint, decimal(20,0) |
| decimal32 ... decimal128, complex | a number, a string | string: all digits |
| rstring, ustring, xml, enum | string | string |
| timestamp | timestamp, timestamp_ntz | timestamp, which keeps microseconds |
| blob | binary | binary |
| list, set; map; tuple | array; map; struct | array; map; struct |
| optional<T> | a column with nulls | a column with nulls |

A null for an attribute that is not optional is an error: in a table of Spark it means something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.ir.graph import Operator
from penstock.ir.types import (
    ListType,
    MapType,
    OptionalType,
    Primitive,
    Schema,
    SetType,
    TupleType,
    Type,
)
from penstock.toolkit.formats.conform_columns import conform_column

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_CLASSES = {
    "boolean": "BooleanType",
    "int8": "ByteType",
    "int16": "ShortType",
    "int32": "IntegerType",
    "int64": "LongType",
    "uint8": "ShortType",
    "uint16": "IntegerType",
    "uint32": "LongType",
    "float32": "FloatType",
    "float64": "DoubleType",
    "timestamp": "TimestampType",
    "blob": "BinaryType",
}


def row_schema(schema: Schema) -> StructType:
    """The schema of a DataFrame with the tuples of a stream; what is optional may be null.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> row_schema(parse_schema("uint32 n, optional<rstring> s, list<float64> v")).simpleString()
        'struct<n:bigint,s:string,v:array<double>>'
    """
    from pyspark.sql.types import StructField, StructType

    fields = [StructField(a.name, row_type(a.type), isinstance(a.type, OptionalType)) for a in schema.attributes]
    return StructType(fields)


def row_type(type_: Type) -> DataType:
    """The type of a column with the values of an attribute."""
    from pyspark.sql import types

    match type_:
        case OptionalType(inner=inner):
            return row_type(inner)
        case ListType(element=element) | SetType(element=element):
            return types.ArrayType(row_type(element), isinstance(element, OptionalType))
        case MapType(key=key, value=value):
            return types.MapType(row_type(key), row_type(value), isinstance(value, OptionalType))
        case TupleType():
            return row_schema(type_)
        case Primitive(name="uint64"):
            return types.DecimalType(20, 0)
        case Primitive(name=name) if name in _CLASSES:
            made: DataType = getattr(types, _CLASSES[name])()
            return made
    return types.StringType()


def from_rows(rows: pa.RecordBatch, schema: Schema, operator: Operator) -> pa.RecordBatch:
    """Rows of Spark as tuples, columns by name; what is not there is of no interest to anybody.

    Raises:
        UserError: A value does not fit its attribute, or is null.
    """
    columns = []
    for attribute in schema.attributes:
        position = rows.schema.get_field_index(attribute.name)
        if position < 0:
            columns.append(pa.nulls(rows.num_rows))
            continue
        try:
            column = conform_column(rows.column(position), attribute.type)
        except (pa.ArrowException, ValueError) as error:
            raise _misfit(operator, attribute.name, str(error)) from error
        if column.null_count and not isinstance(attribute.type, OptionalType):
            hint = f"declare it optional<{attribute.type}>, or fill the column before"
            raise _misfit(operator, attribute.name, "there is a null in the column", hint)
        columns.append(column)
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * rows.num_rows, pa.struct([])))
    return pa.RecordBatch.from_arrays(columns, names=list(schema.names))


def _misfit(operator: Operator, attribute: str, why: str, hint: str | None = None) -> UserError:
    return UserError(f"operator `{operator.id}` (FromSpark) cannot take `{attribute}`: {why}", hint=hint)


def check_columns(input_: str, columns: StructType, schema: Schema, *, is_case_sensitive: bool = False) -> None:
    """Refuse a DataFrame whose columns do not fit the schema of its input.

    Args:
        input_: The name of the input.
        columns: Of the DataFrame.
        schema: Of the input.
        is_case_sensitive: Whether Spark tells columns apart by the case of their letters.

    Raises:
        UserError: A column is missing, or of another kind; all such are named.
    """
    found, types = Diagnostics(), {field.name: field.dataType for field in columns.fields}
    for attribute in schema.attributes:
        type_ = types.get(attribute.name)
        fold = str if is_case_sensitive else str.lower
        alike = [field.name for field in columns.fields if fold(field.name) == fold(attribute.name)]
        if len(alike) > 1:
            message = f"the input `{input_}` has the columns {', '.join(alike)}, which Spark does not tell apart"
            found.error(message, None, hint="rename them before")
        elif type_ is None:
            message = f"the input `{input_}` has no column `{attribute.name}`; it has {', '.join(types)}"
            found.error(message, None, hint="select it under this name, or leave it out of the schema")
        elif not _fits(type_, attribute.type):
            message = f"the column `{attribute.name}` of `{input_}` is {type_.simpleString()}"
            found.error(f"{message}, the attribute is {attribute.type}", None, hint="cast the column")
    found.raise_if_any()


_INTEGERS = ("byte", "short", "integer", "long")
_NUMBERS = (*_INTEGERS, "float", "double", "decimal")


def _fits(column: Any, type_: Type) -> bool:
    """Whether values of a column may fit an attribute; whether each does is seen when it comes."""
    kind = column.typeName()
    match type_:
        case OptionalType(inner=inner):
            return _fits(column, inner)
        case ListType(element=element) | SetType(element=element):
            return kind == "array" and _fits(column.elementType, element)
        case MapType(key=key, value=value):
            return kind == "map" and _fits(column.keyType, key) and _fits(column.valueType, value)
        case TupleType(attributes=attributes):
            names = [field.name for field in column.fields] if kind == "struct" else []
            return names == [a.name for a in attributes] and all(
                _fits(field.dataType, a.type) for field, a in zip(column.fields, attributes, strict=True)
            )
        case Primitive(name=name):
            return kind in _sources(name)
    return kind in ("string", "char", "varchar")


def _sources(name: str) -> tuple[str, ...]:
    texts = ("string", "char", "varchar")
    if name.startswith(("int", "uint", "float")):
        return _NUMBERS
    if name.startswith("decimal"):
        return (*_NUMBERS, *texts)
    known = {"boolean": ("boolean",), "timestamp": ("timestamp", "timestamp_ntz"), "blob": ("binary",)}
    return known.get(name, texts)
