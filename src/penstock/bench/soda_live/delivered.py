"""What jobs have delivered: their counts while they run, and the importance that follows.

Every way to run the jobs is watched alike: once in half a second it is asked how many tuples each job has given so far,
and by which template. What came between two counts that differ counts for the time between them, but for no more than a
few seconds of it: a job that waits does not work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from penstock.bench.soda_live.scenario import Scenario, phase_at, worth

LOOK_SECONDS = 0.5
BIN_SECONDS = 5.0
_LONGEST_STRETCH = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How far a job was at a moment.

    Attributes:
        at: The time of its last batch, in seconds since 1970.
        given: The tuples that it has given, since its first start.
        taken: The tuples that it has taken.
        template: By which it ran.
    """

    at: float
    given: int
    taken: int
    template: str


@dataclass(slots=True, kw_only=True)
class Record:
    """A run as it went.

    Attributes:
        start: When the scenario began, in seconds since 1970.
        counts: Of each job, one after the other.
        states: Which jobs ran, and when it was looked: seconds from the start, and their templates.
    """

    start: float = 0.0
    counts: dict[str, list[Count]] = field(default_factory=dict)
    states: list[tuple[float, dict[str, str]]] = field(default_factory=list)

    def note(self, counts: Mapping[str, Count]) -> None:
        """Keep counts that are new."""
        for job, count in counts.items():
            known = self.counts.setdefault(job, [])
            if not known or (known[-1].given, known[-1].template) != (count.given, count.template):
                known.append(count)

    def rates(self, job: str, seconds: float) -> list[tuple[float, str]]:
        """Of each bin of the run the tuples a second that a job gave, and the template by which it gave most."""
        bins: list[dict[str, float]] = [{} for _ in range(max(1, round(seconds / BIN_SECONDS)))]
        known = self.counts.get(job, [])
        for before, after in pairwise(known):
            until = after.at - self.start
            since = max(before.at - self.start, until - _LONGEST_STRETCH)
            share = (after.given - before.given) / max(until - since, 1e-3)
            for i, found in enumerate(bins):
                overlap = min(until, (i + 1) * BIN_SECONDS) - max(since, i * BIN_SECONDS)
                if overlap > 0:
                    found[after.template] = found.get(after.template, 0.0) + overlap * share
        best = [max(found, key=found.__getitem__, default="") for found in bins]
        return [(sum(f.values()) / BIN_SECONDS, template) for f, template in zip(bins, best, strict=True)]


def importance_over_time(scenario: Scenario, record: Record) -> list[float]:
    """The importance of each bin of a run."""
    spans = scenario.spans()
    count = max(1, round(scenario.seconds / BIN_SECONDS))
    total = [0.0] * count
    for job in scenario.jobs:
        quality = {template.id: template.weight for template in job.templates}
        for i, (rate, template) in enumerate(record.rates(job.name, scenario.seconds)):
            phase = phase_at(spans, (i + 0.5) * BIN_SECONDS)
            total[i] += phase.weights.get(job.name, 1.0) * quality.get(template, 1.0) * worth(scenario, job, rate)
    return total


class Watch:
    """Asks for counts in the background, until it is closed.

    Args:
        record: Where they are kept.
        look: Tells the counts of all jobs by now.
        running: Tells which jobs run, and by which template.
    """

    def __init__(
        self, record: Record, look: Callable[[], Mapping[str, Count]], running: Callable[[], dict[str, str]]
    ) -> None:
        self._record, self._look, self._running = record, look, running
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="soda-live watch", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            self.once()

    def once(self) -> None:
        """Look now."""
        self._record.note(self._look())
        self._record.states.append((time.time() - self._record.start, self._running()))

    def close(self) -> None:
        """Look no more."""
        self._is_over.set()
        self._thread.join()
        self._record.note(self._look())
