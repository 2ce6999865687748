"""Values as bytes, in network byte order, a tuple attribute by attribute.

| type | bytes |
|---|---|
| boolean | one, 0 or 1 |
| integers, floats | their width, big-endian; floats as IEEE 754 |
| complex | its real and its imaginary part, as floats |
| rstring, ustring, decimals | length, then the text in UTF-8 |
| timestamp | int64 seconds, uint32 nanoseconds, int32 machine identifier (always 0) |
| blob | uint64 length, then the bytes |
| enum | uint32 position of the symbol |
| list, set, map | length, then the elements, or keys and values in turn |
| tuple | its attributes |
| optional | one, 1 and the value, or 0 for null |

A length below 128 is one byte; any other is the byte 128 and a uint32. SPL writes ustring in UTF-16 and decimals in
their hardware form; we write text for both.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> schema = parse_schema("int32 x, rstring s")
    >>> encoder(schema)((1, "ab")).hex()
    '00000001026162'
    >>> decoder(schema)(bytes.fromhex("00000001026162"), 0)
    ((1, 'ab'), 7)
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from penstock.expr.values.order import ascending
from penstock.expr.values.parsing import parse_form
from penstock.expr.values.text import text_form
from penstock.ir.types import (
    XML,
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    is_decimal,
    is_string,
)

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes, int], tuple[Any, int]]
"""Reads a value from a position on; gives it and the position after it."""

_FORMATS = {
    "boolean": ">?",
    "int8": ">b",
    "int16": ">h",
    "int32": ">i",
    "int64": ">q",
    "uint8": ">B",
    "uint16": ">H",
    "uint32": ">I",
    "uint64": ">Q",
    "float32": ">f",
    "float64": ">d",
}
_TIMESTAMP = struct.Struct(">qIi")
_LONG = 128


class Truncated(Exception):
    """The bytes end inside a value."""


def encoder(type_: Type) -> Encode:
    """The function that writes values of a type."""
    match type_:
        case Primitive(name="float32" | "float64" as name):
            pack = struct.Struct(_FORMATS[name]).pack
            # Every NaN is the same, whatever sign the arithmetic has left it.
            return lambda value: pack(value if value == value else math.nan)
        case Primitive(name=name) if name in _FORMATS:
            return struct.Struct(_FORMATS[name]).pack
        case Primitive(name="complex32" | "complex64" as name):
            part = encoder(Primitive(name.replace("complex", "float")))
            return lambda value: part(value.real) + part(value.imag)
        case Primitive(name="timestamp"):
            return lambda value: _TIMESTAMP.pack(*divmod(value, 1_000_000_000), 0)
        case Primitive(name="blob"):
            return lambda value: struct.pack(">Q", len(value)) + value
        case Primitive():
            text = text_form(type_)
            return lambda value: _with_length(text(value).encode())
        case EnumType(symbols=symbols):
            return lambda value: struct.pack(">I", symbols.index(value))
        case OptionalType(inner=inner):
            encode = encoder(inner)
            return lambda value: b"\0" if value is None else b"\1" + encode(value)
        case TupleType(attributes=attributes):
            encoders = [encoder(a.type) for a in attributes]
            return lambda value: b"".join([e(v) for e, v in zip(encoders, value, strict=True)])
    return _collection_encoder(type_)


def _collection_encoder(type_: Type) -> Encode:
    match type_:
        case ListType(element=element):
            item = encoder(element)
            return lambda value: _length(len(value)) + b"".join(map(item, value))
        case SetType(element=element):
            item, order = encoder(element), ascending(element)
            return lambda value: _length(len(value)) + b"".join(map(item, order(value)))
        case MapType(key=key, value=value_type):
            k, v = encoder(key), encoder(value_type)
            return lambda value: _length(len(value)) + b"".join([k(a) + v(b) for a, b in value.items()])
    raise TypeError(f"{type_} has no binary form")


def _length(length: int) -> bytes:
    return bytes((length,)) if length < _LONG else b"\x80" + struct.pack(">I", length)


def _with_length(data: bytes) -> bytes:
    return _length(len(data)) + data


def decoder(type_: Type) -> Decode:
    """The function that reads values of a type; it raises `Truncated` or `ValueError`."""
    match type_:
        case Primitive(name=name) if name in _FORMATS:
            return _fixed(struct.Struct(_FORMATS[name]), lambda parts: parts[0])
        case Primitive(name="complex32" | "complex64" as name):
            part = _FORMATS[name.replace("complex", "float")]
            return _fixed(struct.Struct(f"{part}{part[1]}"), lambda parts: complex(*parts))
        case Primitive(name="timestamp"):
            return _fixed(_TIMESTAMP, lambda parts: parts[0] * 1_000_000_000 + parts[1])
        case Primitive(name="blob"):
            return _decode_blob
        case Primitive():
            return _text_decoder(type_)
        case EnumType(symbols=symbols):
            return _fixed(struct.Struct(">I"), lambda parts: _symbol(symbols, parts[0]))
        case OptionalType(inner=inner):
            return _optional_decoder(decoder(inner))
        case TupleType(attributes=attributes):
            return _sequence_decoder([decoder(a.type) for a in attributes])
    return _collection_decoder(type_)


def _fixed(layout: struct.Struct, make: Callable[[tuple[Any, ...]], Any]) -> Decode:
    def decode(data: bytes, position: int) -> tuple[Any, int]:
        if position + layout.size > len(data):
            raise Truncated
        return make(layout.unpack_from(data, position)), position + layout.size

    return decode


def _symbol(symbols: tuple[str, ...], index: int) -> str:
    if index >= len(symbols):
        raise ValueError(f"there is no symbol {index} in an enum of {len(symbols)}")
    return symbols[index]


def _decode_length(data: bytes, position: int) -> tuple[int, int]:
    if position >= len(data):
        raise Truncated
    if data[position] < _LONG:
        return data[position], position + 1
    return _DECODE_UINT32(data, position + 1)


_DECODE_UINT32 = _fixed(struct.Struct(">I"), lambda parts: parts[0])
_DECODE_UINT64 = _fixed(struct.Struct(">Q"), lambda parts: parts[0])


def _take(data: bytes, position: int, length: int) -> tuple[bytes, int]:
    if position + length > len(data):
        raise Truncated
    return data[position : position + length], position + length


def _decode_blob(data: bytes, position: int) -> tuple[bytes, int]:
    length, position = _DECODE_UINT64(data, position)
    return _take(data, position, length)


def _text_decoder(type_: Type) -> Decode:
    parse = parse_form(type_) if is_decimal(type_) or is_string(type_) or type_ == XML else None
    if parse is None:
        raise TypeError(f"{type_} has no binary form")

    def decode(data: bytes, position: int) -> tuple[Any, int]:
        length, position = _decode_length(data, position)
        text, position = _take(data, position, length)
        return parse(text.decode()), position

    return decode


def _optional_decoder(inner: Decode) -> Decode:
    def decode(data: bytes, position: int) -> tuple[Any, int]:
        flag, position = _take(data, position, 1)
        return inner(data, position) if flag != b"\0" else (None, position)

    return decode


def _sequence_decoder(parts: list[Decode]) -> Decode:
    def decode(data: bytes, position: int) -> tuple[Any, int]:
        values = []
        for part in parts:
            value, position = part(data, position)
            values.append(value)
        return tuple(values), position

    return decode


def _collection_decoder(type_: Type) -> Decode:
    match type_:
        case ListType(element=element):
            return _repeated(decoder(element), list)
        case SetType(element=element):
            return _repeated(decoder(element), set)
        case MapType(key=key, value=value):
            return _repeated(_sequence_decoder([decoder(key), decoder(value)]), dict)
    raise TypeError(f"{type_} has no binary form")


def _repeated(element: Decode, collect: Callable[[list[Any]], Any]) -> Decode:
    def decode(data: bytes, position: int) -> tuple[Any, int]:
        length, position = _decode_length(data, position)
        found = []
        for _ in range(length):
            value, position = element(data, position)
            found.append(value)
        return collect(found), position

    return decode
