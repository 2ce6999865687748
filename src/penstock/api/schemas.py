"""Schemas from what Python users have at hand: SPL text, named tuples, dataclasses."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from penstock.api.spans import caller_span
from penstock.base.diagnostics import Diagnostic, UserError
from penstock.ir.types import (
    BLOB,
    BOOLEAN,
    DECIMAL64,
    FLOAT64,
    INT64,
    RSTRING,
    TIMESTAMP,
    ListType,
    MapType,
    OptionalType,
    Schema,
    SetType,
    TupleType,
    Type,
    TypedName,
    parse_schema,
)

SchemaLike = str | Schema | type | Mapping[str, Any]
"""`"rstring sym, float64 price"`, a `Schema`, a class with annotated fields, or types by name: `{"price": float}`."""

_SCALARS: dict[Any, Type] = {
    bool: BOOLEAN,
    int: INT64,
    float: FLOAT64,
    str: RSTRING,
    bytes: BLOB,
    Decimal: DECIMAL64,
    datetime: TIMESTAMP,
}


def schema_of(value: SchemaLike) -> Schema:
    """The schema that a user means.

    Example:
        >>> from typing import NamedTuple
        >>> Trade = NamedTuple("Trade", [("sym", str), ("prices", list[float]), ("note", str | None)])
        >>> print(schema_of(Trade))
        tuple<rstring sym, list<float64> prices, optional<rstring> note>
        >>> print(schema_of({"sym": str, "volume": "int32"}))
        tuple<rstring sym, int32 volume>
    """
    if isinstance(value, TupleType):
        return value
    if isinstance(value, str):
        try:
            return parse_schema(value)
        except ValueError as error:
            hint = 'a schema is written as in "rstring sym, float64 price"'
            raise UserError(Diagnostic(message=str(error), span=caller_span(), hint=hint)) from None
    if isinstance(value, type) and (_is_named_tuple(value) or dataclasses.is_dataclass(value)):
        hints = typing.get_type_hints(value)
        return TupleType(tuple(TypedName(name, type_of(hint)) for name, hint in hints.items()))
    if isinstance(value, Mapping):
        return TupleType(tuple(TypedName(name, type_of(hint)) for name, hint in value.items()))
    hint = "give SPL text, a NamedTuple class, a dataclass, or a dict of types"
    raise UserError(Diagnostic(message=f"{value!r} is not a schema", span=caller_span(), hint=hint))


def type_of(annotation: Any) -> Type:
    """The SPL type of a Python annotation, or of its text."""
    if isinstance(annotation, str):
        return schema_of(f"{annotation} x").attributes[0].type
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if isinstance(annotation, type) and (_is_named_tuple(annotation) or dataclasses.is_dataclass(annotation)):
        return schema_of(annotation)
    arguments = typing.get_args(annotation)
    match typing.get_origin(annotation), len(arguments):
        case origin, 1 if origin is list:
            return ListType(type_of(arguments[0]))
        case origin, 1 if origin in (set, frozenset):
            return SetType(type_of(arguments[0]))
        case origin, 2 if origin is dict:
            return MapType(type_of(arguments[0]), type_of(arguments[1]))
        case origin, 2 if origin in (typing.Union, types.UnionType) and type(None) in arguments:
            return OptionalType(type_of(next(a for a in arguments if a is not type(None))))
    message = f"no SPL type is known for the Python annotation `{annotation}`"
    raise UserError(Diagnostic(message=message, span=caller_span()))


def _is_named_tuple(value: type) -> bool:
    return issubclass(value, tuple) and hasattr(value, "_fields")
