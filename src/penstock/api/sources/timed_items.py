"""Items that a source written in Python may yield beside tuples."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class after:
    """Yielded by a source to let time pass before its next tuple.

    Example:
        >>> after(0.5).seconds
        0.5
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class at:
    """Yielded by a source whose next tuple stands at a time, counted from the start of the source.

    Where that time has passed, nothing happens.

    Example:
        >>> at(90.0).seconds
        90.0
    """

    seconds: float
