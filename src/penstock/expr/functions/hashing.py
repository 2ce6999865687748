"""Hash codes that are the same on every machine, in every process, for ever.

Introduction
    Channels are chosen by the hash of a key, and checkpoints outlive processes, so a hash code is part of a program's
    meaning. Python's own `hash` of strings differs from process to process.

Formulation
    An integer, a timestamp and a boolean are their own code, modulo 2^64; an enum symbol is its position. What is equal
    has an equal code: 0.0 and -0.0, `1.5` and `1.50`, maps filled in different order. Everything else is the first
    eight bytes, little endian, of BLAKE2b over its bytes, or over the codes of its parts.

Preserves
    The codes of values that are already stored. Changing this module is a change of format.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from decimal import Decimal
from hashlib import blake2b
from typing import Any

from penstock.expr.values.numbers import DECIMAL_CONTEXTS
from penstock.expr.values.order import ascending
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
    is_complex,
    is_decimal,
    is_float,
    is_string,
)

Hash = Callable[[Any], int]

_MASK = (1 << 64) - 1


def hasher(type_: Type) -> Hash:
    """The function that gives the hash code of values of a type.

    Example:
        >>> from penstock.ir.types import INT32, RSTRING
        >>> hasher(INT32)(-1) == 2**64 - 1
        True
        >>> hasher(RSTRING)("a")
        3405396810240292928
    """
    match type_:
        case Primitive():
            return _of_primitive(type_)
        case EnumType(symbols=symbols):
            return {symbol: i for i, symbol in enumerate(symbols)}.__getitem__
        case OptionalType(inner=inner):
            of_inner = hasher(inner)
            return lambda value: _of_codes(()) if value is None else of_inner(value)
        case ListType(element=element):
            of_element = hasher(element)
            return lambda value: _of_codes(map(of_element, value))
        case SetType(element=element):
            of_element, in_order = hasher(element), ascending(element)
            return lambda value: _of_codes(map(of_element, in_order(value)))
        case MapType(key=key, value=value):
            of_key, of_value = hasher(key), hasher(value)
            return lambda found: sum(_of_codes((of_key(k), of_value(v))) for k, v in found.items()) & _MASK
        case TupleType(attributes=attributes):
            parts = [hasher(a.type) for a in attributes]
            return lambda value: _of_codes(part(v) for part, v in zip(parts, value, strict=True))
    raise TypeError(f"{type_} has no hash code")


def _of_primitive(type_: Primitive) -> Hash:
    if is_string(type_) or type_ == XML:
        return lambda text: _of_bytes(text.encode("utf-8", "surrogatepass"))
    if is_float(type_):
        return _of_float
    if is_decimal(type_):
        return _of_decimal
    if is_complex(type_):
        return lambda value: _of_codes((_of_float(value.real), _of_float(value.imag)))
    return _of_bytes if type_.name == "blob" else lambda value: int(value) & _MASK


def _of_bytes(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def _of_float(value: float) -> int:
    # Adding zero makes -0.0 the 0.0 that it equals.
    return _of_bytes(struct.pack("<d", value + 0.0))


def _of_decimal(value: Decimal) -> int:
    return _of_bytes(str(value.normalize(DECIMAL_CONTEXTS["decimal128"]) if value else Decimal(0)).encode())


def _of_codes(codes: Iterable[int]) -> int:
    return _of_bytes(b"".join(code.to_bytes(8, "little") for code in codes))
