"""The time of runs that go on for ever: the clock on the wall."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

PULSE_NS = 1_000_000_000
"""How often at most a pulse goes out where nothing else does."""


@dataclass(kw_only=True, slots=True)
class WallClock:
    """The application's time in a run that goes on for ever.

    Attributes:
        start_ns: The application's time when the job was first started.
        began_ns: The time on the wall then.
        pulsed_ns: When time was last told to the PEs.
    """

    start_ns: int
    began_ns: int = field(default_factory=lambda: time.time_ns())
    pulsed_ns: int = 0

    def now_ns(self) -> int:
        """The application's time."""
        return self.start_ns + max(0, time.time_ns() - self.began_ns)


def is_due(clock: WallClock | None, now_ns: int, waits: bool) -> bool:
    """Whether a pulse is to tell that time has passed."""
    if clock is None or not waits or now_ns - clock.pulsed_ns < PULSE_NS:
        return False
    clock.pulsed_ns = now_ns
    return True


def began(clock: WallClock | None) -> int | None:
    """When a job was first started, by the clock on the wall."""
    return None if clock is None else clock.began_ns


def set_began(clock: WallClock | None, began_ns: int | None) -> None:
    """Count time from when the job was first started."""
    if clock is not None and began_ns is not None:
        clock.began_ns = began_ns
