"""The border between a user's Python objects and the tuples of a stream.

Inside Penstock a tuple is a plain Python `tuple`. User code receives it as a `Row`, a named tuple with the stream's
attribute names, and may return a row, any other tuple or list in the schema's order, a mapping, or an object with
attributes of these names. What comes back is checked against the schema, because the next operator, and Arrow, rely
on it.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> schema = parse_schema("rstring sym, float64 price")
    >>> row = row_class(schema)("IBM", 83.5)
    >>> row.price
    83.5
    >>> conformer(schema)({"sym": "IBM", "price": 84})
    ('IBM', 84.0)
    >>> conformer(schema)(("IBM", "cheap"))
    Traceback (most recent call last):
    penstock.api.rows.ConformError: attribute `price` is float64, got 'cheap'
"""

from __future__ import annotations

import struct
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from operator import index
from typing import Any

from penstock.expr.environment import Tuple
from penstock.expr.errors import EvaluationError
from penstock.expr.values import copier, round_complex32
from penstock.ir.types import (
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    Schema,
    SetType,
    TupleType,
    Type,
    is_decimal,
    is_integer,
    is_string,
    parse_schema,
)
from penstock.toolkit.formats import Malformed

Conform = Callable[[Any], Any]


class ConformError(EvaluationError, ValueError):
    """A value from user code does not fit the schema of its stream."""


@cache
def row_class(schema: Schema) -> type[Any]:
    """The named tuple class of a schema; names that Python forbids become `_0`, `_1`, ...

    Example:
        >>> import pickle
        >>> from penstock.ir.types import parse_schema
        >>> row = row_class(parse_schema("int32 x"))(7)
        >>> pickle.loads(pickle.dumps(row)).x
        7
    """
    text = str(schema)
    methods = {"__slots__": (), "__reduce__": lambda row: (_row, (text, tuple(row))), "__getattr__": _name_missing}
    return type("Row", (namedtuple("Row", schema.names, rename=True),), methods)


def _name_missing(row: Any, name: str) -> Any:
    """Tell which attributes a row has, where one is asked for that it has not."""
    known = ", ".join(f"`{field}`" for field in row._fields)
    raise AttributeError(f"the tuple has no attribute `{name}`; it has {known or 'none'}", name=name, obj=row)


def _row(text: str, values: Tuple) -> Any:
    """Make a row again that was pickled."""
    return _row_maker_of(text)(values)


@cache
def _row_maker_of(text: str) -> Callable[[Tuple], Any]:
    return row_class(parse_schema(text))._make  # type: ignore[no-any-return]


@cache
def row_maker(schema: Schema) -> Callable[[Tuple], Any]:
    """A function from a stream's tuple to the `Row` that user code sees, nested tuples included.

    A row is the receiver's own: its lists, sets and maps are copies, because others hold the tuple too and user code
    may change what it gets. A schema without collections needs none, and a row of it is the tuple under another name.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> tuple_ = (1, [2])
        >>> row_maker(parse_schema("int32 x, list<int32> items"))(tuple_).items.append(3)
        >>> tuple_
        (1, [2])
    """
    make = row_class(schema)._make
    parts = [(i, own) for i, a in enumerate(schema.attributes) if (own := _owner(a.type)) is not None]
    if not parts:
        return make  # type: ignore[no-any-return] # a named tuple's _make is untyped

    def make_own(values: Tuple) -> Any:
        row = list(values)
        for i, own in parts:
            row[i] = own(row[i])
        return make(row)

    return make_own


def _owner(type_: Type) -> Callable[[Any], Any] | None:
    """The function that makes a value the receiver's own; none if it can be shared as it is."""
    return row_maker(type_) if isinstance(type_, TupleType) else copier(type_)


@cache
def conformer(schema: Schema) -> Callable[[object], Tuple]:
    """A function that turns what user code returns into a tuple of the schema, or raises `ConformError`."""
    conforms = [_named(a.name, a.type, conform_value(a.type)) for a in schema.attributes]
    names, width, row = schema.names, len(schema.names), row_class(schema)

    def conform(value: object) -> Tuple:
        parts: Iterable[object]
        if isinstance(value, tuple | list) and (type(value) is row or not hasattr(value, "_fields")):
            parts = value
            if len(value) != width:
                raise ConformError(f"expected {width} values for ({', '.join(names)}), got {len(value)}: {value!r}")
        else:
            parts = _by_name(value, names)
        return tuple([c(v) for c, v in zip(conforms, parts, strict=True)])

    return conform


def conformed(conform: Callable[[object], Tuple], value: object) -> Tuple | Malformed:
    """The tuple that user code returned, or that there is none and why."""
    try:
        return conform(value)
    except ConformError as error:
        return Malformed(str(value), str(error))


