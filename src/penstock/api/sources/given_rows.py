"""Rows that are at hand, as a source: for tests, for notebooks, for small tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.api.operators import source
from penstock.api.sources.timed_items import after


def feed(rows: Iterable[Any], *, every: float = 0.0) -> Callable[[], Iterator[Any]]:
    """A source of the given rows, one each `every` seconds of the application's time.

    Example:
        >>> list(feed([(1,), (2,)])())
        [(1,), (2,)]
    """
    kept = list(rows)

    @source
    def given() -> Iterator[Any]:
        for value in kept:
            yield value
            if every:
                yield after(every)

    return given
