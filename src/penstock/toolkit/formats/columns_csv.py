"""Comma separated values, all of a block at once, by Arrow's reader.

Introduction:
    Arrow reads some five million csv values a second on one core, and most of what it reads means the same to us. This
    module knows where it does not, and gives up there.

When it does not apply:
    `fast_reader` gives None for a schema with composite types, timestamps or optional strings. For a block it gives
    None where it has lines that start with a blank or a `#`, line ends that are not the same all over, escapes, quotes
    that do not stand around a whole string, blanks before a string that is or may be quoted, numbers that Arrow takes
    and we do not (`0x1F`, `nan(1)`) or the other way round (`+5`), and where anything is malformed.

Algorithm:
    A handful of searches for bytes, which run at the speed of memory; then Arrow's parser with the types of the
    schema. Decimals and blobs, which it does not know as we write them, it splits, and they are read value by value.
    Where a block has quotes, their positions are checked with numpy: each opening one stands behind a
    separator or a line end, each closing one before one, no line end in between, and only in columns of strings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from penstock.expr.values import default_value, to_arrow_array
from penstock.ir.arrow import arrow_schema
from penstock.ir.types import (
    BLOB,
    BOOLEAN,
    FLOAT32,
    FLOAT64,
    EnumType,
    OptionalType,
    Primitive,
    Schema,
    Type,
    is_decimal,
    is_integer,
    is_string,
)
from penstock.toolkit.formats.csv import field_reader, has_plain_text
from penstock.toolkit.formats.items import Settings

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANKS = " \t"
_MOST_BYTES = 2**31 - 1


def fast_reader(schema: Schema, settings: Settings) -> Callable[[bytes], pa.RecordBatch | None] | None:
    """A function from a block to its tuples; None for a schema that Arrow cannot read."""
    separator = settings.separator
    if not all(_is_plain(a.type) for a in schema.attributes) or not schema.attributes or not _is_safe(separator):
        return None
    return _CsvBlocks(schema, settings).read


def ends_at_line_end(block: bytes, schema: Schema, settings: Settings) -> bool:
    """Whether it is certain that no record of a block goes on after the block's last line."""
    types = [_inner(a.type) for a in schema.attributes]
    if not all(map(has_plain_text, types)):
        return re.search(rb"[\"'\[({]", block) is None
    if not any(map(is_string, types)):
        return True
    return _is_safe(settings.separator) and _quotes(block, settings.separator.encode()) is not None


class _CsvBlocks:
    """Reads blocks of one schema."""

    def __init__(self, schema: Schema, settings: Settings) -> None:
        self._types = [a.type for a in schema.attributes]
        self._fields = arrow_schema(schema)
        self._separator = settings.separator.encode()
        self._defaults = settings.defaults or tuple(default_value(t) for t in self._types)
        inner = [_inner(t) for t in self._types]
        self._has_integers = any(map(is_integer, inner))
        self._has_floats = any(t in (FLOAT32, FLOAT64) for t in inner)
        self._is_string = np.array([is_string(t) for t in inner])
        self._read_csv = _arrow_reader(inner, settings.separator)

    def read(self, block: bytes) -> pa.RecordBatch | None:
        """The tuples of a block, or None."""
        block = block.replace(b"\r\n", b"\n") if b"\r" in block else block
        quotes = None if self._has_oddities(block) else _quotes(block, self._separator)
        if quotes is None:
            return None
        has_blanks = any(_stands_behind(self._separator, blank, block) for blank in (b" ", b"\t"))
        if len(quotes) and (has_blanks or not self._are_in_strings(block, quotes)):
            return None
        try:
            table = self._read_csv(block)
            columns = [self._column(table.column(i), i, block, has_blanks) for i in range(len(self._types))]
            return pa.RecordBatch.from_arrays([pa.concat_arrays(c.chunks) for c in columns], schema=self._fields)
        except (pa.ArrowInvalid, _Unsure):
            return None

    def _has_oddities(self, block: bytes) -> bool:
        """Whether the block has anything that Arrow and we may read in different ways."""
        return (
            len(block) > _MOST_BYTES
            or b"\r" in block
            or b"\0" in block
            or block.startswith(_BYTE_ORDER_MARK)
            or block[:1] in (b" ", b"\t", b"#")
            or any(_stands_behind(b"\n", first, block) for first in (b" ", b"\t", b"#"))
            or (self._has_integers and any(_stands_behind(b"0", x, block) for x in (b"x", b"X")))
            or (self._has_floats and b"(" in block)
        )

    def _are_in_strings(self, block: bytes, quotes: Any) -> bool:
        """Whether all quotes stand in columns of strings; a block of other than so many columns is not looked at."""
        if self._is_string.all():
            return True
        data = np.frombuffer(block, np.uint8)
        separators = np.flatnonzero(data == self._separator[0])
        opening, closing = quotes[0::2], quotes[1::2]
        before = np.searchsorted(opening, separators)
        separators = separators[before == np.searchsorted(closing, separators)]
        ends = np.flatnonzero(data == ord("\n"))
        row = np.searchsorted(ends, opening)
        column = np.searchsorted(separators, opening) - row * (len(self._types) - 1)
        if b"\n\n" in block or ((column < 0) | (column >= len(self._types))).any():
            return False
        return bool(self._is_string[column].all())

    def _column(self, column: pa.ChunkedArray, i: int, block: bytes, has_blanks: bool) -> pa.ChunkedArray:
        """The column as the schema has it: blanks before strings skipped, defaults in empty fields."""
        type_, default = self._types[i], self._defaults[i]
        if _is_read_by_value(_inner(type_)):
            return self._by_value(column, type_, default)
        if not _is_text(_inner(type_)):
            return self._numbers(column, type_, default, block)
        column = pc.utf8_ltrim(column, _BLANKS) if has_blanks else column
        if isinstance(type_, EnumType):
            column = pc.utf8_trim(column, _BLANKS)
            if not pc.all(pc.is_in(column, pa.array([*type_.symbols], pa.string()))).as_py():
                raise _Unsure
        elif default != "" and pc.any(pc.equal(column, "")).as_py():
            raise _Unsure
        bound = getattr(type_, "bound", None)
        return column if bound is None else pc.utf8_slice_codeunits(column, 0, bound)

    def _by_value(self, column: pa.ChunkedArray, type_: Type, default: Any) -> pa.ChunkedArray:
        """The values of a type that Arrow does not know as we write it."""
        read = field_reader(type_, default)
        try:
            return pa.chunked_array([to_arrow_array([read(field) for field in column.to_pylist()], type_)])
        except ValueError:
            raise _Unsure from None

    def _numbers(self, column: pa.ChunkedArray, type_: Type, default: Any, block: bytes) -> pa.ChunkedArray:
        if column.null_count:
            # An empty field and the word null are one to Arrow, but only an optional value may be null.
            if isinstance(type_, OptionalType) != (default is None) or (b"null" in block and default is not None):
                raise _Unsure
            column = column if default is None else pc.fill_null(column, pa.scalar(default, column.type))
        if _inner(type_) != FLOAT32:
            return column
        return pa.chunked_array([_rounded(chunk) for chunk in column.chunks], pa.float32())


