"""A point in time by which an answer is due."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable


class OutOfTime(Exception):
    """The deadline has passed; whoever holds an answer returns it now."""


class Deadline:
    """Raises `OutOfTime` when it is asked too late.

    Attributes:
        seconds: How long there was, in all; None for ever.

    Example:
        >>> ticks = iter([0.0, 0.5, 2.0])
        >>> deadline = Deadline(1.0, clock=lambda: next(ticks))
        >>> deadline.check()
        >>> deadline.check()
        Traceback (most recent call last):
        penstock.scheduler.deadline.OutOfTime
    """

    def __init__(self, seconds: float | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._start = clock()

    def elapsed(self) -> float:
        """The seconds since the start."""
        return self._clock() - self._start

    def earlier_by(self, seconds: float) -> Deadline:
        """A deadline on the same clock that strikes some seconds before this one."""
        other = copy.copy(self)
        other.seconds = None if self.seconds is None else self.seconds - seconds
        return other

    @property
    def has_passed(self) -> bool:
        """Whether the time is up."""
        return self.seconds is not None and self.elapsed() >= self.seconds

    def left(self) -> float | None:
        """The seconds that are left, at least 0; None for ever."""
        return None if self.seconds is None else max(0.0, self.seconds - self.elapsed())

    def check(self) -> None:
        """Return if there is time left."""
        if self.has_passed:
            raise OutOfTime
