"""Functions between strings, numbers and literals."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import function
from penstock.expr.values.scalars import interpret_literal
from penstock.expr.values.text import literal_form, string_literal
from penstock.ir.types import Type

_FLOAT = re.compile(r"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.IGNORECASE | re.ASCII)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def _read_integer(text: str, base: int) -> tuple[int | None, int]:
    """The integer at the start of a text, as C's `strtoll` reads it, and how many characters it takes."""
    if base != 0 and not 2 <= base <= 36:
        return None, 0
    head = re.match(r"\s*([+-]?)(0[xX](?=[0-9a-fA-F]))?", text)
    assert head is not None
    hexadecimal = head[2] is not None and base in (0, 16)
    position = head.end() if hexadecimal or head[2] is None else head.end() - 2
    if base == 0:
        base = 16 if hexadecimal else 8 if text[position : position + 1] == "0" else 10
    digits = re.match(f"[{_DIGITS[:base]}{_DIGITS[:base].upper()}]*", text[position:])
    assert digits is not None
    if not digits[0]:
        return None, 0
    value = int(digits[0], base)
    return (-value if head[1] == "-" else value), position + digits.end()


def _clamp(value: int, least: int, greatest: int) -> int:
    return min(max(value, least), greatest)


def _signed(value: int | None) -> int:
    return _clamp(value or 0, -(1 << 63), (1 << 63) - 1)


def _unsigned(value: int | None) -> int:
    # C takes a negative number modulo the width, and the greatest number for one that is too large.
    found = value or 0
    return (1 << 64) - 1 if abs(found) >> 64 else found % (1 << 64)


@function("<string T> int64 strtoll(T str, int32 base)")
def string_to_int64(text: str, base: int) -> int:
    """The integer at the start of a string, or 0; too large a one is the greatest there is."""
    return _signed(_read_integer(text, base)[0])


@function("<string T> int64 strtoll(T str, int32 base, mutable int32 charactersRead)")
def string_to_int64_counted(text: str, base: int, read: int) -> tuple[int, int]:
    """The integer at the start of a string, and how many characters it takes."""
    value, count = _read_integer(text, base)
    return _signed(value), count


@function("<string T> uint64 strtoull(T str, int32 base)")
def string_to_uint64(text: str, base: int) -> int:
    """The integer at the start of a string, or 0; too large a one is the greatest there is."""
    return _unsigned(_read_integer(text, base)[0])


@function("<string T> uint64 strtoull(T str, int32 base, mutable int32 charactersRead)")
def string_to_uint64_counted(text: str, base: int, read: int) -> tuple[int, int]:
    """The integer at the start of a string, and how many characters it takes."""
    value, count = _read_integer(text, base)
    return _unsigned(value), count


def _read_float(text: str) -> tuple[float | None, int]:
    match = _FLOAT.match(text)
    return (None, 0) if match is None else (float(match[0]), match.end())


@function("<string T> float64 strtod(T str)")
def string_to_float(text: str) -> float:
    """The number at the start of a string, or 0."""
    return _read_float(text)[0] or 0.0


@function("<string T> float64 strtod(T str, mutable int32 charactersRead)")
def string_to_float_counted(text: str, read: int) -> tuple[float, int]:
    """The number at the start of a string, and how many characters it takes."""
    value, count = _read_float(text)
    return value or 0.0, count


@function("<string T> int32 parseNumber(mutable int64 number, T text)")
def parse_integer(number: int, text: str) -> tuple[int, int]:
    """Read an integer; gives how many characters it takes, or -1 if there is none."""
    return parse_integer_in_base(number, text, 10)


@function("<string T> int32 parseNumber(mutable int64 number, T text, int32 base)")
def parse_integer_in_base(number: int, text: str, base: int) -> tuple[int, int]:
    """Read an integer in a base; gives how many characters it takes, or -1 if there is none."""
    value, count = _read_integer(text, base)
    fits = value is not None and _signed(value) == value
    return (count, value) if fits and value is not None else (-1, number)


@function("<string T> int32 parseNumber(mutable float64 number, T text)")
def parse_float(number: float, text: str) -> tuple[int, float]:
    """Read a number; gives how many characters it takes, or -1 if there is none."""
    value, count = _read_float(text)
    return (-1, number) if value is None else (count, value)


@function("rstring formatNumber(int64 value)", "rstring formatNumber(int64 value, uint32 width)")
def format_integer(value: int, width: int = 0) -> str:
    """The digits of an integer, with blanks before them up to a width."""
    return f"{value:{width}d}" if width else str(value)


@function("rstring formatNumber(float64 value)")
def format_float(value: float) -> str:
    """The digits of a number, six of them."""
    return f"{value:.6g}"


@function("rstring formatNumber(float64 value, uint32 width, uint32 precision, boolean scientific)")
def format_float_exactly(value: float, width: int, precision: int, scientific: bool) -> str:
    """The digits of a number, so many after the point, with blanks before them up to a width."""
    return f"{value:.{precision}{'e' if scientific else 'f'}}".rjust(width)


@function("<string T> uint32 toCharacterCode(T str)")
def to_character_code(text: str) -> int:
    """The Unicode code point of the first character."""
    if not text:
        raise EvaluationError("toCharacterCode of an empty string")
    return ord(text[0])


@function("<any T> rstring toString(T value)", needs_types=True)
def to_string(type_: Type) -> Callable[[Any], str]:
    """The text of a value, as `println` prints it."""
    return literal_form(type_)


@function("rstring makeRStringLiteral(rstring str)", "rstring makeUStringLiteral(ustring str)")
def make_literal(text: str) -> str:
    """The string as SPL writes it: in quotes, with escapes; what is not ASCII is escaped too."""
    escaped = (c if c.isascii() else "".join(_unicode_escapes(c)) for c in string_literal(text))
    return "".join(escaped)


def _unicode_escapes(character: str) -> list[str]:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return [f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)]


@function("rstring interpretRStringLiteral(rstring str)", "ustring interpretUStringLiteral(rstring str)")
def interpret(text: str) -> str:
    """The string that a literal in quotes means."""
    try:
        return interpret_literal(text)
    except ValueError as error:
        raise EvaluationError(str(error)) from error
