"""The hash of `routing` for one value at a time, as containers need it."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from penstock.expr.values import DECIMAL_CONTEXTS

FACTOR, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
NULL = 0x6E756C6C6E756C6C

_MASK = (1 << 64) - 1
_NAN = float("nan")


def mix(bits: int) -> int:
    """SplitMix64's finalizer.

    Example:
        >>> hex(mix(0))
        '0xe220a8397b1dcdaf'
    """
    bits = (bits + FACTOR) & _MASK
    bits = ((bits ^ (bits >> 30)) * FIRST) & _MASK
    bits = ((bits ^ (bits >> 27)) * SECOND) & _MASK
    return bits ^ (bits >> 31)


def code_of_value(value: Any) -> int:
    """The code of a value of any SPL type.

    Example:
        >>> code_of_value({"a": 1, "b": 2}) == code_of_value({"b": 2, "a": 1})
        True
    """
    match value:
        case str():
            return _code_of_bytes(value.encode("utf-8", "surrogatepass"))
        case int():
            return mix(value & _MASK)
        case float():
            return mix(_bits(value + 0.0 if value == value else _NAN))
        case None:
            return NULL
        case bytes() | bytearray() | memoryview():
            return _code_of_bytes(bytes(value))
        case complex():
            return code_of_values((value.real, value.imag))
        case Decimal():
            return _code_of_bytes(_digits(value).encode())
        case tuple():
            return code_of_values(value)
        case dict():
            return _sum(code_of_values(pair) for pair in value.items())
        case list() | set() | frozenset():
            return _sum(map(code_of_value, value))
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be part of a key")


def code_of_values(values: Iterable[Any]) -> int:
    """The code of several parts in a row: a tuple, or a key of several attributes."""
    found = 0
    for value in values:
        found = mix((found * FACTOR + code_of_value(value)) & _MASK)
    return found


@lru_cache(maxsize=1 << 16)
def _code_of_bytes(data: bytes) -> int:
    found = mix(len(data))
    for start in range(0, len(data), 8):
        found = mix(found ^ int.from_bytes(data[start : start + 8], "little"))
    return found


def _sum(codes: Iterable[int]) -> int:
    found = list(codes)
    return mix((sum(found) + len(found)) & _MASK)


def _bits(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def _digits(value: Decimal) -> str:
    return str(value.normalize(DECIMAL_CONTEXTS["decimal128"]) if value else Decimal(0))
