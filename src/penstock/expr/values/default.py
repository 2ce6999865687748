"""The value that a variable or attribute has when nothing was assigned to it, and copies of values."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

from penstock.ir.types import (
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    has_collection,
    is_complex,
    is_decimal,
    is_float,
)

_PRIMITIVES = {"boolean": False, "rstring": "", "ustring": "", "xml": "", "blob": b""}


def default_value(type_: Type) -> Any:
    """The value of a type that all its bits zero would mean: 0, false, empty, the first symbol, null.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> default_value(parse_type("tuple<int32 n, rstring s, enum{red, green} c, list<int8> l, optional<int8> o>"))
        (0, '', 'red', [], None)
    """
    match type_:
        case Primitive() if is_float(type_):
            return 0.0
        case Primitive() if is_decimal(type_):
            return Decimal(0)
        case Primitive() if is_complex(type_):
            return 0j
        case Primitive(name=name):
            return _PRIMITIVES.get(name, 0)
        case EnumType(symbols=symbols):
            return symbols[0]
        case ListType():
            return []
        case SetType():
            return set()
        case MapType():
            return {}
        case TupleType(attributes=attributes):
            return tuple(default_value(a.type) for a in attributes)
    return None


@cache
def copier(type_: Type) -> Callable[[Any], Any] | None:
    """The function that copies values of a type, so that a change of one never shows in the other.

    None where values cannot change and so need no copy.

    Example:
        >>> from penstock.ir.types import INT32
        >>> copier(INT32) is None
        True
        >>> original = [[1]]
        >>> copy = copier(ListType(ListType(INT32)))(original)
        >>> copy[0].append(2)
        >>> original
        [[1]]
    """
    if not has_collection(type_):
        return None
    match type_:
        case OptionalType(inner=inner):
            copy = _copy(inner)
            return lambda value: None if value is None else copy(value)
        case ListType(element=element) if has_collection(element):
            copy = _copy(element)
            return lambda value: [copy(v) for v in value]
        case ListType():
            return list.copy
        case SetType():
            return set.copy
        case MapType(value=value) if has_collection(value):
            copy = _copy(value)
            return lambda found: {k: copy(v) for k, v in found.items()}
        case MapType():
            return dict.copy
        case TupleType(attributes=attributes):
            return _tuple_copier([copier(a.type) for a in attributes])
    raise TypeError(f"{type_} has no copies")


def copy_value(value: Any, type_: Type) -> Any:
    """A copy of a value that shares nothing that can change.

    Example:
        >>> from penstock.ir.types import INT32
        >>> copy_value([1, 2], ListType(INT32))
        [1, 2]
    """
    return _copy(type_)(value)


def _copy(type_: Type) -> Callable[[Any], Any]:
    return copier(type_) or (lambda value: value)


def _tuple_copier(copiers: list[Callable[[Any], Any] | None]) -> Callable[[Any], Any]:
    return lambda value: tuple(v if copy is None else copy(v) for v, copy in zip(value, copiers, strict=True))
