"""Room for programs that are nested more deeply than Python's own limit allows for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

MOST_FRAMES = 10_000
"""Enough for sums of a thousand terms; small enough for the stack of a thread."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raise Python's limit on nested calls for a while.

    Example:
        >>> with deep_recursion():
        ...     sys.getrecursionlimit() >= MOST_FRAMES
        True
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, MOST_FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
