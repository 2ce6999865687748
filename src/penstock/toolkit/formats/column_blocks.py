"""From bytes to columns: blocks of whole records read at once, tens of times faster than one by one.

Introduction:
    `reader` reads a record at a time and defines what every format means. Most files are plain, though: no blanks, no
    escapes, nothing malformed. A block of such a file is read by Arrow in one call.

Formulation:
    `block_reader(schema, settings)` gives a function from a block to `Records`: the tuples as a record batch, and the
    malformed records. For every block it gives what `reader` gives for the same bytes.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> read = block_reader(parse_schema("rstring name, int32 age"), Settings())
    >>> found = read(b"Ada,36\\nBob,x\\n")
    >>> found.batch.to_pylist(), found.malformed[0].reason
    ([{'name': 'Ada', 'age': 36}], 'attribute `age`: `x` is not an integer')

When it does not apply:
    Markers between records belong to the order of the stream and not to a block: `can_read_blocks` says no. Delays
    before records are read in csv only, as one more column.

Algorithm:
    The fast reader of the format looks at the block. If there is anything in it of which it is not sure that Arrow
    reads it as we do, it gives up, and `reader` reads the block.

Preserves:
    The values, their order, and the malformed records in their order.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.expr.values import batch_from_rows, default_value
from penstock.ir.arrow import arrow_schema
from penstock.ir.types import FLOAT64, Schema, TupleType, TypedName
from penstock.toolkit.core.runtime import Wait
from penstock.toolkit.formats import columns_csv, columns_json, columns_line
from penstock.toolkit.formats.items import Item, Malformed, Pause, Settings
from penstock.toolkit.formats.reading import Read, reader

_MOST_SECONDS = 9e9
"""The time of an application is counted in nanoseconds of 64 bits."""

Array = Any
"""A numpy array."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """The records of a block.

    Attributes:
        batch: The tuples, in order.
        malformed: The records that do not fit the schema, in order.
        delays_ns: The time before each tuple, where records give it.
    """

    batch: pa.RecordBatch
    malformed: tuple[Malformed, ...] = ()
    delays_ns: Array | None = None


BlockReader = Callable[[bytes], Records]

FastReader = Callable[[bytes], Records | None]
"""From a block to its records; None if the block has anything that must be looked at record by record."""


def can_read_blocks(settings: Settings) -> bool:
    """Whether the records of a format follow one another without markers, one or more lines each.

    Example:
        >>> can_read_blocks(Settings()), can_read_blocks(Settings(format="txt"))
        (True, False)
    """
    if settings.format not in _FAST:
        return False
    if settings.has_delay_field and (settings.format != "csv" or settings.separator != ","):
        return False
    return codecs.lookup(settings.encoding).name == "utf-8" and settings.eol_marker == "\n"


def block_reader(schema: Schema, settings: Settings) -> BlockReader:
    """A function that reads a block of whole records.

    Args:
        schema: Of the attributes that are read.
        settings: How the records are written; `header_lines` is how many lines to skip in each block.
    """
    fast = _fast_reader(schema, replace(settings, header_lines=0))
    exact = reader(schema, settings)

    def read(block: bytes) -> Records:
        body = without_header(block, settings.header_lines)
        found = None if fast is None or body is None else fast(body)
        return found or _read_exactly(block, schema, exact, settings.has_delay_field)

    return read


def _fast_reader(schema: Schema, settings: Settings) -> FastReader | None:
    if settings.has_delay_field:
        return _delayed_reader(schema, settings)
    read = _FAST[settings.format](schema, settings)
    if read is None:
        return None

    def records(block: bytes) -> Records | None:
        batch = read(block)
        return None if batch is None else Records(batch=batch)

    return records


def _delayed_reader(schema: Schema, settings: Settings) -> FastReader | None:
    """Reads delays as a column before the others; a delay that is missing is looked at record by record."""
    delayed = TupleType((TypedName("delay of the tuple", FLOAT64), *schema.attributes))
    defaults = settings.defaults or tuple(default_value(a.type) for a in schema.attributes)
    read = columns_csv.fast_reader(delayed, replace(settings, has_delay_field=False, defaults=(None, *defaults)))
    if read is None:
        return None

    def records(block: bytes) -> Records | None:
        batch = read(block)
        if batch is None:
            return None
        delays = batch.column(0).to_numpy()
        if not (np.abs(delays) < _MOST_SECONDS).all():
            return None
        values = pa.RecordBatch.from_arrays(batch.columns[1:], schema=arrow_schema(schema))
        return Records(batch=values, delays_ns=np.maximum(np.rint(delays * 1e9), 0).astype(np.int64))

    return records


def without_header(block: bytes, lines: int) -> bytes | None:
    """The block behind so many lines; None if their ends are not plain line feeds."""
    if not lines:
        return block
    position = 0
    for _ in range(lines):
        position = block.find(b"\n", position) + 1
        if not position:
            return None
    return None if b"\r" in block[:position].replace(b"\r\n", b"\n") else block[position:]


def ends_between_records(block: bytes, schema: Schema, settings: Settings) -> bool:
    """Whether a block of whole lines ends where a record ends, and not inside a quote or a bracket.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> schema = parse_schema("rstring s, int32 n")
        >>> ends_between_records(b'a,1\\n', schema, Settings()), ends_between_records(b'"a\\n', schema, Settings())
        (True, False)
    """
    if settings.format in ("line", "json"):
        return True
    if settings.format == "csv" and columns_csv.ends_at_line_end(block, schema, settings):
        return True
    chunks: Iterator[bytes | None] = iter((block, None))
    last: Item = Pause.BETWEEN
    for item in reader(schema, settings)(chunks):
        if isinstance(item, Pause):
            last = item
    return last is Pause.BETWEEN


def _read_exactly(block: bytes, schema: Schema, read: Read, has_delays: bool) -> Records:
    tuples, malformed, delays, delay = [], [], [], 0
    for item in read(iter((block,))):
        if isinstance(item, tuple):
            tuples.append(item)
            delays.append(delay)
        elif isinstance(item, Malformed):
            malformed.append(item)
        delay = max(0, item.nanoseconds) if isinstance(item, Wait) else 0
    batch = batch_from_rows(tuples, schema)
    return Records(
        batch=batch, malformed=tuple(malformed), delays_ns=np.array(delays, np.int64) if has_delays else None
    )


_FAST: dict[str, Callable[[Schema, Settings], Callable[[bytes], pa.RecordBatch | None] | None]] = {
    "csv": columns_csv.fast_reader,
    "line": columns_line.fast_reader,
    "json": columns_json.fast_reader,
}
