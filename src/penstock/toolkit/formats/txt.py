"""Tuple literals, one a line: `{name="John",age=40}`. Blank lines and lines that start with `#` are skipped.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> parse = row_parser(parse_schema("rstring name, uint32 age"))
    >>> parse('{name="John", age=40}')
    ('John', 40)
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.expr.environment import Tuple
from penstock.expr.values import literal_form, parse_literal_form
from penstock.ir.types import Schema
from penstock.toolkit.formats.lines import Unclosed, is_closed


def row_parser(schema: Schema) -> Callable[[str], Tuple]:
    """A function that reads one record; it raises `ValueError` with the reason."""
    parse = parse_literal_form(schema)

    def parse_row(line: str) -> Tuple:
        try:
            row: Tuple = parse(line)
            return row
        except ValueError as error:
            if not is_closed(line):
                raise Unclosed("a quote or a bracket is not closed") from None
            raise error

    return parse_row


def row_writer(schema: Schema) -> Callable[[Tuple], str]:
    """A function that writes one tuple as a line without its end."""
    return literal_form(schema)
