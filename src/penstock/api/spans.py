"""Where in the user's Python code an invocation stands."""

from __future__ import annotations

import linecache
import sys
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import FrameType

from penstock.diagnostics import SourceFile, Span

_PACKAGE = __name__.partition(".")[0]


def caller_span() -> Span | None:
    """The span of the innermost call that stands outside of this package, or None where there is no source."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    if frame is None:
        return None
    source = _source(frame.f_code.co_filename)
    positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    if source is None or positions is None:
        return None
    line, end_line, column, end_column = positions
    if line is None or end_line is None or column is None or end_column is None:
        return None
    lines = source.text.split("\n")
    if end_line > len(lines):
        return None
    return Span(source=source, start=_offset(lines, line, column), end=_offset(lines, end_line, end_column))


@lru_cache(maxsize=256)
def _source(path: str) -> SourceFile | None:
    text = "".join(linecache.getlines(path))
    return SourceFile(path=_as_written(path), text=text) if text else None


def _as_written(path: str) -> str:
    """A file below the current folder by its way from there, as the user named it."""
    full, here = Path(path), Path.cwd()
    return str(full.relative_to(here)) if full.is_relative_to(here) else path


def _offset(lines: list[str], line: int, column: int) -> int:
    # The interpreter counts columns in bytes.
    characters = len(lines[line - 1].encode()[:column].decode(errors="ignore"))
    return sum(len(text) + 1 for text in lines[: line - 1]) + characters
