"""Reading values from the text that `text` prints.

Blanks around values and separators are allowed. A reader raises `ValueError` with the reason, for people to read.

Example:
    >>> from penstock.ir.types import parse_type
    >>> parse_form(parse_type("map<rstring, list<uint8>>"))('{"a": [1, 2], "b": []}')
    {'a': [1, 2], 'b': []}
    >>> parse_form(parse_type("uint8"))("300")
    Traceback (most recent call last):
    ValueError: 300 is out of range for uint8 (0 to 255)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from penstock.expr.values.scalars import (
    COMPLEX,
    STRING,
    TIMESTAMP,
    Parse,
    interpret_literal,
    parse_complex,
    parse_timestamp,
    parse_xml,
    scalar_parser,
)
from penstock.ir.types import (
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    is_complex,
    is_string,
)

Reader = Callable[[str, int], tuple[Any, int]]
"""Reads one value from a position on; gives the value and the position after it."""


@cache
def parse_form(type_: Type) -> Parse:
    """The function that reads values of a type; a string is the whole text, as it stands.

    Example:
        >>> from penstock.ir.types import BOOLEAN, RSTRING
        >>> parse_form(BOOLEAN)(" true "), parse_form(RSTRING)("true")
        (True, 'true')
    """
    if isinstance(type_, OptionalType):
        return partial(_parse_optional, parse_form(type_.inner), is_string(type_.inner))
    if is_string(type_):
        bound = _bound(type_)
        return str if bound is None else partial(_parse_bounded, bound)
    parse = scalar_parser(type_)
    return parse if parse is not None else parse_literal_form(type_)


@cache
def parse_literal_form(type_: Type) -> Parse:
    """The function that reads values of a type; a string is a literal.

    Example:
        >>> from penstock.ir.types import RSTRING
        >>> parse_literal_form(RSTRING)('"a\\\\tb"')
        'a\\tb'
    """
    read = _reader(type_)

    def parse(text: str) -> Any:
        value, position = read(text, 0)
        if text[position:].strip():
            raise ValueError(f"unexpected `{_excerpt(text, position)}` after a value of {type_}")
        return value

    return parse


def _bound(type_: Type) -> int | None:
    return getattr(type_, "bound", None)


def _parse_bounded(bound: int, text: str) -> str:
    return text[:bound]


def _parse_optional(parse: Parse, of_string: bool, text: str) -> Any:
    stripped = text.strip()
    if stripped == "null":
        return None
    return interpret_literal(stripped) if of_string and stripped.startswith('"') else parse(text)


_BLANKS = re.compile(r"\s*")
_PLAIN = re.compile(r"[^,:=\[\]{}()\"']*")
_NULL = re.compile(r"\s*null\b")


def _reader(type_: Type) -> Reader:
    match type_:
        case Primitive() if is_string(type_):
            return partial(_read_string, _bound(type_))
        case Primitive(name="timestamp"):
            return _read_timestamp
        case Primitive(name=name) if is_complex(type_):
            return partial(_read_complex, name)
        case Primitive(name="xml"):
            return _read_xml
        case OptionalType(inner=inner):
            return partial(_read_optional, _reader(inner))
        case ListType(element=element, bound=bound):
            return partial(_read_sequence, "[", "]", _reader(element), list, bound)
        case SetType(element=element, bound=bound):
            return partial(_read_sequence, "{", "}", _reader(element), set, bound)
        case MapType(key=key, value=value, bound=bound):
            return partial(_read_sequence, "{", "}", partial(_read_pair, _reader(key), _reader(value)), dict, bound)
        case TupleType(attributes=attributes):
            return partial(_read_tuple, [(a.name, _reader(a.type)) for a in attributes])
    parse = scalar_parser(type_)
    if parse is None:
        raise TypeError(f"{type_} has no text form")
    return partial(_read_plain, parse)


def _read_plain(parse: Parse, text: str, position: int) -> tuple[Any, int]:
    match = _PLAIN.match(text, position)
    assert match is not None
    return parse(match[0]), match.end()


def _read_string(bound: int | None, text: str, position: int) -> tuple[str, int]:
    match = STRING.match(text, _skip_blanks(text, position))
    if match is None:
        raise ValueError(f"expected a string in quotes, found `{_excerpt(text, position)}`")
    return interpret_literal(match[0])[:bound], match.end()


def _read_xml(text: str, position: int) -> tuple[str, int]:
    found, position = _read_string(None, text, position)
    return parse_xml(found), position + text.startswith("x", position)


def _read_timestamp(text: str, position: int) -> tuple[int, int]:
    match = TIMESTAMP.match(text, position)
    if match is None:
        raise ValueError(f"expected a timestamp (seconds,nanoseconds,machine), found `{_excerpt(text, position)}`")
    return parse_timestamp(match[0]), match.end()


def _read_complex(name: str, text: str, position: int) -> tuple[complex, int]:
    match = COMPLEX.match(text, position)
    return (
        _read_plain(partial(parse_complex, name), text, position)
        if match is None
        else (
            parse_complex(name, match[0]),
            match.end(),
        )
    )


def _read_optional(read: Reader, text: str, position: int) -> tuple[Any, int]:
    match = _NULL.match(text, position)
    return (None, match.end()) if match else read(text, position)


def _read_pair(key: Reader, value: Reader, text: str, position: int) -> tuple[tuple[Any, Any], int]:
    found_key, position = key(text, position)
    found_value, position = value(text, _expect(":", text, position))
    return (found_key, found_value), position


def _read_sequence(
    opening: str,
    closing: str,
    element: Reader,
    collect: Callable[[list[Any]], Any],
    bound: int | None,
    text: str,
    position: int,
) -> tuple[Any, int]:
    found: list[Any] = []
    position = _skip_blanks(text, _expect(opening, text, position))
    while text[position : position + 1] != closing:
        if found:
            position = _expect(",", text, position)
        value, position = element(text, position)
        found.append(value)
        position = _skip_blanks(text, position)
    if bound is not None and len(found) > bound:
        raise ValueError(f"found {len(found)} elements where at most {bound} are allowed")
    return collect(found), position + 1


def _read_tuple(readers: list[tuple[str, Reader]], text: str, position: int) -> tuple[tuple[Any, ...], int]:
    found = []
    position = _expect("{", text, position)
    for index, (name, read) in enumerate(readers):
        if index:
            position = _expect(",", text, position)
        value, position = read(text, _expect("=", text, _expect(name, text, position)))
        found.append(value)
    return tuple(found), _expect("}", text, position)


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    assert match is not None
    return match.end()


def _expect(token: str, text: str, position: int) -> int:
    position = _skip_blanks(text, position)
    if not text.startswith(token, position):
        raise ValueError(f"expected `{token}`, found `{_excerpt(text, position)}`")
    return position + len(token)


def _excerpt(text: str, position: int) -> str:
    rest = text[position : position + 20].strip()
    return rest if rest else "the end"
