"""JSON, one object a line. Blank lines and lines that start with `#` are skipped.

An attribute is the value under its name; where that is missing or null, it is null if it may be and else its type's
default. Other names are ignored. Numbers are integers or floats as their attributes are; a decimal may be a number or a
string, a timestamp is nanoseconds since 1970, a blob is pairs of hexadecimal digits, a list or a set is an array, a map
an object (its keys are the text of the SPL values) and a tuple an object.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> parse = row_parser(parse_schema("rstring name, optional<uint32> age, list<int32> marks"))
    >>> parse('{"name": "John", "marks": [1, 2], "more": {}}')
    ('John', None, [1, 2])
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from penstock.expr.environment import Tuple
from penstock.expr.values import DECIMAL_CONTEXTS, default_value, integer_range, parse_form, round_float32
from penstock.expr.values.scalars import parse_xml
from penstock.ir.types import (
    BLOB,
    BOOLEAN,
    FLOAT32,
    TIMESTAMP,
    XML,
    EnumType,
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
    is_integer,
    is_string,
)

Convert = Callable[[Any], Any]


def row_parser(schema: Schema) -> Callable[[str], Tuple]:
    """A function that reads one record; it raises `ValueError` with the reason."""
    convert = _tuple(schema)

    def parse(line: str) -> Tuple:
        try:
            found = json.loads(line, parse_constant=_refuse)
        except json.JSONDecodeError as error:
            raise ValueError(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}") from None
        except RecursionError:
            raise ValueError("not JSON: lists and objects are nested too deeply") from None
        row: Tuple = convert(found)
        return row

    return parse


def _refuse(name: str) -> None:
    raise ValueError(f"not JSON: `{name}` is no number")


def _converter(type_: Type) -> Convert:
    match type_:
        case OptionalType(inner=inner):
            return _converter(inner)
        case EnumType(symbols=symbols):
            return partial(_symbol, frozenset(symbols), type_)
        case ListType(element=element, bound=bound):
            return partial(_array, list, _value(element), bound)
        case SetType(element=element, bound=bound):
            return partial(_array, set, _value(element), bound)
        case MapType(key=key, value=value, bound=bound):
            return partial(_map, parse_form(key), _value(value), bound)
        case TupleType():
            return _tuple(type_)
        case Primitive():
            return _primitive(type_)
    raise TypeError(f"{type_} has no JSON form")


def _primitive(type_: Primitive) -> Convert:
    if is_string(type_):
        return partial(_string, type_.bound)
    if is_integer(type_) or type_ == TIMESTAMP:
        least, greatest = (-(2**63), 2**63 - 1) if type_ == TIMESTAMP else integer_range(type_)
        return partial(_integer, least, greatest, type_)
    if is_float(type_):
        return _float32 if type_ == FLOAT32 else _float
    if is_decimal(type_):
        return partial(_decimal, type_.name)
    if is_complex(type_):
        return lambda found: parse_form(type_)(_string(None, found))
    if type_ == BLOB:
        return _blob
    if type_ == XML:
        return _xml
    if type_ == BOOLEAN:
        return _boolean
    raise TypeError(f"{type_} has no JSON form")


def _xml(found: Any) -> str:
    return parse_xml(_string(None, found))


def _value(type_: Type) -> Convert:
    """A converter of a JSON value that may be null."""
    convert, default = _converter(type_), default_value(type_)
    if isinstance(type_, OptionalType):
        return lambda found: None if found is None else convert(found)
    return lambda found: default if found is None else convert(found)


def _tuple(type_: TupleType) -> Convert:
    values = [(a.name, _value(a.type)) for a in type_.attributes]

    def convert(found: Any) -> Tuple:
        if not isinstance(found, dict):
            raise ValueError(f"expected an object, found {_excerpt(found)}")
        return tuple([_named(name, value, found.get(name)) for name, value in values])

    return convert


def _named(name: str, convert: Convert, found: Any) -> Any:
    try:
        return convert(found)
    except ValueError as error:
        raise ValueError(f"attribute `{name}`: {error}") from None


def _string(bound: int | None, found: Any) -> str:
    if not isinstance(found, str):
        raise ValueError(f"expected a string, found {_excerpt(found)}")
    if not found.isascii() and any("\ud800" <= c <= "\udfff" for c in found):
        raise ValueError("the string has half a character in it")
    return found[:bound]


def _integer(least: int, greatest: int, type_: Type, found: Any) -> int:
    if not isinstance(found, int) or isinstance(found, bool):
        raise ValueError(f"expected an integer, found {_excerpt(found)}")
    if not least <= found <= greatest:
        raise ValueError(f"{_excerpt(found)} is out of range for {type_} ({least} to {greatest})")
    return found


def _float(found: Any) -> float:
    if not isinstance(found, int | float) or isinstance(found, bool):
        raise ValueError(f"expected a number, found {_excerpt(found)}")
    try:
        return float(found)
    except OverflowError:
        return float("inf") if found > 0 else float("-inf")


def _float32(found: Any) -> float:
    return round_float32(_float(found))


def _decimal(name: str, found: Any) -> Decimal:
    if isinstance(found, str):
        value: Decimal = parse_form(Primitive(name))(found)
        return value
    if not isinstance(found, int | float) or isinstance(found, bool):
        raise ValueError(f"expected a number, found {_excerpt(found)}")
    return DECIMAL_CONTEXTS[name].create_decimal(repr(found))


def _boolean(found: Any) -> bool:
    if not isinstance(found, bool):
        raise ValueError(f"expected true or false, found {_excerpt(found)}")
    return found


def _blob(found: Any) -> bytes:
    value: bytes = parse_form(BLOB)(_string(None, found))
    return value


def _symbol(symbols: frozenset[str], type_: Type, found: Any) -> str:
    if not isinstance(found, str) or found not in symbols:
        raise ValueError(f"{_excerpt(found)} is not a symbol of {type_}")
    return found


def _array(collect: Callable[[list[Any]], Any], convert: Convert, bound: int | None, found: Any) -> Any:
    if not isinstance(found, list):
        raise ValueError(f"expected an array, found {_excerpt(found)}")
    _check_bound(len(found), bound)
    return collect([convert(value) for value in found])


def _map(key: Convert, convert: Convert, bound: int | None, found: Any) -> dict[Any, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"expected an object, found {_excerpt(found)}")
    _check_bound(len(found), bound)
    return {key(name): convert(value) for name, value in found.items()}


def _check_bound(count: int, bound: int | None) -> None:
    if bound is not None and count > bound:
        raise ValueError(f"found {count} elements where at most {bound} are allowed")


def _excerpt(found: Any) -> str:
    text = json.dumps(found)
    return f"`{text if len(text) <= 40 else text[:40] + '...'}`"
