"""Nested timers: those of the submit signals on the way of one tuple.

A sampled tuple is timed at every signal that it passes: from the process call of the first operator down to the last
submit, one inside the other, and back. Reading the clock takes time, too, which would count for every operator further
out. Each timer knows how many others ran inside it and takes off what they cost.

Example:
    >>> statistics = Statistics()
    >>> timers = Timers(statistics)
    >>> timers.start(("process", "F", 0))
    >>> timers.start(("submit", "F", 0))
    >>> timers.stop()
    >>> timers.stop()
    >>> sorted(key[0] for key in statistics.metrics)
    ['process', 'submit']
"""

from __future__ import annotations

import functools
from array import array

import numpy as np

from penstock.profiler.clock import cpu_ns, wall_ns
from penstock.profiler.raw_statistics import Key, Statistics


class Timers:
    """The timers on the way of a sampled tuple.

    Args:
        statistics: Where the times go.
        cost: The time that a timer adds to itself and to the timers around it, in ns; measured unless given.

    Attributes:
        outermost_ns: The sum of the times of the timers that were inside no other.
    """

    __slots__ = ("_inside", "_outside", "_running", "_statistics", "_stopped", "outermost_ns")

    def __init__(self, statistics: Statistics, cost: tuple[float, float] | None = None) -> None:
        self._statistics = statistics
        self._inside, self._outside = timer_cost() if cost is None else cost
        self._running: list[tuple[Key, int, int]] = []
        self._stopped = 0
        self.outermost_ns = 0.0

    @property
    def overhead_ns(self) -> float:
        """The cost of all timers stopped so far."""
        return self._stopped * self._outside

    def start(self, key: Key) -> None:
        """Start a timer inside of those that run."""
        self._running.append((key, self._stopped, cpu_ns()))

    def stop(self) -> None:
        """Stop the timer that was started last."""
        now = cpu_ns()
        key, stopped, began = self._running.pop()
        took = now - began - self._inside - (self._stopped - stopped) * self._outside
        self._stopped += 1
        if not self._running:
            self.outermost_ns += took
        self._statistics.add(key, took)


@functools.cache
def timer_cost() -> tuple[float, float]:
    """The time that a timer adds to itself, and to a timer around it, in ns: measured once for a process."""
    probe = Statistics()
    timers = Timers(probe, (0.0, 0.0))
    for _ in range(300):
        timers.start(("process", "outer", 0))
        timers.start(("process", "inner", 0))
        timers.stop()
        timers.stop()
    outer, inner = ([took for _, took, _ in probe.observations(("process", o, 0))] for o in ("outer", "inner"))
    within = float(np.median(inner))
    return within, max(0.0, float(np.median(outer)) - within)


@functools.cache
def mark_cost() -> float:
    """The time that a mark (`loop_signals`) adds between two marks, in ns: the median of some tries."""
    marks = array("q")
    mark = marks.append
    for i in range(300):
        mark(i)
        mark(wall_ns())
    return float(np.median(np.diff(marks[1::2])))
