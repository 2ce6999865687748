"""How many turns sources take for a batch.

As many as the job says, as a rule: what operators do with a tuple takes about as long as the tuple takes to make. Not
so where a tuple names a file that an operator then reads: 200,000 names would be one batch, which may take days while
the user waits for `--for` or for Ctrl-C. There the first batch is small, and the next is larger or smaller as the time
between two batches says. So it is in a run that somebody will stop, because it was told when or because it never ends,
unless it was told the size; only that batches grow faster there and may take longer: its tuples are alike.

Two batches of different sizes tell what a turn takes and what a batch takes whatever is in it: a job of many PEs on a
busy machine needs seconds for that, and batches of a single turn would make it no faster. So that there
always are such two, a size that has stayed for some batches is tried at twice as much.

Example:
    >>> times = iter([0.0, 0.1, 0.2, 9.0])
    >>> size = GrowingSize(most=20, now=lambda: next(times))
    >>> [size.next() for _ in range(4)]
    [8, 16, 20, 2]
    >>> times = iter([0.0, 4.0, 8.0, 12.0, 16.0])
    >>> size = GrowingSize(most=20, now=lambda: next(times))
    >>> [size.next() for _ in range(5)]
    [8, 2, 4, 8, 16]

    A first batch that took long, because Spark was starting, is found out:

    >>> times = iter([0.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0])
    >>> size = GrowingSize(most=20, now=lambda: next(times))
    >>> [size.next() for _ in range(8)]
    [8, 1, 1, 1, 1, 2, 4, 8]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from penstock.ir.graph import Application
from penstock.runtime.sources.endless import endless_sources

TURNS_PER_BATCH = 200_000
"""The turns that a source takes for a batch unless a job says otherwise; every plan is made for the same number."""

LONGEST_SECONDS = 30.0
"""After which time a batch never grows."""

_SLOWER = 0.125
_STEADY, _TRIED = 3, 2.0
"""After how many batches of one size a larger one is tried, and how much larger it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How the size of batches is found out.

    Attributes:
        first: The turns of the first batch.
        seconds: How long the work of a batch should take.
        faster: By how much a batch is larger at most than the one before.
    """

    first: int
    seconds: float
    faster: float


CAREFUL = Pace(first=8, seconds=1.0, faster=2.0)
"""Where one tuple may be any amount of work."""

EVEN = Pace(first=64, seconds=3.0, faster=4.0)
"""Where tuples are alike."""


class GrowingSize:
    """A number of turns that grows while batches are short, and shrinks when they are long.

    Args:
        most: Which it never exceeds.
        now: The clock.
        pace: How it grows.
    """

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic, pace: Pace = CAREFUL) -> None:
        self._most, self._now, self._pace = most, now, pace
        self._turns = min(pace.first, most)
        self._last: float | None = None
        self._before: tuple[int, float] = 0, 0.0
        self._each = 0.0
        self._steady = 0

    def next(self) -> int:
        """The turns of the next batch; to be asked for once for each."""
        now = self._now()
        if self._last is not None:
            self._turns = max(1, min(self._most, int(self._turns * self._factor(max(now - self._last, 1e-6)))))
        self._last = now
        return self._turns

    def _factor(self, took: float) -> float:
        """How much larger the next batch may be: its work should take its time, or what a batch takes anyway."""
        turns, before = self._before
        if turns != self._turns:
            self._each, self._steady = max(0.0, (took - before) / (self._turns - turns)), 0
        else:
            self._steady += 1
        self._before = self._turns, took
        if self._steady >= _STEADY and took < LONGEST_SECONDS:
            return _TRIED
        work = min(took, self._each * self._turns)
        wanted = min(LONGEST_SECONDS, max(self._pace.seconds, took - work))
        # Twice as many is no harm where a batch took half the time; one that took very long must not come again.
        return min(self._pace.faster if took < LONGEST_SECONDS else 1.0, max(_SLOWER, wanted / max(work, 1e-6)))


def choose_size(application: Application, most: int, *, is_timed: bool = False) -> Callable[[], int]:
    """A function that gives the turns of the next batch, asked for once for each; never more than `most`.

    Args:
        application: What runs.
        most: What the job says.
        is_timed: Whether the run is to stop after some time.
    """
    pace = _pace(application, most, is_timed=is_timed)
    return (lambda: most) if pace is None else GrowingSize(most, pace=pace).next


def is_size_fixed(application: Application, most: int, *, is_timed: bool = False) -> bool:
    """Whether every batch has as many turns as the job says."""
    return _pace(application, most, is_timed=is_timed) is None


def _pace(application: Application, most: int, *, is_timed: bool) -> Pace | None:
    # Such an operator reads files that tuples name, so that nobody knows how much work a tuple is.
    if any(o.facts.opens_what_tuples_name and o.inputs for o in application.operators):
        return CAREFUL
    if most == TURNS_PER_BATCH and (is_timed or any(endless_sources(application))):
        return EVEN
    return None
