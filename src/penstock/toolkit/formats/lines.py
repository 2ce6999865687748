"""Lines of text from chunks of bytes, and records of several lines."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from penstock.toolkit.formats.items import Chunks, Malformed, Pause

T = TypeVar("T")

Line = str | Malformed | Pause
"""A line, a line that is not text in its encoding, or no whole line for now."""

MOST_LINES = 1000
"""Of one record. A quote that is never closed must not swallow the rest of a file."""


def split_lines(chunks: Chunks, marker: str = "\n", encoding: str = "utf-8") -> Iterator[Line]:
    """The lines without their markers; what follows the last marker is a line if it is not empty.

    Example:
        >>> list(split_lines(iter([b"ab\\nc", None, b"d\\n"])))
        ['ab', <Pause.INSIDE: 'inside'>, 'cd']
    """
    is_utf8 = codecs.lookup(encoding).name == "utf-8"
    # Bytes that are not UTF-8 spoil their own line only: they come through as lone surrogates, which `_checked` finds.
    decoder = codecs.getincrementaldecoder(encoding)("surrogateescape" if is_utf8 else "strict")
    decode, fresh = decoder.decode, decoder.getstate()
    begun: list[str] = []
    for chunk in chunks:
        if chunk is None:
            yield Pause.INSIDE if any(begun) or decoder.getstate() != fresh else Pause.BETWEEN
            continue
        begun.append(decode(chunk))
        if len(marker) == 1 and marker not in begun[-1]:
            continue
        lines = "".join(begun).split(marker)
        begun = [lines.pop()]
        for line in lines:
            yield line if line.isascii() else _checked(line)
    last = "".join(begun) + decode(b"", True)
    if last:
        yield _checked(last)


def _checked(line: str) -> str | Malformed:
    try:
        line.encode()
    except UnicodeEncodeError:
        return Malformed(line.encode(errors="surrogateescape").decode(errors="backslashreplace"), "not valid UTF-8")
    return line


class EndedByReturn(str):
    """A line that ends in a carriage return alone: SPL ends a record there too, though few people mean it so."""

    __slots__ = ()


class BegunByReturn(str):
    """A line in front of which a carriage return alone has ended another."""

    __slots__ = ()


def split_any_line_ends(chunks: Chunks, encoding: str) -> Iterator[Line]:
    """The lines, whether they end in a line feed, a carriage return or both."""
    for line in split_lines(chunks, "\n", encoding):
        if isinstance(line, str) and "\r" in line:
            *ended, last = line.removesuffix("\r").split("\r")
            yield from map(EndedByReturn, ended)
            yield BegunByReturn(last) if ended else last
        else:
            yield line


_DELIMITER = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|["\'\[\](){}]', re.DOTALL)


def is_closed(text: str) -> bool:
    """Whether every quote and every bracket that the text opens is closed in it.

    Example:
        >>> is_closed('{a="}"}'), is_closed('{a="x')
        (True, False)
    """
    depth = 0
    for match in _DELIMITER.finditer(text):
        found = match[0]
        if found in "\"'":
            return False
        depth += (found in "[({") - (found in "])}")
    return depth <= 0


class Unclosed(ValueError):
    """A record opens a quote or a bracket that it does not close."""


def parse_records(lines: Iterator[Line], parse: Callable[[str], T]) -> Iterator[T | Malformed | Pause]:
    """The records of some lines, of one line each, or of several where a quote or bracket stays open.

    Skips blank lines and `#` comments. If no later line closes a record, its first line alone is malformed and the next
    ones are looked at afresh.

    Args:
        lines: As `split_lines` gives them.
        parse: Reads a record; raises `Unclosed`, or `ValueError` with the reason.
    """
    again: deque[str] = deque()
    while (line := again.popleft() if again else next(lines, _END)) is not _END:
        if not isinstance(line, str):
            yield line
        elif line.lstrip(" \t")[:1] not in ("", "#"):
            try:
                yield parse(line)
            except Unclosed as error:
                yield from _parse_several(line, error, lines, again, parse)
            except ValueError as error:
                yield _malformed(line, error)


_END = Malformed("", "")


def _malformed(line: str, why: ValueError) -> Malformed:
    if isinstance(line, EndedByReturn):
        return Malformed(line, f"{why}; a carriage return ends the record")
    if isinstance(line, BegunByReturn):
        return Malformed(line, f"{why}; a carriage return ended the record before it")
    return Malformed(line, str(why))


def _join_lines(lines: Sequence[str]) -> str:
    """A record of several lines, with the ends of all but the last."""
    ended = (line + ("\r" if isinstance(line, EndedByReturn) else "\n") for line in lines[:-1])
    return "".join(ended) + lines[-1]


def _parse_several(
    first: str, why: Unclosed, lines: Iterator[Line], again: deque[str], parse: Callable[[str], T]
) -> Iterator[T | Malformed | Pause]:
    taken: list[str] = []
    while len(taken) < MOST_LINES:
        line = again.popleft() if again else next(lines, _END)
        if isinstance(line, Pause):
            yield Pause.INSIDE
            continue
        if not isinstance(line, str):
            break
        taken.append(line)
        # Only a line with a quote or a bracket can close a record, so the record is not parsed for every line.
        if _DELIMITER.search(line):
            try:
                yield parse(_join_lines((first, *taken)))
                return
            except Unclosed:
                continue
            except ValueError:
                break
    yield _malformed(first, why)
    again.extendleft(reversed(taken))
    if isinstance(line, Malformed) and line is not _END:
        yield line
