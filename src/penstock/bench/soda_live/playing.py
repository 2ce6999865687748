"""Plays the scenario in one way, and keeps what came of it, so that an experiment of half an hour can be done in parts.

    python -m penstock.bench.soda_live.playing OUT/soda-live service --seconds 300

leaves what the experiment takes instead of playing that way once more.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from penstock.bench.soda_live.answers import compare_answers
from penstock.bench.soda_live.by_fair_pools import ByFairPools
from penstock.bench.soda_live.by_priority import ByPriority
from penstock.bench.soda_live.by_service import ByService
from penstock.bench.soda_live.cores import own_cores, use_cores
from penstock.bench.soda_live.delivered import Count, Record, Watch
from penstock.bench.soda_live.reporting import learned_prices
from penstock.bench.soda_live.scenario import JOBS, QUICK_JOBS, Phase, Scenario, measure_round

_SCENARIO = "scenario.json"
KEEP_VARIABLE = "PENSTOCK_BENCH_KEEP"
"""A folder where all that the jobs leave behind is kept, to look into it."""


class Way(Protocol):
    """A way to run the jobs."""

    out: Path

    def begin(self, record: Record) -> Watch:
        """Start the jobs, and return when they work."""

    def change(self, phase: Phase, before: Phase) -> None:
        """Let a phase begin."""

    def end(self) -> None:
        """Stop the jobs behind their batches."""

    def close(self) -> None:
        """End everything that is left."""


WAYS: Mapping[str, Callable[[Scenario, Path, frozenset[int]], Way]] = {
    "service": ByService,
    "priority": ByPriority,
    "pools": ByFairPools,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A scenario that was played.

    Attributes:
        seconds: For how long.
        record: How it went.
        waited: How many seconds passed until the jobs worked.
        answers: Whether each job's file is what the reference gives.
        prices: The mips of a tuple a second, by job and template, where they were measured.
    """

    seconds: float
    record: Record
    waited: float
    answers: Mapping[str, bool]
    prices: Mapping[tuple[str, str], float]


def open_scenario(folder: Path, seconds: float, *, quick: bool) -> Scenario:
    """The scenario that a folder has parts of; a new one where it has none, or those of other jobs.

    The parts may have other lengths than this one: shares of the whole are what counts.
    """
    kept: dict[str, Any] = {}
    if (folder / _SCENARIO).exists():
        kept = json.loads((folder / _SCENARIO).read_text())
    if kept.get("quick") != quick:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        kept = {"quick": quick, "round_seconds": measure_round()}
        (folder / _SCENARIO).write_text(json.dumps(kept))
    jobs = QUICK_JOBS if quick else JOBS
    return Scenario(seconds=seconds, jobs=jobs, cores=len(own_cores()), round_seconds=kept["round_seconds"])


def play(scenario: Scenario, name: str, folder: Path, tell: Callable[[str], None]) -> Played:
    """What came of a way, played now unless it was before."""
    path = folder / f"{name}.json"
    if not path.exists():
        with tempfile.TemporaryDirectory(prefix="penstock-soda-live-") as temporary:
            root = Path(os.environ.get(KEEP_VARIABLE) or temporary) / name
            _write(path, _play(scenario, name, root, tell))
    return _read(path)


def _play(scenario: Scenario, name: str, root: Path, tell: Callable[[str], None]) -> Played:
    whole, cores, feeds, record = frozenset(os.sched_getaffinity(0)), own_cores(), root / "feeds", Record()
    feeds.mkdir(parents=True)
    use_cores(cores)
    began = time.time()
    scenario.write_schedules(feeds, began)
    prices: dict[tuple[str, str], float] = {}
    running = WAYS[name](scenario, root, cores)
    try:
        watch = running.begin(record)
        record.start = time.time()
        tell(f"{name}: the jobs work after {record.start - began:.0f} s")
        scenario.write_schedules(feeds, began, record.start)
        _go_through(scenario, running, record, lambda phase: tell(f"{name}: {phase}"))
        watch.once()
        running.end()
        watch.close()
        if isinstance(running, ByService):
            prices = learned_prices(scenario, running.samples())
    finally:
        use_cores(whole)
        running.close()
    answers = compare_answers(scenario, record, running.out, root / "reference")
    waited = record.start - began
    return Played(seconds=scenario.seconds, record=record, waited=waited, answers=answers, prices=prices)


def _go_through(scenario: Scenario, running: Way, record: Record, tell: Callable[[str], None]) -> None:
    """Let one phase after the other begin, each at its time."""
    before = scenario.spans()[0][2]
    for since, _, phase in scenario.spans()[1:]:
        time.sleep(max(0.0, record.start + since - time.time()))
        tell(phase.name)
        running.change(phase, before)
        before = phase
    time.sleep(max(0.0, record.start + scenario.seconds - time.time()))


def _write(path: Path, played: Played) -> None:
    record = played.record
    document = {
        "seconds": played.seconds,
        "start": record.start,
        "counts": {job: [asdict(count) for count in counts] for job, counts in record.counts.items()},
        "states": record.states,
        "waited": played.waited,
        "answers": dict(played.answers),
        "prices": [[job, template, price] for (job, template), price in played.prices.items()],
    }
    path.write_text(json.dumps(document))


def _read(path: Path) -> Played:
    document = json.loads(path.read_text())
    counts = {job: [Count(**count) for count in found] for job, found in document["counts"].items()}
    states = [(at, state) for at, state in document["states"]]
    return Played(
        seconds=document["seconds"],
        record=Record(start=document["start"], counts=counts, states=states),
        waited=document["waited"],
        answers=document["answers"],
        prices={(job, template): price for job, template, price in document["prices"]},
    )


if __name__ == "__main__":
    parts, which, _, length = sys.argv[1:5]
    play(
        open_scenario(Path(parts), float(length), quick=False),
        which,
        Path(parts),
        lambda text: print(text, file=sys.stderr, flush=True),
    )
