"""Reading values without parts from their text: numbers, booleans, timestamps, blobs, symbols, string literals."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any
from xml.parsers import expat

from penstock.expr.values.numbers import DECIMAL_CONTEXTS, integer_range, round_float32
from penstock.expr.values.text import ESCAPES
from penstock.ir.types import EnumType, Primitive, Type, is_integer

Parse = Callable[[str], Any]

_INTEGER = re.compile(r"\s*([+-]?[0-9]+)\s*")
_FLOAT = re.compile(
    r"\s*([+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan))\s*", re.IGNORECASE
)
TIMESTAMP = re.compile(r"\s*\(\s*(-?[0-9]+)\s*,\s*([0-9]+)\s*(?:,\s*-?[0-9]+\s*)?\)\s*")
COMPLEX = re.compile(r"\s*\(([^(),]*)(?:,([^(),]*))?\)\s*")
"""A complex number in parentheses; without them, or without a comma, there is only the real part."""

_BOOLEANS = {"true": True, "false": False}
_HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]{2})*")


def scalar_parser(type_: Type) -> Parse | None:
    """The function that reads the whole of a text as a value without parts; None for other types and for strings.

    Example:
        >>> scalar_parser(Primitive("int8"))(" 12 ")
        12
    """
    match type_:
        case EnumType(symbols=symbols):
            return partial(_parse_symbol, frozenset(symbols), type_)
        case Primitive() if is_integer(type_):
            return partial(_parse_integer, *integer_range(type_), type_)
        case Primitive(name=name) if name in _SCALARS:
            return _SCALARS[name]
    return None


def _parse_integer(least: int, greatest: int, type_: Type, text: str) -> int:
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not an integer")
    value = int(match[1])
    if not least <= value <= greatest:
        raise ValueError(f"{value} is out of range for {type_} ({least} to {greatest})")
    return value


def _parse_float(text: str) -> float:
    if _FLOAT.fullmatch(text) is None:
        raise ValueError(f"`{text}` is not a number")
    return float(text)


def _parse_float32(text: str) -> float:
    return round_float32(_parse_float(text))


def _parse_decimal(name: str, text: str) -> Decimal:
    if _FLOAT.fullmatch(text) is None:
        raise ValueError(f"`{text}` is not a number")
    return DECIMAL_CONTEXTS[name].create_decimal(text.strip())


def parse_complex(name: str, text: str) -> complex:
    """A complex number written `(real,imaginary)`, `(real)` or `real`.

    Example:
        >>> parse_complex("complex64", "(1.5,-2)")
        (1.5-2j)
    """
    match = COMPLEX.fullmatch(text)
    parts = [text] if match is None else [part for part in match.groups() if part is not None]
    parse = _parse_float if name == "complex64" else _parse_float32
    return complex(*map(parse, parts))


def _parse_boolean(text: str) -> bool:
    found = _BOOLEANS.get(text.strip())
    if found is None:
        raise ValueError(f"`{text}` is not a boolean: expected true or false")
    return found


def parse_timestamp(text: str) -> int:
    """The nanoseconds of a timestamp written `(seconds,nanoseconds,machine)`; the machine may be left out.

    Example:
        >>> parse_timestamp("(1,5,0)")
        1000000005
    """
    match = TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not a timestamp: expected (seconds,nanoseconds,machine)")
    seconds, nanoseconds = int(match[1]), int(match[2])
    value = seconds * 1_000_000_000 + nanoseconds
    if nanoseconds >= 1_000_000_000 or not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"`{text}` is out of range for a timestamp")
    return value


def _parse_blob(text: str) -> bytes:
    stripped = text.strip()
    if _HEXADECIMAL.fullmatch(stripped) is None:
        raise ValueError(f"`{text}` is not a blob: expected pairs of hexadecimal digits")
    return bytes.fromhex(stripped)


def parse_xml(text: str) -> str:
    """A document, from its text or from a literal `"<a/>"x`; nothing is the default value.

    Raises:
        ValueError: It is not well-formed.

    Example:
        >>> parse_xml('"<a b=\\'1\\'/>"x')
        "<a b='1'/>"
    """
    stripped = text.strip()
    if stripped[:1] in ("'", '"'):
        stripped = interpret_literal(stripped.removesuffix("x"))
    if stripped:
        try:
            expat.ParserCreate().Parse(stripped, True)
        except expat.ExpatError as error:
            raise ValueError(f"`{stripped[:40]}` is not XML: {error}") from None
    return stripped


def _parse_symbol(symbols: frozenset[str], type_: Type, text: str) -> str:
    symbol = text.strip()
    if symbol not in symbols:
        raise ValueError(f"`{symbol}` is not a symbol of {type_}")
    return symbol


_SCALARS: dict[str, Parse] = {
    "boolean": _parse_boolean,
    "float32": _parse_float32,
    "float64": _parse_float,
    "complex32": partial(parse_complex, "complex32"),
    "complex64": partial(parse_complex, "complex64"),
    "timestamp": parse_timestamp,
    "blob": _parse_blob,
    "xml": parse_xml,
    **{name: partial(_parse_decimal, name) for name in DECIMAL_CONTEXTS},
}


STRING = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.DOTALL)
"""A string literal in double or single quotes."""

_LETTERS = {escape[1]: character for character, escape in ESCAPES.items()}
_ESCAPED = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\.", re.DOTALL)


def interpret_literal(literal: str) -> str:
    r"""The string that a literal in quotes means.

    Raises:
        ValueError: It is not in matching quotes, or ends in a lone backslash.

    Example:
        >>> interpret_literal(r'"caf\u00e9"')
        'café'
    """
    if STRING.fullmatch(literal) is None:
        raise ValueError(f"`{literal}` is not a string literal in matching quotes")
    inside = literal[1:-1]
    return _ESCAPED.sub(_unescape, inside) if "\\" in inside else inside


def _unescape(match: re.Match[str]) -> str:
    escape = match[0]
    if len(escape) > 2:
        return bytes.fromhex(escape.replace("\\u", "")).decode("utf-16-be", "replace")
    return _LETTERS.get(escape[1], escape[1])
