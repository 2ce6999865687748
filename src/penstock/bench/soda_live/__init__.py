"""Six real jobs under `penstock serve`, beside two other ways to share a machine and the optimum.

The jobs have three ranks; two have a degraded template, one takes what another gives. Together they ask for twice what
two cores can do. While they run, loads, a weight and the number of cores change: half of the cores are really taken
from all processes. Compared is the importance of what was delivered, from the moment on when the jobs work:

- `service`: under `penstock serve` (`by_service`);
- `pools`: all in one Spark application, each in a FAIR pool (`by_fair_pools`);
- `priority`: admitted by priority, evicted where they do not fit, as Storm does it (`by_priority`);
- `optimum`: computed afterwards from the prices that were measured (`optimum`).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from penstock.bench import Bench
from penstock.bench.soda_live.answers import compare_answers
from penstock.bench.soda_live.by_fair_pools import ByFairPools
from penstock.bench.soda_live.by_priority import ByPriority
from penstock.bench.soda_live.by_service import ByService
from penstock.bench.soda_live.cores import own_cores, use_cores
from penstock.bench.soda_live.delivered import BIN_SECONDS, Record, Watch, importance_over_time
from penstock.bench.soda_live.optimum import best_importance
from penstock.bench.soda_live.reporting import check_behaviour, learned_prices, report
from penstock.bench.soda_live.scenario import JOBS, QUICK_JOBS, Phase, Scenario, measure_round

SECONDS, QUICK_SECONDS = 600.0, 40.0


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


WAYS: dict[str, Callable[[Scenario, Path, frozenset[int]], Way]] = {
    "service": ByService,
    "priority": ByPriority,
    "pools": ByFairPools,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A scenario that was played.

    Attributes:
        record: How it went.
        importance: Of each bin.
        answers: Whether each job's file is what the reference gives.
    """

    record: Record
    importance: list[float]
    answers: dict[str, bool]


def run(bench: Bench) -> None:
    """Play the scenario in each way, and hold the importance against the optimum."""
    cores = own_cores()
    round_seconds = measure_round()
    with tempfile.TemporaryDirectory(prefix="penstock-soda-live-") as root:
        scenario = Scenario(
            seconds=bench.seconds or (QUICK_SECONDS if bench.quick else SECONDS),
            jobs=QUICK_JOBS if bench.quick else JOBS,
            cores=len(cores),
            round_seconds=round_seconds,
            folder=Path(root) / "feeds",
        )
        scenario.folder.mkdir()
        played: dict[str, Played] = {}
        prices: dict[tuple[str, str], float] = {}
        arrived: dict[str, float] = {}
        for name, way in WAYS.items():
            began = time.time()
            played[name] = _play(bench, name, way, scenario, Path(root) / name, cores, prices)
            waited = played[name].record.start - began
            if name == "service":
                arrived = {job.name: waited * scenario.load(job, scenario.spans()[0][2]) for job in scenario.jobs}
        best, by_phase = best_importance(scenario, prices, arrived, scenario.mips)
        _report(bench, scenario, played, best, by_phase, prices)


def _play(
    bench: Bench,
    name: str,
    way: Callable[[Scenario, Path, frozenset[int]], Way],
    scenario: Scenario,
    folder: Path,
    cores: frozenset[int],
    prices: dict[tuple[str, str], float],
) -> Played:
    """Play the scenario in one way."""
    whole, record = frozenset(cores), Record()
    use_cores(whole)
    began = time.time()
    scenario.write_schedules(began)
    running = way(scenario, folder, cores)
    try:
        watch = running.begin(record)
        record.start = time.time()
        bench.progress(f"{name}: the jobs work after {record.start - began:.0f} s")
        scenario.write_schedules(began, record.start)
        before = scenario.spans()[0][2]
        for since, _, phase in scenario.spans()[1:]:
            time.sleep(max(0.0, record.start + since - time.time()))
            bench.progress(f"{name}: {phase.name}")
            running.change(phase, before)
            before = phase
        time.sleep(max(0.0, record.start + scenario.seconds - time.time()))
        watch.once()
        running.end()
        watch.close()
        if isinstance(running, ByService):
            prices.update(learned_prices(scenario, running.samples()))
    finally:
        use_cores(whole)
        running.close()
    answers = compare_answers(scenario, record, running.out, folder / "reference")
    importance = importance_over_time(scenario, record)
    bench.progress(f"{name}: importance {sum(importance) / len(importance):,.0f}, answers {answers}")
    return Played(record=record, importance=importance, answers=answers)


def _report(
    bench: Bench,
    scenario: Scenario,
    played: dict[str, Played],
    best: float,
    by_phase: list[float],
    prices: dict[tuple[str, str], float],
) -> None:
    """Report rows, checks and the plot."""
    mean = {name: sum(p.importance) / len(p.importance) for name, p in played.items()}
    report(bench, scenario, {name: (p.record, p.importance) for name, p in played.items()}, by_phase)
    for name, found in played.items():
        bench.check(f"share of jobs whose output equals its reference, {name}", _share(found.answers), at_least=1.0)
    bench.check("delivered importance, as a share of the optimum", mean["service"] / best, at_least=0.85, timed=True)
    for name, words in (("pools", "FAIR pools"), ("priority", "eviction by priority")):
        ratio = mean["service"] / max(mean[name], 1e-9)
        bench.check(f"delivered importance beside {words}", ratio, at_least=1.0, timed=True)
    check_behaviour(bench, scenario, played["service"].record, prices)
    with bench.figure("soda_live", title="Importance", xlabel="seconds", ylabel="importance") as axes:
        for name, found in played.items():
            axes.plot([(i + 0.5) * BIN_SECONDS for i in range(len(found.importance))], found.importance, label=name)
        edges = [since for since, _, _ in scenario.spans()]
        axes.step([*edges, scenario.seconds], [*by_phase, by_phase[-1]], where="post", label="optimum", linestyle="--")
        axes.set_ylim(bottom=0)
        axes.legend()


def _share(answers: dict[str, bool]) -> float:
    return sum(answers.values()) / len(answers)
