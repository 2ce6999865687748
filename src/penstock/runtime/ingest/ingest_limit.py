"""The file that limits what a job takes in, and the throttle that keeps to it.

    CHECKPOINT/ingest.json    {"tuples_per_second": 5000.0}

Whoever runs the job writes the file, whole, at any time; without it, or with `null`, there is no limit. It is looked at
before every batch and while the job waits, so a new limit holds at once.

Formulation:
    The *debt* of a job is what it has taken in and not yet paid for. A batch of n tuples adds n; time pays at the
    limit. A batch begins when the debt is paid. So over any time the job takes in no more than the limit allows and
    one batch, whatever its sources are: files, Kafka, streams of other jobs.

Algorithm:
    The driver waits before it processes a batch (`Throttle.wait`), when the batch before is committed, so a stop never
    waits for the limit. Sources that Penstock plans itself also make their batches smaller (`most_turns`), so that a
    slow job is served every other second and not once in ten minutes; Kafka's batches have the size that they
    started with.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable
from pathlib import Path

from penstock.base.durable_files import write_durably

FILE = "ingest.json"

LOOK_SECONDS = 0.2
"""How often a job that waits looks for another limit."""

SECONDS_PER_BATCH = 2.0
"""How much a batch of a limited job holds: what the limit allows in so many seconds."""

_KEY = "tuples_per_second"


def write_limit(checkpoint: Path, tuples_per_second: float | None) -> None:
    """Limit what a job takes in from now on; None lifts the limit.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_limit(Path(folder), 500.0)
        ...     read_limit(Path(folder))
        500.0
    """
    write_durably(checkpoint / FILE, json.dumps({_KEY: tuples_per_second}).encode())


def read_limit(checkpoint: Path) -> float | None:
    """The limit in tuples a second; None where there is none, or what is there is none."""
    try:
        found = json.loads((checkpoint / FILE).read_bytes())
    except (OSError, ValueError):
        return None
    limit = found.get(_KEY) if isinstance(found, dict) else None
    if isinstance(limit, bool) or not isinstance(limit, int | float):
        return None
    return float(limit) if math.isfinite(limit) and limit > 0 else None


def most_turns(checkpoint: Path, turns: int, sources: int) -> int:
    """How many turns each of some sources may take for a batch: so many, or what the limit leaves of them.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     before = most_turns(Path(folder), 1000, 2)
        ...     write_limit(Path(folder), 300.0)
        ...     before, most_turns(Path(folder), 1000, 2)
        (1000, 300)
    """
    limit = read_limit(checkpoint)
    return turns if limit is None else max(1, min(turns, int(limit * SECONDS_PER_BATCH / max(1, sources))))


class Throttle:
    """Lets a job wait until it may take in more.

    Args:
        checkpoint: Of the job.
        ingested: How many tuples its sources have given so far.
        now: The clock.
        sleep: Waits for so many seconds, or less.

    Attributes:
        waited_seconds: How long the job has waited so far.

    Example:
        >>> import tempfile
        >>> clock, given = [0.0], [0]
        >>> def sleep(seconds):
        ...     clock[0] += seconds
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_limit(Path(folder), 100.0)
        ...     throttle = Throttle(Path(folder), lambda: given[0], now=lambda: clock[0], sleep=sleep)
        ...     throttle.wait()
        ...     given[0] = 500
        ...     throttle.wait()
        >>> round(throttle.waited_seconds, 1)
        5.0
    """

    def __init__(
        self,
        checkpoint: Path,
        ingested: Callable[[], int],
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self._checkpoint, self._ingested, self._now = checkpoint, ingested, now
        self._is_stopping = threading.Event()
        self._sleep = sleep or self._is_stopping.wait
        self._seen: int | None = None
        self._debt, self._at = 0.0, now()
        self.waited_seconds = 0.0

    def stop(self) -> None:
        """Wait no more: the job is to stop when the batch in hand is done."""
        self._is_stopping.set()

    def wait(self) -> None:
        """Return when the next batch may be processed."""
        ingested = self._ingested()
        # What a resumed job has taken in before is paid for.
        self._debt += 0 if self._seen is None else ingested - self._seen
        self._seen = ingested
        while (left := self._seconds_left()) > 0 and not self._is_stopping.is_set():
            before = self._now()
            self._sleep(min(left, LOOK_SECONDS))
            self.waited_seconds += self._now() - before

    def _seconds_left(self) -> float:
        """How long the debt takes to be paid from now on."""
        limit, now = read_limit(self._checkpoint), self._now()
        passed, self._at = now - self._at, now
        self._debt = 0.0 if limit is None else max(0.0, self._debt - passed * limit)
        # A rest of rounding is nothing.
        return 0.0 if limit is None or self._debt < 1e-6 else self._debt / limit
