r"""The one text form of every value: what `(rstring)` casts, `println` and the txt and csv formats write.

| type | text |
|---|---|
| boolean | `true`, `false` |
| integers | decimal digits |
| float32, float64 | at most 6 and 15 significant digits, as C++ streams print them: `0.1`, `1e+20`, `nan`, `-inf` |
| decimals | all digits, trailing zeros included: `1.50` |
| complex32, complex64 | `(real,imaginary)`, each as a float |
| rstring, ustring | the string itself on its own; inside another value, and in `println`, a literal: `"say \"hi\"\n"` |
| timestamp | `(seconds,nanoseconds,0)` |
| blob | hexadecimal digits: `00ff` |
| xml | as a string, with an `x` behind it |
| enum | the symbol |
| list, set, map | `[1,2]`, `{1,2}`, `{"a":1}` |
| tuple | `{id=1,name="x"}` |
| optional | `null`, or the value as a literal |

Example:
    >>> from penstock.ir.types import parse_type
    >>> text_form(parse_type("tuple<rstring name, list<float64> bids>"))(("x", [1.0, 0.25]))
    '{name="x",bids=[1,0.25]}'
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

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
    is_string,
)

Form = Callable[[Any], str]

ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\0": "\\0",
    "\t": "\\t",
    "\r": "\\r",
    "\n": "\\n",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}
"""The characters that a string literal writes as an escape of one letter."""

_SPECIAL = re.compile(r'[\\"]|[^ -~]')


@cache
def text_form(type_: Type) -> Form:
    """The function that prints values of a type, a string as itself.

    Example:
        >>> from penstock.ir.types import RSTRING, TIMESTAMP
        >>> text_form(RSTRING)('say "hi"')
        'say "hi"'
        >>> text_form(TIMESTAMP)(1_500_000_000)
        '(1,500000000,0)'
    """
    return str if is_string(type_) or type_ == XML else literal_form(type_)


@cache
def literal_form(type_: Type) -> Form:
    """The function that prints values of a type, a string as a literal.

    Example:
        >>> from penstock.ir.types import RSTRING
        >>> literal_form(RSTRING)('say "hi"')
        '"say \\\\"hi\\\\""'
    """
    match type_:
        case Primitive(name=name):
            return _PRIMITIVES.get(name, str)
        case EnumType():
            return str
        case OptionalType(inner=inner):
            return _optional(literal_form(inner))
        case ListType(element=element):
            return _bracketed("[", literal_form(element), "]")
        case SetType(element=element):
            bracketed, in_order = _bracketed("{", literal_form(element), "}"), ascending(element)
            return lambda value: bracketed(in_order(value))
        case MapType(key=key, value=value):
            return _map(literal_form(key), literal_form(value))
        case TupleType(attributes=attributes):
            return _tuple([(f"{a.name}=", literal_form(a.type)) for a in attributes])
    raise TypeError(f"{type_} has no text form")


def string_literal(text: str) -> str:
    r"""A string as SPL writes it: quoted, with escapes for what cannot be printed.

    Example:
        >>> print(string_literal('tab\there'))
        "tab\there"
    """
    if text.isalnum():
        return f'"{text}"'
    return f'"{_SPECIAL.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in ESCAPES:
        return ESCAPES[character]
    if character.isprintable():
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def _timestamp(value: int) -> str:
    seconds, nanoseconds = divmod(value, 1_000_000_000)
    return f"({seconds},{nanoseconds},0)"


_PRIMITIVES: dict[str, Form] = {
    "boolean": lambda value: "true" if value else "false",
    "float32": lambda value: f"{value:.6g}",
    "float64": lambda value: f"{value:.15g}",
    "complex32": lambda value: f"({value.real:.6g},{value.imag:.6g})",
    "complex64": lambda value: f"({value.real:.15g},{value.imag:.15g})",
    "rstring": string_literal,
    "ustring": string_literal,
    "timestamp": _timestamp,
    "blob": bytes.hex,
    "xml": lambda value: f"{string_literal(value)}x",
}


def _optional(inner: Form) -> Form:
    return lambda value: "null" if value is None else inner(value)


def _bracketed(opening: str, element: Form, closing: str) -> Form:
    return lambda value: f"{opening}{','.join(map(element, value))}{closing}"


def _map(key: Form, value: Form) -> Form:
    return lambda pairs: f"{{{','.join(f'{key(k)}:{value(v)}' for k, v in pairs.items())}}}"


def _tuple(parts: list[tuple[str, Form]]) -> Form:
    def form(value: tuple[Any, ...]) -> str:
        inside = ",".join([name + print_(v) for (name, print_), v in zip(parts, value, strict=True)])
        return f"{{{inside}}}"

    return form
