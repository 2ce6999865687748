"""From bytes to tuples: the readers of all formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from penstock.expr.environment import Tuple
from penstock.expr.values.binary import Decode, Truncated, decoder
from penstock.ir.types import FLOAT64, Schema
from penstock.toolkit.core.runtime import Punctuation, Wait
from penstock.toolkit.formats import csv, json_lines, parquet, txt
from penstock.toolkit.formats.items import Chunks, Item, Malformed, Pause, Settings
from penstock.toolkit.formats.lines import Line, parse_records, split_any_line_ends, split_lines

Read = Callable[[Chunks], Iterator[Item]]

_MARKERS = {1: Punctuation.WINDOW, 2: Punctuation.FINAL}
_NANOSECONDS = 1_000_000_000


def reader(schema: Schema, settings: Settings) -> Read:
    """A function that reads the items of a stream of bytes.

    Args:
        schema: Of the attributes that are read; one rstring or blob attribute for `line` and `block`.
        settings: How the records are written.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> read = reader(parse_schema("rstring name, int32 age"), Settings())
        >>> list(read(iter([b"# people\\nAda, 36\\nBob, x\\n"])))
        [('Ada', 36), Malformed(record='Bob, x', reason='attribute `age`: `x` is not an integer')]
    """
    match settings.format:
        case "csv":
            return _text_reader(csv.row_parser(schema, settings), settings)
        case "txt":
            return _text_reader(txt.row_parser(schema), settings)
        case "json":
            return _text_reader(json_lines.row_parser(schema), settings)
        case "parquet":
            return lambda chunks: parquet.read(schema, chunks)
        case "line":
            return lambda chunks: _read_lines(split_lines(chunks, settings.eol_marker, settings.encoding))
        case "block":
            return lambda chunks: _read_blocks(chunks, settings.block_size)
    return _binary_reader(schema, settings)


@dataclass(frozen=True, slots=True)
class _Delayed:
    nanoseconds: int
    values: Tuple


def _text_reader(parse: Callable[[str], Tuple], settings: Settings) -> Read:
    def parse_delayed(line: str) -> _Delayed:
        delay, _, rest = line.partition(",")
        return _Delayed(_delay(delay), parse(rest))

    def read(chunks: Chunks) -> Iterator[Item]:
        lines = _without_header(split_any_line_ends(chunks, settings.encoding), settings.header_lines)
        if not settings.has_delay_field:
            yield from parse_records(lines, parse)
            return
        for item in parse_records(lines, parse_delayed):
            if isinstance(item, _Delayed):
                yield Wait(item.nanoseconds)
                yield item.values
            else:
                yield item

    return read


def _delay(text: str) -> int:
    try:
        return round(float(text) * _NANOSECONDS)
    except (ValueError, OverflowError):
        raise ValueError(f"the delay `{text.strip()}` is not a number of seconds") from None


def _without_header(lines: Iterator[Line], count: int) -> Iterator[Line]:
    for line in lines:
        if isinstance(line, Pause):
            yield Pause.INSIDE if count > 0 else line
        elif count > 0:
            count -= 1
        else:
            yield line
            break
    yield from lines


def _read_lines(lines: Iterator[Line]) -> Iterator[Item]:
    for line in lines:
        yield (line,) if isinstance(line, str) else line


def _read_blocks(chunks: Chunks, size: int | None) -> Iterator[Item]:
    pending = bytearray()
    for chunk in chunks:
        if chunk is None:
            yield Pause.INSIDE if pending else Pause.BETWEEN
            continue
        pending += chunk
        while size is not None and len(pending) >= size:
            yield (bytes(pending[:size]),)
            del pending[:size]
    if pending:
        yield (bytes(pending),)


def _binary_reader(schema: Schema, settings: Settings) -> Read:
    decode = _record_decoder(schema, settings)

    def read(chunks: Chunks) -> Iterator[Item]:
        data, position = b"", 0
        for chunk in chunks:
            if chunk is None:
                yield Pause.INSIDE if position < len(data) else Pause.BETWEEN
                continue
            data, position = data[position:] + chunk, 0
            try:
                while position < len(data):
                    items, position = decode(data, position)
                    yield from items
            except Truncated:
                continue
            except ValueError as error:
                yield Malformed(_excerpt(data[position:]), f"{error}; the rest cannot be read")
                return
        if position < len(data):
            yield Malformed(_excerpt(data[position:]), "the data end inside a tuple")

    return read


def _excerpt(data: bytes) -> str:
    return data[:32].hex() + ("..." if len(data) > 32 else "")


def _record_decoder(schema: Schema, settings: Settings) -> Decode:
    decode_tuple, decode_delay = decoder(schema), decoder(FLOAT64)

    def decode(data: bytes, position: int) -> tuple[list[Item], int]:
        items: list[Item] = []
        if settings.has_delay_field:
            delay, position = decode_delay(data, position)
            items.append(Wait(round(delay * _NANOSECONDS)))
        if settings.has_punctuations:
            if position >= len(data):
                raise Truncated
            kind, position = data[position], position + 1
            if kind in _MARKERS:
                return [*items, _MARKERS[kind]], position
            if kind != 0:
                raise ValueError(f"expected a tuple or a punctuation, found the byte {kind}")
        values, position = decode_tuple(data, position)
        return [*items, values], position

    return decode
