"""How SPL types lie in Arrow memory.

| SPL | Arrow |
|---|---|
| boolean, int8 .. uint64, float32, float64 | the type of the same name |
| decimal32, decimal64, decimal128 | string: the exact digits, because their exponent floats |
| complex32, complex64 | string: `(1+2j)`, as Python writes it |
| rstring, ustring, enum | string |
| timestamp | int64 nanoseconds since 1970 (UTC) |
| blob | binary |
| list, set | list (a set is stored in ascending order) |
| map, tuple | map, struct |
| optional<T> | T with nulls allowed; every other field is declared not null |

A timestamp is an int64 because Spark keeps only microseconds in its own timestamp type.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> arrow_schema(parse_schema("uint32 uid, optional<rstring> note"))
    uid: uint32 not null
    note: string
"""

from __future__ import annotations

import pyarrow as pa

from penstock.ir.types import (
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    is_complex,
    is_decimal,
)

_PRIMITIVES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "rstring": pa.string(),
    "ustring": pa.string(),
    "timestamp": pa.int64(),
    "blob": pa.binary(),
    "xml": pa.string(),
    **{name: pa.type_for_alias(name) for name in ("int8", "int16", "int32", "int64")},
    **{name: pa.type_for_alias(name) for name in ("uint8", "uint16", "uint32", "uint64")},
}


def arrow_type(type_: Type) -> pa.DataType:
    """The Arrow type that holds values of an SPL type."""
    match type_:
        case Primitive() if is_decimal(type_) or is_complex(type_):
            return pa.string()
        case Primitive(name=name):
            return _PRIMITIVES[name]
        case EnumType():
            return pa.string()
        case OptionalType(inner=inner):
            return arrow_type(inner)
        case ListType(element=element) | SetType(element=element):
            return pa.list_(_field("item", element))
        case MapType(key=key, value=value):
            return pa.map_(_field("key", key), _field("value", value))
        case TupleType(attributes=attributes):
            return pa.struct([_field(a.name, a.type) for a in attributes])
    raise TypeError(f"{type_} has no Arrow type")


def arrow_schema(schema: TupleType) -> pa.Schema:
    """The Arrow schema of a stream."""
    return pa.schema([_field(a.name, a.type) for a in schema.attributes])


def _field(name: str, type_: Type) -> pa.Field:
    return pa.field(name, arrow_type(type_), nullable=isinstance(type_, OptionalType))
