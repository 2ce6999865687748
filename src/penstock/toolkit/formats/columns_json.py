"""JSON lines, all of a block at once, by Arrow's reader.

It gives up on a block in which a line is not exactly one object, and on whatever Arrow refuses; the exact reader then
says what is malformed. Only schemas of numbers, booleans and strings are read so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json

from penstock.expr.values import default_value
from penstock.ir.arrow import arrow_schema, arrow_type
from penstock.ir.types import (
    BOOLEAN,
    FLOAT32,
    FLOAT64,
    OptionalType,
    Primitive,
    Schema,
    Type,
    is_integer,
    is_string,
)
from penstock.toolkit.formats.columns_line import is_text
from penstock.toolkit.formats.items import Settings

# Arrow keeps the sign of an integer zero and takes words for numbers.
_ODD_NUMBER = re.compile(rb"-0[,}\s]|NaN|Inf")
_MOST_BYTES = 2**31 - 1


def fast_reader(schema: Schema, settings: Settings) -> Callable[[bytes], pa.RecordBatch | None] | None:
    """A function from a block to its tuples; None for a schema that Arrow cannot read.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> fast_reader(parse_schema("int32 x"), Settings(format="json"))(b'{"x":1}\\n{"y":2}\\n').to_pydict()
        {'x': [1, 0]}
    """
    if not schema.attributes or not all(_is_plain(a.type) for a in schema.attributes):
        return None
    fields = arrow_schema(schema)
    read_as = pa.schema([(a.name, _read_as(a.type)) for a in schema.attributes])
    parse = json.ParseOptions(explicit_schema=read_as, unexpected_field_behavior="ignore", newlines_in_values=False)

    def read(block: bytes) -> pa.RecordBatch | None:
        if not _has_an_object_a_line(block):
            return None
        options = json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        try:
            table = json.read_json(pa.BufferReader(block), read_options=options, parse_options=parse)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        if table.num_rows != _lines(block):
            return None
        columns = [_column(table.column(a.name), a.type) for a in schema.attributes]
        return pa.RecordBatch.from_arrays(columns, schema=fields)

    return read


def _has_an_object_a_line(block: bytes) -> bool:
    """Whether every line starts and ends as an object does; then none goes on in the next line."""
    if not block or len(block) > _MOST_BYTES or not is_text(block) or _ODD_NUMBER.search(block):
        return False
    lines, last = _lines(block), block[-1:] != b"\n"
    begins = block.count(b"\n{") + (block[:1] == b"{")
    ends = block.count(b"}\n") + (last and block[-1:] == b"}")
    return begins == ends == lines and b"\r" not in block and b"\0" not in block


def _lines(block: bytes) -> int:
    return block.count(b"\n") + (block[-1:] != b"\n")


def _column(column: pa.ChunkedArray, type_: Type) -> pa.Array:
    default: Any = default_value(type_)
    if default is not None and column.null_count:
        column = pc.fill_null(column, pa.scalar(default, column.type))
    array = pa.concat_arrays(column.chunks)
    if array.type == arrow_type(type_):
        return array
    with np.errstate(all="ignore"):
        values = array.to_numpy(zero_copy_only=False).astype(np.float32)
    return pa.array(values, pa.float32(), mask=np.asarray(array.is_null()))


def _read_as(type_: Type) -> pa.DataType:
    found = arrow_type(type_)
    # A float32 is the float64 that the text says, rounded.
    return pa.float64() if found == pa.float32() else found


def _is_plain(type_: Type) -> bool:
    if isinstance(type_, OptionalType):
        return _is_plain(type_.inner)
    if not isinstance(type_, Primitive):
        return False
    if is_string(type_):
        return type_.bound is None
    return is_integer(type_) or type_ in (BOOLEAN, FLOAT32, FLOAT64)