def _by_name(value: object, names: tuple[str, ...]) -> list[object]:
    if isinstance(value, Mapping):
        missing = [n for n in names if n not in value]
        extra = [n for n in value if n not in names]
        if missing or extra:
            found = f"expected attributes ({', '.join(names)}), got ({', '.join(map(str, value))})"
            raise ConformError(f"{found}; give the schema of what is returned")
        return [value[n] for n in names]
    missing = [n for n in names if not hasattr(value, n)]
    if not missing:
        return [getattr(value, n) for n in names]
    if len(names) == 1:
        return [value]
    none = "; `flat_map` is for functions that may give no tuple" if value is None else ""
    raise ConformError(f"expected a tuple with attributes ({', '.join(names)}), got {value!r}{none}")


def _named(name: str, type_: Type, conform: Conform) -> Conform:
    def checked(value: Any) -> Any:
        try:
            return conform(value)
        except (TypeError, ValueError, OverflowError):
            raise ConformError(f"attribute `{name}` is {type_}, got {value!r}") from None

    return checked


@cache
def conform_value(type_: Type) -> Conform:
    """A function that turns a Python value into a value of the type, or raises `ValueError` or `TypeError`.

    Example:
        >>> from penstock.ir.types import INT8, parse_type
        >>> conform_value(INT8)(127)
        127
        >>> conform_value(parse_type("list<float64>"))((1, 2))
        [1.0, 2.0]
    """
    match type_:
        case Primitive() if is_integer(type_):
            return _integer(type_)
        case Primitive() if is_decimal(type_):
            return _decimal
        case Primitive() if is_string(type_):
            return _string(type_.bound)
        case Primitive(name=name):
            return _PRIMITIVES[name]
        case EnumType(symbols=symbols):
            return _one_of(symbols)
        case OptionalType(inner=inner):
            conform = conform_value(inner)
            return lambda value: None if value is None else conform(value)
        case ListType(element=element, bound=bound):
            return _collection(list, conform_value(element), bound)
        case SetType(element=element, bound=bound):
            return _collection(set, conform_value(element), bound)
        case MapType(key=key, value=value, bound=bound):
            return _map(conform_value(key), conform_value(value), bound)
        case TupleType():
            return conformer(type_)
    raise TypeError(f"no values of type {type_}")


def _integer(type_: Primitive) -> Conform:
    signed = type_.name.startswith("i")
    low = -(1 << (type_.bits - 1)) if signed else 0
    high = (1 << (type_.bits - 1 if signed else type_.bits)) - 1

    def conform(value: Any) -> int:
        number = value if type(value) is int else _index(value)
        if not low <= number <= high:
            raise ValueError(value)
        return number

    return conform


def _index(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(value)
    return index(value)


def _float64(value: Any) -> float:
    if type(value) is float:
        return value
    if isinstance(value, bool | str | bytes):
        raise TypeError(value)
    return float(value)


def _float32(value: Any) -> float:
    rounded: float = struct.unpack("f", struct.pack("f", _float64(value)))[0]
    return rounded


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Decimal):
        return value if type(value) is Decimal else Decimal(value)
    return Decimal(_index(value))


def _string(bound: int | None) -> Conform:
    def conform(value: Any) -> str:
        if not isinstance(value, str) or (bound is not None and len(value) > bound):
            raise TypeError(value)
        text = value if type(value) is str else str.__str__(value)
        if not text.isascii():
            text.encode()  # half of a pair of surrogates is no text anywhere but in Python
        return text

    return conform


def _boolean(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise TypeError(value)


def _timestamp(value: Any) -> int:
    if isinstance(value, datetime):
        utc = value.astimezone(UTC)
        return int(utc.replace(microsecond=0).timestamp()) * 1_000_000_000 + utc.microsecond * 1000
    return _index(value)


def _blob(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(value)


def _complex(value: Any) -> complex:
    if isinstance(value, bool) or not isinstance(value, int | float | complex):
        raise TypeError(value)
    return complex(value)


_PRIMITIVES: dict[str, Conform] = {
    "boolean": _boolean,
    "float32": _float32,
    "float64": _float64,
    "timestamp": _timestamp,
    "blob": _blob,
    "complex32": lambda value: round_complex32(_complex(value)),
    "complex64": _complex,
    "xml": _string(None),
}


def _one_of(symbols: tuple[str, ...]) -> Conform:
    def conform(value: Any) -> Any:
        if value not in symbols:
            raise ValueError(value)
        return symbols[symbols.index(value)]

    return conform


def _collection(make: Callable[[Iterable[Any]], Any], element: Conform, bound: int | None) -> Conform:
    def conform(value: Any) -> Any:
        if isinstance(value, str | bytes | Mapping):
            raise TypeError(value)
        made = make([element(v) for v in value])
        if bound is not None and len(made) > bound:
            raise ValueError(value)
        return made

    return conform


def _map(key: Conform, value: Conform, bound: int | None) -> Conform:
    def conform(values: Any) -> Any:
        if not isinstance(values, Mapping) or (bound is not None and len(values) > bound):
            raise TypeError(values)
        return {key(k): value(v) for k, v in values.items()}

    return conform
