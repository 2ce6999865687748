"""One line of a file with its time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from penstock.base.diagnostics import UserError
from penstock.toolkit.formats import Malformed

MOST_SECONDS = 9e9
"""The time of an application is counted in nanoseconds of 64 bits."""


class ReadsLines(Protocol):
    """A parser of the lines of a file."""

    def line(self, text: str, file: Path) -> tuple[float, Any] | None:
        """The seconds and the values of a line; None for a line that says nothing."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that has been read.

    Attributes:
        time_ns: From the start of the source.
        seconds: The same, as the line says.
        value: Its tuple.
    """

    time_ns: int
    seconds: float
    value: Any


def read_line(source: ReadsLines, raw: bytes, file: Path) -> Line | Malformed | None:
    """Read a line; its end may stand behind it."""
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        found = source.line(raw.decode(), file)
        if found is None:
            return None
        seconds, value = found
        if not -MOST_SECONDS < seconds < MOST_SECONDS:
            raise ValueError(f"{seconds} is not a time in seconds")
    except ValueError as error:
        return Malformed(raw.decode(errors="replace"), str(error))
    return Line(max(0, round(seconds * 1e9)), seconds, value)


def check_order(file: Path, before_ns: int, time_ns: int) -> None:
    """See that time does not go back.

    Raises:
        UserError: It does.
    """
    if time_ns < before_ns:
        raise UserError(
            f"`{file.name}` is not in the order of time: {time_ns / 1e9:.9g} s come after {before_ns / 1e9:.9g} s",
            hint="sort the file by time",
        )
