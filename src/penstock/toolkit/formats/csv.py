r"""Comma separated values, as SPL writes them.

One tuple a line. A string may stand without quotes if it has no separator in it; blanks before it are skipped, those
behind it belong to it. Quotes are double or single and escapes inside them are those of SPL literals (`\"`, not `""`).
Values of composite types are SPL literals, without quotes around them; separators inside them do not count. An empty
field is the attribute's default. Blank lines and lines that start with `#` are skipped.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> parse = row_parser(parse_schema("rstring name, uint32 age, list<int32> l"), Settings())
    >>> parse('"Mary, and co.", 35, [1,2]')
    ('Mary, and co.', 35, [1, 2])
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.expr.environment import Tuple
from penstock.expr.values import default_value, integer_range, interpret_literal, literal_form, parse_form
from penstock.ir.types import COMPLEXES, FLOAT64, OptionalType, Primitive, Schema, Type, is_integer, is_string
from penstock.toolkit.formats.items import Settings
from penstock.toolkit.formats.lines import Unclosed

_SPECIAL = re.compile(r"[\"'\[({]")
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.DOTALL)
_BLANKS = re.compile(r"[ \t]*")

Parse = Callable[[str], Tuple]


def row_parser(schema: Schema, settings: Settings) -> Parse:
    """A function that reads one record; it raises `ValueError` with the reason."""
    separator, count, ignores_extra = settings.separator, len(schema.attributes), settings.ignores_extra
    defaults = settings.defaults or tuple(default_value(a.type) for a in schema.attributes)
    readers = [field_reader(a.type, d) for a, d in zip(schema.attributes, defaults, strict=True)]
    types = [a.type for a in schema.attributes]

    def parse(line: str) -> Tuple:
        fields = line.split(separator) if _SPECIAL.search(line) is None else _split(line, separator, types)
        if len(fields) != count and not (ignores_extra and len(fields) > count):
            raise ValueError(f"expected {count} values, found {len(fields)}")
        try:
            return tuple([read(field) for read, field in zip(readers, fields, strict=False)])
        except ValueError:
            raise ValueError(_explain(schema, readers, fields)) from None

    return parse


def _explain(schema: Schema, readers: list[Callable[[str], Any]], fields: list[str]) -> str:
    for attribute, read, field in zip(schema.attributes, readers, fields, strict=False):
        try:
            read(field)
        except ValueError as error:
            return f"attribute `{attribute.name}`: {error}"
    raise AssertionError("a field failed and then did not")


def field_reader(type_: Type, default: Any) -> Callable[[str], Any]:
    """A function that reads one field; it raises `ValueError` with the reason.

    Example:
        >>> field_reader(FLOAT64, 0.5)(" 2 "), field_reader(FLOAT64, 0.5)("")
        (2.0, 0.5)
    """
    if is_string(type_):
        return _string_reader(type_, default)
    parse = parse_form(type_)

    def read(field: str) -> Any:
        field = field.strip(" \t")
        return parse(field) if field else default

    if isinstance(type_, Primitive) and is_integer(type_):
        return _integer_reader(type_, read)
    return _float_reader(read) if type_ == FLOAT64 else read


def _string_reader(type_: Type, default: str) -> Callable[[str], str]:
    bound = type_.bound if isinstance(type_, Primitive) else None

    def read(field: str) -> str:
        field = field.lstrip(" \t")
        if not field:
            return default
        return (interpret_literal(field.rstrip(" \t")) if field[0] in "\"'" else field)[:bound]

    return read


# Most fields of a number are plain; `read`, which knows blanks, defaults and errors, is asked for the others only.


def _integer_reader(type_: Primitive, read: Callable[[str], Any]) -> Callable[[str], Any]:
    greatest = integer_range(type_)[1]

    def read_digits(field: str) -> Any:
        if field.isdecimal() and field.isascii() and (value := int(field)) <= greatest:
            return value
        return read(field)

    return read_digits


def _float_reader(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def read_plain(field: str) -> Any:
        if "_" not in field and field.isascii():
            try:
                return float(field)
            except ValueError:
                return read(field)
        return read(field)

    return read_plain


def _split(line: str, separator: str, types: list[Type]) -> list[str]:
    """The fields of a line that has quotes or brackets in it; fields beyond the schema are plain."""
    fields: list[str] = []
    position = 0
    while True:
        type_ = types[len(fields)] if len(fields) < len(types) else None
        end = field_end(line, position, separator, type_)
        fields.append(line[position:end])
        if end == len(line):
            return fields
        position = end + 1


def has_plain_text(type_: Type) -> bool:
    """Whether the text of a value has no brackets, which may hold separators and line ends; strings have quotes."""
    return isinstance(type_, Primitive) and type_.name not in ("timestamp", "xml", *COMPLEXES)


def field_end(line: str, start: int, separator: str, type_: Type | None) -> int:
    """The position of the separator behind the field that starts at a position, or the line's end.

    Raises:
        ValueError: A quote or a bracket is not closed, or something follows a quoted string.
    """
    inner = type_.inner if isinstance(type_, OptionalType) else type_
    if inner is not None and is_string(inner):
        return _string_end(line, start, separator)
    if inner is None or has_plain_text(inner):
        return _find(line, separator, start)
    return _composite_end(line, start, separator)


def _find(line: str, separator: str, start: int) -> int:
    end = line.find(separator, start)
    return len(line) if end < 0 else end


def _string_end(line: str, start: int, separator: str) -> int:
    opening = _skip_blanks(line, start)
    if line[opening : opening + 1] not in ('"', "'"):
        return _find(line, separator, start)
    quoted = _QUOTED.match(line, opening)
    if quoted is None:
        raise Unclosed("a quote is not closed")
    end = _skip_blanks(line, quoted.end())
    if end < len(line) and line[end] != separator:
        raise ValueError(f"expected `{separator}` after {quoted[0]}, found `{line[end]}`")
    return end


def _composite_end(line: str, start: int, separator: str) -> int:
    depth, position = 0, start
    while position < len(line):
        character = line[position]
        if character == separator and depth == 0:
            return position
        if character in "\"'":
            quoted = _QUOTED.match(line, position)
            if quoted is None:
                raise Unclosed("a quote is not closed")
            position = quoted.end()
            continue
        depth += (character in "[({") - (character in "])}")
        position += 1
    if depth > 0:
        raise Unclosed("a bracket is not closed")
    return position


def _skip_blanks(line: str, position: int) -> int:
    match = _BLANKS.match(line, position)
    return position if match is None else match.end()


def row_writer(schema: Schema, settings: Settings) -> Callable[[Tuple], str]:
    """A function that writes one tuple as a line without its end.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> row_writer(parse_schema("rstring name, float64 x"), Settings())(("a", 0.5))
        '"a",0.5'
    """
    forms = [_field_writer(a.type, settings.quotes_strings) for a in schema.attributes]
    separator = settings.separator

    def write(values: Tuple) -> str:
        return separator.join([form(value) for form, value in zip(forms, values, strict=True)])

    return write


def _field_writer(type_: Type, quotes_strings: bool) -> Callable[[Any], str]:
    return str if is_string(type_) and not quotes_strings else literal_form(type_)
