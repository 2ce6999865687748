"""The text of many tuples at once: what the writers of `formats` give tuple by tuple, made from Arrow columns.

Each column becomes an array of strings, and the arrays are joined row by row. The bytes of the joined array, one row
behind the other, are the text of the file. A column of a type that Arrow does not print as we do is printed value by
value; the others cost a fraction of that.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> schema = parse_schema("rstring name, float64 x, boolean ok")
    >>> batch = pa.record_batch({"name": ["a", 'say "b"'], "x": [0.5, 1e30], "ok": [True, False]})
    >>> print(text_of(batch, schema, Settings()).decode(), end="")
    "a",0.5,true
    "say \\"b\\"",1e+30,false
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.values import from_arrow_array, literal_form, rows_from_batch
from penstock.ir.types import BOOLEAN, FLOAT64, EnumType, Primitive, Schema, Type, is_integer, is_string
from penstock.toolkit.formats import Settings
from penstock.toolkit.formats.json_text import json_writer

FORMATS = ("csv", "txt", "line", "json")
"""The formats that can be written column by column."""

_PLAIN = r"^[A-Za-z0-9 _.,:;+*/()\[\]{}<>=@#$%&!?|^~-]*$"
"""Strings that a literal holds as they are."""


def is_covered(settings: Settings) -> bool:
    """Whether tuples can be written column by column in a format."""
    return (
        settings.format in FORMATS
        and settings.encoding == "utf-8"
        and not settings.has_delay_field
        and not settings.has_punctuations
    )


def text_of(batch: pa.RecordBatch, schema: Schema, settings: Settings) -> bytes:
    """The text of the tuples of a batch, exactly as the format's writer gives it for each of them."""
    lines = lines_of(batch, schema, settings)
    if not len(lines):
        return b""
    first, last = lines.offset, lines.offset + len(lines)
    offsets = np.frombuffer(lines.buffers()[1], np.int32)
    return bytes(lines.buffers()[2][int(offsets[first]) : int(offsets[last])])


def lines_of(batch: pa.RecordBatch, schema: Schema, settings: Settings) -> pa.StringArray:
    """The text of each tuple, its line end included."""
    columns = [batch.column(i) for i in range(len(schema.attributes))]
    types = [a.type for a in schema.attributes]
    if settings.format == "line":
        return _joined([columns[0], settings.eol_marker])
    if settings.format == "json":
        write = json_writer(schema)
        return pa.array([write(row) + "\n" for row in rows_from_batch(batch, schema)], pa.string())
    if settings.format == "txt":
        return _txt(columns, types, schema.names, batch.num_rows)
    fields = [_field(c, t, settings.quotes_strings) for c, t in zip(columns, types, strict=True)]
    if not fields:
        return pa.array(["\n"] * batch.num_rows, pa.string())
    return _joined([_joined(fields, settings.separator), "\n"])


def _txt(columns: Sequence[pa.Array], types: Sequence[Type], names: Sequence[str], rows: int) -> pa.StringArray:
    if not columns:
        return pa.array(["{}\n"] * rows, pa.string())
    parts: list[pa.Array | str] = []
    for i, (column, type_, name) in enumerate(zip(columns, types, names, strict=True)):
        parts += [f"{',' if i else '{'}{name}=", literals(column, type_)]
    return _joined([*parts, "}\n"])


def _field(column: pa.Array, type_: Type, quotes_strings: bool) -> pa.StringArray:
    return column if is_string(type_) and not quotes_strings else literals(column, type_)


def literals(column: pa.Array, type_: Type) -> pa.StringArray:
    """The literal forms of the values of a column.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> literals(pa.array([1_500_000_000]), parse_type("timestamp")).to_pylist()
        ['(1,500000000,0)']
    """
    if column.null_count == 0:
        if is_integer(type_) or type_ == BOOLEAN:
            return column.cast(pa.string())
        if isinstance(type_, EnumType):
            return column
        if is_string(type_):
            return _quoted(column, type_)
        if type_ == Primitive("timestamp"):
            return _timestamps(column)
        if type_ == FLOAT64:
            return _floats(column)
    return _by_value(column, type_)


def texts(column: pa.Array, type_: Type) -> pa.StringArray:
    """The text forms of the values of a column: literals, but strings as they are."""
    return column if is_string(type_) and column.null_count == 0 else literals(column, type_)


def _quoted(column: pa.StringArray, type_: Type) -> pa.StringArray:
    if pc.all(pc.match_substring_regex(column, _PLAIN)).as_py() is not False:
        return _joined(['"', column, '"'])
    return _by_value(column, type_)


def _timestamps(column: pa.Int64Array) -> pa.StringArray:
    seconds, nanoseconds = np.divmod(column.to_numpy(zero_copy_only=False), 1_000_000_000)
    return _joined(["(", pa.array(seconds).cast(pa.string()), ",", pa.array(nanoseconds).cast(pa.string()), ",0)"])


def _floats(column: pa.DoubleArray) -> pa.StringArray:
    """Arrow prints the fewest digits that give the value back; where these are at most 15, so does `%.15g`."""
    printed = column.cast(pa.string())
    size = np.abs(column.to_numpy(zero_copy_only=False))
    is_short = pc.less_equal(pc.binary_length(printed), 15).to_numpy(zero_copy_only=False)
    alike = is_short & (size >= 1e-4) & (size < 1e10)
    if alike.all():
        return printed
    return pc.replace_with_mask(printed, ~alike, _by_value(column.filter(pa.array(~alike)), FLOAT64))


def _by_value(column: pa.Array, type_: Type) -> pa.StringArray:
    form = literal_form(type_)
    if is_string(type_):
        # Strings come again and again; each distinct one is printed once.
        distinct = column.dictionary_encode()
        printed = pa.array([form(v) for v in distinct.dictionary.to_pylist()], pa.string())
        return printed.take(distinct.indices)
    return pa.array([form(value) for value in from_arrow_array(column, type_)], pa.string())


def _joined(parts: Sequence[pa.Array | str], separator: str = "") -> pa.StringArray:
    return pc.binary_join_element_wise(*parts, separator)
