"""The types of Python annotations: those of dataclasses and named tuples, and the values of a dict of types."""

from __future__ import annotations

import dataclasses
import types
import typing
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from penstock.api.schemas.problems import FieldProblem
from penstock.ir.types import (
    BLOB,
    BOOLEAN,
    DECIMAL64,
    FLOAT64,
    INT64,
    PRIMITIVES,
    RSTRING,
    TIMESTAMP,
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    TypedName,
    parse_type,
)

_SCALARS: dict[Any, Type] = {
    bool: BOOLEAN,
    int: INT64,
    float: FLOAT64,
    str: RSTRING,
    bytes: BLOB,
    Decimal: DECIMAL64,
    datetime: TIMESTAMP,
}
_HINT = 'use bool, int, float, str, bytes, Decimal, datetime, collections of these, or text such as "int32"'


def is_record(value: type) -> bool:
    """Whether a class is a named tuple or a dataclass.

    Example:
        >>> is_record(typing.NamedTuple("P", [("x", int)])), is_record(tuple)
        (True, False)
    """
    return dataclasses.is_dataclass(value) or (issubclass(value, tuple) and hasattr(value, "_fields"))


def attributes_of(record: type, inside: str = "") -> tuple[TypedName, ...]:
    """The attributes of a named tuple or a dataclass, in order.

    Example:
        >>> attributes_of(typing.NamedTuple("P", [("x", int), ("y", typing.Annotated[int, "uint8"])]))[1].type.name
        'uint8'
    """
    try:
        hints = typing.get_type_hints(record, include_extras=True)
    except NameError as error:
        raise FieldProblem(inside or record.__name__, f"an annotation is not known: {error}") from None
    fields = getattr(record, "_fields", None) or [f.name for f in dataclasses.fields(record)]
    return tuple(TypedName(name, type_of(hints.get(name, Any), _inner(inside, name))) for name in fields)


def type_of(annotation: Any, field: str = "x") -> Type:
    """The type of a Python annotation, or of its SPL text; a problem is told with the field's name.

    Example:
        >>> print(type_of(dict[str, list[float | None]]), type_of(typing.Literal["up", "down"]))
        map<rstring, list<optional<float64>>> enum{up, down}
    """
    if isinstance(annotation, Type):
        return annotation
    if isinstance(annotation, str):
        return _parse(annotation, field)
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if isinstance(annotation, type) and is_record(annotation):
        return TupleType(attributes_of(annotation, field))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return EnumType(tuple(annotation.__members__))
    if getattr(annotation, "__module__", "") == "numpy" and annotation.__name__ in PRIMITIVES:
        return Primitive(annotation.__name__)
    return _generic(annotation, field)


def _generic(annotation: Any, field: str) -> Type:
    arguments = typing.get_args(annotation)
    match typing.get_origin(annotation), arguments:
        case typing.Annotated, (base, *notes):
            return type_of(next((note for note in notes if isinstance(note, str | Type)), base), field)
        case typing.Literal, symbols if all(isinstance(symbol, str) for symbol in symbols):
            return EnumType(symbols)
        case origin, (element,) if origin is list:
            return ListType(type_of(element, field))
        case origin, (element,) if origin in (set, frozenset):
            return SetType(type_of(element, field))
        case origin, (key, value) if origin is dict:
            return MapType(type_of(key, field), type_of(value, field))
        case origin, (_, _) if origin in (typing.Union, types.UnionType) and type(None) in arguments:
            return OptionalType(type_of(next(a for a in arguments if a is not type(None)), field))
    shown = getattr(annotation, "__name__", annotation) if isinstance(annotation, type) else annotation
    raise FieldProblem(field, f"no type of a stream holds a Python `{shown}`", _HINT)


def _parse(text: str, field: str) -> Type:
    try:
        return parse_type(text)
    except ValueError as error:
        raise FieldProblem(field, str(error), _HINT) from None


def _inner(inside: str, name: str) -> str:
    return f"{inside}.{name}" if inside else name
