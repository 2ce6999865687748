"""Tuples as JSON objects, as `formats.json_lines` reads them: one line, no blanks, the attributes in order.

A decimal is a string, to keep its digits; a timestamp nanoseconds since 1970; a blob pairs of hexadecimal digits; a set
an array in ascending order; the keys of a map are the text of the SPL values. JSON has no infinity and no NaN: they are
null.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> json_writer(parse_schema("rstring name, float64 x, optional<int32> n, set<int8> s"))(("a", 0.5, None, {2, 1}))
    '{"name":"a","x":0.5,"n":null,"s":[1,2]}'
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from penstock.expr.environment import Tuple
from penstock.expr.values import text_form
from penstock.expr.values.order import ascending
from penstock.ir.types import (
    BLOB,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    Schema,
    SetType,
    TupleType,
    Type,
    is_complex,
    is_decimal,
    is_float,
)

Plain = Callable[[Any], Any]


def json_writer(schema: Schema) -> Callable[[Tuple], str]:
    """A function that writes one tuple as an object, without a line end."""
    plain = _tuple(schema)
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    return lambda values: encode(plain(values))


def _plain(type_: Type) -> Plain | None:
    """A converter of a value into one that JSON has; None where it is one already."""
    match type_:
        case OptionalType(inner=inner):
            convert = _plain(inner)
            return None if convert is None else lambda value: None if value is None else convert(value)
        case ListType(element=element):
            return _array(_plain(element), list)
        case SetType(element=element):
            return _array(_plain(element), ascending(element))
        case MapType(key=key, value=value):
            return _map(text_form(key), _plain(value) or _same)
        case TupleType():
            return _tuple(type_)
        case Primitive():
            return _primitive(type_)
    return None


def _primitive(type_: Primitive) -> Plain | None:
    if is_decimal(type_):
        return str
    if is_complex(type_):
        return text_form(type_)
    if is_float(type_):
        return lambda value: value if math.isfinite(value) else None
    return bytes.hex if type_ == BLOB else None


def _array(convert: Plain | None, in_order: Callable[[Any], Sequence[Any]]) -> Plain:
    return in_order if convert is None else lambda value: [convert(v) for v in in_order(value)]


def _map(key: Callable[[Any], str], convert: Plain) -> Plain:
    return lambda pairs: {key(name): convert(value) for name, value in pairs.items()}


def _tuple(type_: TupleType) -> Plain:
    parts = [(a.name, _plain(a.type) or _same) for a in type_.attributes]
    return lambda values: {name: convert(v) for (name, convert), v in zip(parts, values, strict=True)}


def _same(value: Any) -> Any:
    return value
