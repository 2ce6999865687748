"""Items that readers yield, and the settings of formats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from penstock.expr.environment import Tuple
from penstock.toolkit.core.runtime import Punctuation, Wait

Chunks = Iterator[bytes | None]
"""Bytes as they come in; None where no more have come in yet."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """A record that does not fit the schema, as text, and why; a source in Python may yield one.

    Example:
        >>> Malformed("x;7", "expected 3 values, found 2").reason
        'expected 3 values, found 2'
    """

    record: str
    reason: str


class Pause(Enum):
    """Nothing more for now, because no more bytes have come in.

    BETWEEN: all bytes belong to records that have been given, so a new reader could go on from here. INSIDE: a record
    has begun, or the reader knows something else that a new one would not.
    """

    BETWEEN = "between"
    INSIDE = "inside"


Item = Tuple | Malformed | Wait | Punctuation | Pause
"""A tuple of the attributes read, a bad record, a delay, a marker, or nothing more for now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How records are written.

    Attributes:
        format: `csv`, `txt`, `line`, `bin`, `block`, `json` or `parquet`; the last two are only read.
        separator: Between the values of a csv line: one character.
        eol_marker: Between the lines of the line format.
        header_lines: How many lines at the start of csv to skip.
        has_delay_field: Whether the seconds since the tuple before stand in front of each tuple.
        ignores_extra: Whether more values than attributes are allowed on a csv line.
        defaults: The values of empty csv fields; the types' defaults if none.
        block_size: Bytes of a block; none for all bytes as one block.
        has_punctuations: Whether markers are written between the tuples.
        quotes_strings: Whether csv writes strings in quotes.
        encoding: Of text.
    """

    format: str = "csv"
    separator: str = ","
    eol_marker: str = "\n"
    header_lines: int = 0
    has_delay_field: bool = False
    ignores_extra: bool = False
    defaults: Tuple | None = None
    block_size: int | None = None
    has_punctuations: bool = False
    quotes_strings: bool = True
    encoding: str = "utf-8"
