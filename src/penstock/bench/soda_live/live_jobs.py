"""The six jobs of `penstock bench soda-live`, as a user would submit them: this file is their package.

Each reads a feed whose tuples fall due as a schedule says, as those of a topic would: what a job does not take stays
there. A tuple follows from its number alone, so what a job gives for the first N of its tuples can be computed again by
the reference interpreter. `report` and `fraud` exist in two forms, of which the lighter one looks less closely.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock import App, KeyedOperator, PartitionedSource

TUPLE = "int64 n, int32 key, int64 value"
SCORED = "int64 n, int32 key, int64 score, int32 rounds"
TOTALLED = "int64 n, int32 key, int64 value, int64 count, int64 total"
SCORED_TOTALS = "int64 n, int32 key, int64 count, int64 total, int64 score, int32 rounds"
PIECE = 200
"""Tuples come into the feed so many at a time, as lines of a log do."""


class Feed(PartitionedSource):
    """The tuples of a feed that have fallen due.

    Its schedule lies in the data folder: `{"began": 1.7e9, "loads": [[0, 500], [60, 900]]}` says from which second on
    how many tuples a second come; `{"most": 12000}` that there are so many, all at once.
    """

    def __init__(self, job: str, environment: Any) -> None:
        self.path: Path = environment.data_directory / f"{job}.json"

    def partitions(self) -> list[str]:
        """One."""
        return ["feed"]

    def latest_offset(self, partition: str) -> int:
        """How many tuples have fallen due."""
        try:
            schedule = json.loads(self.path.read_text())
        except (OSError, ValueError):
            # It is being written.
            return 0
        return due(schedule, time.time())

    def read(self, partition: str, start: int) -> Iterator[tuple[int, int, int]]:
        """The tuples from a number on."""
        for n in range(start, self.latest_offset(partition)):
            yield n, n % 97, n * 7919 % 10007


def due(schedule: dict[str, Any], now: float) -> int:
    """How many tuples a schedule has let come by a time, in seconds since 1970."""
    if "most" in schedule:
        return int(schedule["most"])
    passed, count, loads = now - schedule["began"], 0.0, schedule["loads"]
    for (since, tps), until in zip(loads, [load[0] for load in loads[1:]] + [passed], strict=True):
        count += max(0.0, min(until, passed) - since) * tps
    return int(count) // PIECE * PIECE


class Totals(KeyedOperator):
    """How many tuples a key has had, and what they come to."""

    partition_by = "key"

    def __init__(self) -> None:
        self.count, self.total = 0, 0

    def process(self, t: Any) -> Iterator[dict[str, int]]:
        """The tuple with the totals of its key."""
        self.count += 1
        self.total += t.value
        yield {"n": t.n, "key": t.key, "value": t.value, "count": self.count, "total": self.total}


def look_closely(value: int, rounds: int) -> int:
    """A number that takes so many rounds to find."""
    for _ in range(rounds):
        value = (value * 48271 + 11) % 2147483647
    return value


def score(t: Any, *, rounds: int) -> dict[str, int]:
    """A tuple with its score."""
    return {"n": t.n, "key": t.key, "score": look_closely(t.value + 1, rounds), "rounds": rounds}


def score_total(t: Any, *, rounds: int) -> dict[str, int]:
    """A total with the score of its tuple."""
    found = look_closely(t.value + 1, rounds)
    return {"n": t.n, "key": t.key, "count": t.count, "total": t.total, "score": found, "rounds": rounds}


def score_again(t: Any, *, rounds: int) -> dict[str, int]:
    """A score with another of its own."""
    return {"n": t.n, "key": t.key, "score": look_closely(t.score, rounds), "rounds": rounds}


def scoring(job: str, rounds: int) -> App:
    """A job that scores its tuples."""
    app = App(job.title())
    taken = app.source(Feed, TUPLE, name="Taken", job=job)
    taken.map(score, SCORED, name="Given", params={"rounds": rounds}).write_csv(f"{job}.csv")
    return app


def totalling(job: str, rounds: int) -> App:
    """A job that keeps totals by key, and scores its tuples."""
    app = App(job.title())
    totals = app.source(Feed, TUPLE, name="Taken", job=job).apply(Totals, TOTALLED, name="Summed")
    totals.map(score_total, SCORED_TOTALS, name="Given", params={"rounds": rounds}).write_csv(f"{job}.csv")
    return app


def exporting(job: str, rounds: int) -> App:
    """A job that scores its tuples, and lets others go on with them."""
    app = App(job.title())
    given = app.source(Feed, TUPLE, name="Taken", job=job).map(score, SCORED, name="Given", params={"rounds": rounds})
    given.write_csv(f"{job}.csv")
    given.export(stream_id=job)
    return app


def importing(job: str, rounds: int, stream: str) -> App:
    """A job that goes on with the tuples of another."""
    app = App(job.title())
    taken = app.import_(SCORED, stream_id=stream, name="Taken")
    taken.map(score_again, SCORED, name="Given", params={"rounds": rounds}).write_csv(f"{job}.csv")
    return app


CLOSELY, BRIEFLY = 6000, 300
"""Rounds of the two forms that a job may have."""

alarms = totalling("alarms", 4000)
orders = exporting("orders", 4000)
fraud = importing("fraud", CLOSELY, "orders")
fraud_light = importing("fraud", BRIEFLY, "orders")
report = totalling("report", CLOSELY)
report_light = totalling("report", BRIEFLY)
trends = scoring("trends", 4000)
archive = scoring("archive", 4000)
