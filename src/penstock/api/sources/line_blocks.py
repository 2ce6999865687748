"""Blocks of lines with times: what a user's `lines` says of all of them at once, or `line` of each.

For every block both give the same tuples and times. The first is taken where it is certain: every line has a value in
every column, of the type of its attribute, and a time that can be counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from penstock.api.rows import conformed, conformer
from penstock.api.sources.timed_line import MOST_SECONDS, Line, ReadsLines, check_order, read_line
from penstock.expr.environment import Tuple
from penstock.expr.values import batch_from_rows
from penstock.ir.arrow import arrow_schema, arrow_type
from penstock.ir.types import Primitive, Schema, Type, is_decimal, parse_schema
from penstock.toolkit.core.column_source import Array
from penstock.toolkit.formats import Malformed, Settings
from penstock.toolkit.formats.columns_line import fast_reader


class ReadsBlocks(ReadsLines, Protocol):
    """A parser of the lines of a file, one by one or many at once."""

    def lines(self, texts: pa.StringArray, file: Path) -> tuple[Any, Mapping[str, Any]] | None:
        """The times and the columns of many lines, or None."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LineBlock:
    """The lines of a block.

    Attributes:
        batch: Their tuples.
        times_ns: Of each tuple, ascending.
        malformed: The lines that are none.
    """

    batch: pa.RecordBatch
    times_ns: Array
    malformed: tuple[Malformed, ...] = ()


def read_block(source: ReadsBlocks, block: bytes, file: Path, schema: Schema, before_ns: int) -> LineBlock:
    """The lines of a block.

    Args:
        source: Says what lines mean.
        block: Whole lines; the end of the last one may be missing.
        file: Where they stand.
        schema: Of the tuples.
        before_ns: The time of the line before.

    Raises:
        UserError: Time goes back.
    """
    found = _at_once(source, block, file, schema, before_ns)
    return found or _one_by_one(source, block, file, schema, before_ns)


def _at_once(source: ReadsBlocks, block: bytes, file: Path, schema: Schema, before_ns: int) -> LineBlock | None:
    try:
        texts = text_lines(block)
        found = source.lines(texts, file)
        if found is None:
            return None
        seconds = np.asarray(found[0], np.float64)
        columns = [_column(found[1][name], type_, len(texts)) for name, type_ in _attributes(schema, found[1])]
    except ValueError:
        return None
    if len(seconds) != len(texts) or not (np.abs(seconds) < MOST_SECONDS).all():
        return None
    times = np.maximum(np.rint(seconds * 1e9), 0).astype(np.int64)
    if (np.diff(times, prepend=before_ns) < 0).any():
        return None
    return LineBlock(batch=pa.RecordBatch.from_arrays(columns, schema=arrow_schema(schema)), times_ns=times)


_read_lines = fast_reader(parse_schema("rstring line"), Settings(format="line"))


def text_lines(block: bytes) -> pa.StringArray:
    """The lines of a block without their ends.

    Raises:
        ValueError: They are not UTF-8.

    Example:
        >>> text_lines(b"a\\r\\n\\nb").to_pylist()
        ['a', '', 'b']
    """
    assert _read_lines is not None
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").removesuffix(b"\r")
    batch = _read_lines(block)
    if batch is None:
        raise ValueError("the lines are not UTF-8")
    return batch.column(0)


def _attributes(schema: Schema, given: Mapping[str, Any]) -> list[tuple[str, Type]]:
    """The attributes of a schema, if these are what is given."""
    if {*given} != {*schema.names}:
        raise ValueError("other columns than attributes")
    return [(a.name, a.type) for a in schema.attributes]


def _column(given: Any, type_: Type, rows: int) -> pa.Array:
    """A column as the schema has it.

    Raises:
        ValueError: It is not certain that each value is what the schema makes of it.
    """
    column = given.combine_chunks() if isinstance(given, pa.ChunkedArray) else pa.array(given)
    wanted = arrow_type(type_)
    is_plain = isinstance(type_, Primitive) and type_.bound is None and not is_decimal(type_)
    is_alike = column.type == wanted or (pa.types.is_integer(column.type) and pa.types.is_integer(wanted))
    if len(column) != rows or column.null_count or not is_plain or not is_alike:
        raise ValueError("not certain")
    return column.cast(wanted)


def _one_by_one(source: ReadsBlocks, block: bytes, file: Path, schema: Schema, before_ns: int) -> LineBlock:
    conform = conformer(schema)
    tuples: list[Tuple] = []
    times: list[int] = []
    malformed: list[Malformed] = []
    for raw in block.removesuffix(b"\n").split(b"\n") if block else ():
        found = read_line(source, raw, file)
        if isinstance(found, Line):
            check_order(file, before_ns, found.time_ns)
            before_ns = found.time_ns
            made = conformed(conform, found.value)
            if isinstance(made, Malformed):
                malformed.append(made)
            else:
                tuples.append(made)
                times.append(before_ns)
        elif found is not None:
            malformed.append(found)
    batch = batch_from_rows(tuples, schema)
    return LineBlock(batch=batch, times_ns=np.array(times, np.int64), malformed=tuple(malformed))