class _Unsure(Exception):
    """Something is to be looked at record by record."""


def _rounded(chunk: pa.Array) -> pa.Array:
    with np.errstate(all="ignore"):
        values = chunk.to_numpy(zero_copy_only=False).astype(np.float32)
    return pa.array(values, pa.float32(), mask=np.asarray(chunk.is_null()))


def _stands_behind(first: bytes, second: bytes, block: bytes) -> bool:
    """Whether one byte stands behind another one anywhere; where the second is rare, this is fast."""
    return second in block and first + second in block


def _quotes(block: bytes, separator: bytes) -> Any | None:
    """The positions of the double quotes, in pairs around whole fields of one line; None if any stands elsewhere."""
    ends = re.escape(separator) + rb"\n"
    if b"'" in block and re.search(rb"(?:^|[" + ends + rb" \t])'", block):
        return None
    if b'"' not in block:
        return np.zeros(0, np.int64)
    if b"\\" in block:
        return None
    data = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(data == ord('"'))
    if len(quotes) % 2 or b"\r" in block:
        return None
    opening, closing = quotes[0::2], quotes[1::2]
    before, behind = data[opening - 1], data[np.minimum(closing + 1, len(data) - 1)]
    is_begin = (opening == 0) | (before == separator[0]) | (before == ord("\n"))
    is_end = (closing == len(data) - 1) | (behind == separator[0]) | (behind == ord("\n"))
    lines = np.flatnonzero(data == ord("\n"))
    is_one_line = np.searchsorted(lines, opening) == np.searchsorted(lines, closing)
    return quotes if bool((is_begin & is_end & is_one_line).all()) else None


def _arrow_reader(types: list[Type], separator: str) -> Callable[[bytes], pa.Table]:
    names = [str(i) for i in range(len(types))]
    parse = csv.ParseOptions(delimiter=separator, quote_char='"', double_quote=False, escape_char=False)
    convert = csv.ConvertOptions(
        column_types=dict(zip(names, map(_read_as, types), strict=True)),
        null_values=["", "null"],
        true_values=["true"],
        false_values=["false"],
        strings_can_be_null=False,
    )

    def read(block: bytes) -> pa.Table:
        options = csv.ReadOptions(use_threads=False, column_names=names, block_size=max(len(block), 1))
        if not block:
            return pa.table({n: pa.array([], _read_as(t)) for n, t in zip(names, types, strict=True)})
        return csv.read_csv(pa.BufferReader(block), options, parse, convert)

    return read


def _read_as(type_: Type) -> pa.DataType:
    if _is_text(type_) or _is_read_by_value(type_):
        return pa.string()
    # A float32 is the float64 that the text says, rounded; Arrow would round the text once.
    return pa.float64() if type_ == FLOAT32 else pa.type_for_alias("bool" if type_ == BOOLEAN else str(type_))


def _is_safe(separator: str) -> bool:
    """Whether a separator is one byte that means nothing else."""
    return (
        len(separator) == 1 and separator.isascii() and separator not in "\"'\\\n\r#\0 \t" and separator.isprintable()
    )


def _is_plain(type_: Type) -> bool:
    """Whether values of a type stand in one field without brackets, and Arrow knows them."""
    if isinstance(type_, OptionalType):
        return _is_plain(type_.inner) and not _is_text(type_.inner)
    if isinstance(type_, Primitive):
        numbers = is_integer(type_) or type_ in (BOOLEAN, FLOAT32, FLOAT64)
        return is_string(type_) or numbers or _is_read_by_value(type_)
    return isinstance(type_, EnumType)


def _is_read_by_value(type_: Type) -> bool:
    return is_decimal(type_) or type_ == BLOB


def _is_text(type_: Type) -> bool:
    return is_string(type_) or isinstance(type_, EnumType)


def _inner(type_: Type) -> Type:
    return type_.inner if isinstance(type_, OptionalType) else type_
