"""A point in time by which an answer is due: a search looks at it in every loop, and then returns the best so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace


class OutOfTime(Exception):
    """The deadline has passed; whoever holds an answer returns it now."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """When to stop.

    Attributes:
        at: The reading of the clock at which time is up; infinite for never.
        began: The reading at which it was set.
        clock: What tells the time.

    Example:
        >>> Deadline.after(None).left() > 1e9, Deadline.after(0.0).has_passed()
        (True, True)
    """

    at: float
    began: float = field(default_factory=time.monotonic)
    clock: Callable[[], float] = time.monotonic

    @staticmethod
    def after(seconds: float | None, *, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """The deadline that many seconds from now; None is never."""
        now = clock()
        return Deadline(float("inf") if seconds is None else now + seconds, now, clock)

    def sooner(self, seconds: float) -> Deadline:
        """This deadline, or that many seconds from now if that is sooner."""
        return replace(self, at=min(self.at, self.clock() + seconds))

    def at_least(self, seconds: float) -> Deadline:
        """This deadline, or that many seconds from now if that is later."""
        return replace(self, at=max(self.at, self.clock() + seconds))

    def share(self, part: float) -> Deadline:
        """A deadline after a part of the time that is left.

        Example:
            >>> Deadline(10.0, 0.0, clock=lambda: 4.0).share(0.5).at
            7.0
        """
        return self if self.at == float("inf") else self.sooner(part * self.left())

    def earlier_by(self, seconds: float) -> Deadline:
        """A deadline some seconds before this one."""
        return replace(self, at=self.at - seconds)

    def later_by(self, seconds: float) -> Deadline:
        """A deadline some seconds behind this one."""
        return self.earlier_by(-seconds)

    def elapsed(self) -> float:
        """The seconds since it was set."""
        return self.clock() - self.began

    def left(self) -> float:
        """The seconds that are left, 0 at least."""
        return max(0.0, self.at - self.clock())

    def has_passed(self) -> bool:
        """Whether it is time to stop."""
        return self.clock() >= self.at

    def is_near(self, part: float = 0.15) -> bool:
        """Whether there is less time left than a part of the time that has gone: too little for one more large step.

        Example:
            >>> Deadline(10.0, 0.0, clock=lambda: 9.0).is_near(), Deadline(10.0, 0.0, clock=lambda: 8.0).is_near()
            (True, False)
        """
        return self.left() <= part * self.elapsed()

    def check(self) -> None:
        """Return if there is time left.

        Raises:
            OutOfTime: There is none.

        Example:
            >>> ticks = iter([0.0, 0.5, 2.0])
            >>> deadline = Deadline.after(1.0, clock=lambda: next(ticks))
            >>> deadline.check()
            >>> deadline.check()
            Traceback (most recent call last):
            penstock.base.deadline.OutOfTime
        """
        if self.has_passed():
            raise OutOfTime
