"""Work that a PE does for the order of tuples, which counts for none of its operators.

Bringing streams into the sequential order costs the more, the more of the graph is fused: outside of a PE the transport
has done it. Functions that do it are marked with `apart`; while signals are on, what they take is kept apart.

Example:
    >>> @apart
    ... def sort(values):
    ...     return sorted(values)
    >>> meter.is_on = True
    >>> sort([2, 1])
    [1, 2]
    >>> meter.is_on, meter.take() > 0, meter.take()
    (True, True, 0)
    >>> meter.is_on = False
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from penstock.profiler.clock import cpu_ns

P = ParamSpec("P")
R = TypeVar("R")


class Meter:
    """Adds up what is kept apart; a PE is one thread, so a process needs one.

    Attributes:
        is_on: Whether anybody wants to know.
    """

    def __init__(self) -> None:
        self.is_on = False
        self._ns = 0

    def add(self, took: int) -> None:
        """Count CPU time."""
        self._ns += took

    def take(self) -> int:
        """The CPU time counted since the last call, in ns."""
        taken, self._ns = self._ns, 0
        return taken


meter = Meter()


def apart(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function whose work is for the order of tuples."""

    @functools.wraps(function)
    def metered(*arguments: P.args, **named: P.kwargs) -> R:
        if not meter.is_on:
            return function(*arguments, **named)
        began = cpu_ns()
        try:
            return function(*arguments, **named)
        finally:
            meter.add(cpu_ns() - began)

    return metered
