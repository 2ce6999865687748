"""The types of a Spark schema, told apart by their names so that Spark is not imported for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.api.schemas.arrow import decimal_type
from penstock.api.schemas.problems import FieldProblem
from penstock.ir.types import (
    BLOB,
    BOOLEAN,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    RSTRING,
    TIMESTAMP,
    ListType,
    MapType,
    OptionalType,
    TupleType,
    Type,
    TypedName,
)

_SCALARS: dict[str, Type] = {
    "BooleanType": BOOLEAN,
    "ByteType": INT8,
    "ShortType": INT16,
    "IntegerType": INT32,
    "LongType": INT64,
    "FloatType": FLOAT32,
    "DoubleType": FLOAT64,
    "StringType": RSTRING,
    "CharType": RSTRING,
    "VarcharType": RSTRING,
    "BinaryType": BLOB,
    "TimestampType": TIMESTAMP,
    "TimestampNTZType": TIMESTAMP,
}


def is_struct_type(value: Any) -> bool:
    """Whether an object is a `pyspark.sql.types.StructType`.

    Example:
        >>> is_struct_type(object())
        False
    """
    return type(value).__name__ == "StructType" and type(value).__module__.startswith("pyspark.")


def struct_attributes(fields: Iterable[Any], inside: str = "") -> tuple[TypedName, ...]:
    """The attributes of the fields of a `StructType`; a nullable one is optional."""
    named = ((f, f"{inside}.{f.name}" if inside else f.name) for f in fields)
    return tuple(TypedName(f.name, _optional(_type(f.dataType, name), f.nullable)) for f, name in named)


def value_type(type_: Any, name: str) -> Type:
    """The type of values of a `DataType`, which may be null.

    Raises:
        FieldProblem: No type of a stream holds them.
    """
    return OptionalType(_type(type_, name))


def _optional(type_: Type, nullable: bool) -> Type:
    return OptionalType(type_) if nullable else type_


def _type(type_: Any, name: str) -> Type:
    kind = type(type_).__name__
    if kind in _SCALARS:
        return _SCALARS[kind]
    match kind:
        case "DecimalType":
            return decimal_type(type_.precision, name)
        case "ArrayType":
            return ListType(_optional(_type(type_.elementType, name), type_.containsNull))
        case "MapType":
            return MapType(_type(type_.keyType, name), _optional(_type(type_.valueType, name), type_.valueContainsNull))
        case "StructType":
            return TupleType(struct_attributes(type_.fields, name))
    hint = "cast the column, to string for one, where it is made"
    raise FieldProblem(name, f"no type of a stream holds Spark's `{type_.simpleString()}`", hint)
