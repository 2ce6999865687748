"""What a mark adds to the time between two marks: measured once for a process, and taken off.

Example:
    >>> 0 < mark_cost() < 100_000
    True
"""

from __future__ import annotations

import functools

import numpy as np

from penstock.profiler.clock import cpu_ns


@functools.cache
def mark_cost() -> float:
    """In ns, the median of some tries."""
    marks: list[tuple[int, int]] = []
    mark = marks.append
    for i in range(300):
        mark((i, cpu_ns()))
    return float(np.median(np.diff([now for _, now in marks])))
