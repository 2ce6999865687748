"""A point in time after which a computation returns the best it has."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """When to stop, on the clock of `time.monotonic`.

    Example:
        >>> Deadline.after(None).left() > 1e9, Deadline.after(0.0).has_passed()
        (True, True)
    """

    at: float

    @staticmethod
    def after(seconds: float | None) -> Deadline:
        """The deadline that many seconds from now; None is never."""
        return Deadline(float("inf") if seconds is None else time.monotonic() + seconds)

    def sooner(self, seconds: float) -> Deadline:
        """This deadline, or that many seconds from now if that is sooner."""
        return Deadline(min(self.at, time.monotonic() + seconds))

    def left(self) -> float:
        """The seconds that are left, 0 at least."""
        return max(0.0, self.at - time.monotonic())

    def has_passed(self) -> bool:
        """Whether it is time to stop."""
        return time.monotonic() >= self.at
