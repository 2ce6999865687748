"""Where in the user's Python code an invocation stands."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import FrameType

from penstock.base.diagnostics import SourceFile, Span

_PACKAGE = __name__.partition(".")[0]


def caller_span() -> Span | None:
    """The span of the innermost call that stands outside of this package, or None where there is no source."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    if frame is None:
        return None
    positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None, None, None, None))
    line, end_line, column, end_column = positions
    return span_of(frame.f_code.co_filename, (line, column), (end_line, end_column))


def failure_span(error: BaseException, is_theirs: Callable[[str], bool]) -> Span | None:
    """Where an exception passed last through the user's code, or where that code cannot be parsed."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        begin, end = (error.lineno, (error.offset or 1) - 1), (error.end_lineno, (error.end_offset or 1) - 1)
        return span_of(error.filename, begin, end)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_theirs(frame.filename):
            return span_of(frame.filename, (frame.lineno, frame.colno), (frame.end_lineno, frame.end_colno))
    return None


Position = tuple[int | None, int | None]
"""A line, from 1, and a column in bytes, from 0, as the interpreter tells them."""


def span_of(path: str, begin: Position, end: Position) -> Span | None:
    """The stretch of a file between two positions, or None where something of them is not known."""
    source = _source(path, _as_written(path))
    (line, column), (end_line, end_column) = begin, end
    if source is None or line is None or end_line is None or column is None or end_column is None:
        return None
    lines = source.text.split("\n")
    if end_line > len(lines):
        return None
    return Span(source=source, start=_offset(lines, line, column), end=_offset(lines, end_line, end_column))


@lru_cache(maxsize=256)
def _source(path: str, shown: str) -> SourceFile | None:
    text = "".join(linecache.getlines(path))
    return SourceFile(path=shown, text=text) if text else None


def _as_written(path: str) -> str:
    """A file below the current folder by its way from there, as the user named it; a notebook cell by its number."""
    if (cell := _notebook_cell(path)) is not None:
        return cell
    full, here = Path(path), Path.cwd()
    return str(full.relative_to(here)) if full.is_relative_to(here) else path


def _notebook_cell(path: str) -> str | None:
    """IPython's name for the notebook cell that it keeps under a path; None if there is no such cell."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    named = shell.compile.format_code_name(path) if shell is not None else None
    return None if named is None else " ".join(named)


def _offset(lines: list[str], line: int, column: int) -> int:
    # The interpreter counts columns in bytes.
    characters = len(lines[line - 1].encode()[:column].decode(errors="ignore"))
    return sum(len(text) + 1 for text in lines[: line - 1]) + characters
