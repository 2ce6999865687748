"""Distinct values: two values are the same when SPL's `==` says so, and every NaN is the same as every other."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from decimal import Decimal
from typing import Any

from penstock.ir.types import (
    ListType,
    MapType,
    OptionalType,
    SetType,
    TupleType,
    Type,
    is_complex,
    is_decimal,
    is_float,
)
from penstock.toolkit.core.memory import DECIMAL_NAN

Identity = Callable[[Any], Hashable]


def identity_of(type_: Type) -> Identity | None:
    """The function that turns a value into something hashable; none if the value itself will do.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> identity_of(parse_type("list<int32>"))([1, 2])
        (1, 2)
    """
    match type_:
        case ListType(element=element):
            each = identity_of(element)
            return tuple if each is None else lambda value: tuple(each(v) for v in value)
        case SetType():
            return frozenset
        case MapType(value=element):
            inner = identity_of(element) or _itself
            return lambda value: frozenset((k, inner(v)) for k, v in value.items())
        case TupleType(attributes=attributes):
            return _identity_of_tuple([identity_of(a.type) for a in attributes])
        case OptionalType(inner=wrapped):
            return _identity_of_optional(identity_of(wrapped))
    if is_complex(type_):
        return lambda value: (_float_identity(value.real), _float_identity(value.imag))
    if is_decimal(type_):
        return _decimal_identity
    return _float_identity if is_float(type_) else None


def _itself(value: Any) -> Any:
    return value


def _float_identity(value: float) -> float:
    return value if value == value else math.nan


def _decimal_identity(value: Decimal) -> Decimal:
    return DECIMAL_NAN if value.is_nan() else value


def _identity_of_tuple(parts: list[Identity | None]) -> Identity | None:
    if all(part is None for part in parts):
        return None
    filled = [part or _itself for part in parts]
    return lambda value: tuple(part(v) for part, v in zip(filled, value, strict=True))


def _identity_of_optional(inner: Identity | None) -> Identity | None:
    return None if inner is None else lambda value: None if value is None else inner(value)


def distinct(values: Iterable[Any], identity: Identity | None) -> list[Any]:
    """The values without repetitions, in order of their first occurrence.

    Example:
        >>> distinct([2, 1, 2], None)
        [2, 1]
    """
    if identity is None:
        return list(dict.fromkeys(values))
    kept: dict[Hashable, Any] = {}
    for value in values:
        kept.setdefault(identity(value), value)
    return list(kept.values())
