"""The types of an Arrow schema. A nullable field is optional, and Arrow's fields are unless they say otherwise.

`ir.arrow` goes the other way. There a timestamp is an integer and a decimal is text, because Arrow's own do not hold
all that SPL's do; here Arrow's own are understood.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyarrow import types

from penstock.api.schemas.problems import FieldProblem
from penstock.ir.types import (
    BLOB,
    BOOLEAN,
    DECIMAL32,
    DECIMAL64,
    DECIMAL128,
    RSTRING,
    TIMESTAMP,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    TupleType,
    Type,
    TypedName,
)

_DECIMALS = ((7, DECIMAL32), (16, DECIMAL64), (34, DECIMAL128))
_HINT = "cast the column, to text for one, where it is made"


def arrow_attributes(fields: Iterable[pa.Field], inside: str = "") -> tuple[TypedName, ...]:
    """The attributes of fields.

    Example:
        >>> print(arrow_attributes(pa.schema([pa.field("at", pa.timestamp("us"), nullable=False)]))[0])
        timestamp at
    """
    return tuple(TypedName(f.name, _field_type(f, f"{inside}.{f.name}" if inside else f.name)) for f in fields)


def decimal_type(precision: int, field: str) -> Type:
    """The smallest decimal type that holds so many digits.

    Example:
        >>> print(decimal_type(10, "total"))
        decimal64
    """
    for digits, type_ in _DECIMALS:
        if precision <= digits:
            return type_
    raise FieldProblem(field, f"no type of a stream holds a decimal of {precision} digits; decimal128 has 34", _HINT)


def _field_type(field: pa.Field, name: str) -> Type:
    type_ = _type(field.type, name)
    return OptionalType(type_) if field.nullable else type_


def _type(type_: pa.DataType, name: str) -> Type:
    if types.is_boolean(type_):
        return BOOLEAN
    if types.is_integer(type_) or types.is_float32(type_) or types.is_float64(type_):
        return Primitive({"float": "float32", "double": "float64"}.get(str(type_), str(type_)))
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return RSTRING
    if types.is_binary(type_) or types.is_large_binary(type_) or types.is_binary_view(type_):
        return BLOB
    if types.is_timestamp(type_):
        return TIMESTAMP
    if types.is_decimal(type_):
        return decimal_type(type_.precision, name)
    if types.is_dictionary(type_):
        return _type(type_.value_type, name)
    return _nested(type_, name)


def _nested(type_: pa.DataType, name: str) -> Type:
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return ListType(_field_type(type_.value_field, name))
    if types.is_map(type_):
        return MapType(_type(type_.key_type, name), _field_type(type_.item_field, name))
    if types.is_struct(type_):
        return TupleType(arrow_attributes([type_.field(i) for i in range(type_.num_fields)], name))
    raise FieldProblem(name, f"no type of a stream holds Arrow's `{type_}`", _HINT)
