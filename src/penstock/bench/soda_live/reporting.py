"""Rows and checks of `penstock bench soda-live`: what each job gave in each phase, and what the service did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.bench import Bench
from penstock.bench.soda_live.delivered import BIN_SECONDS, Record
from penstock.bench.soda_live.scenario import MICRO_SECONDS, RAISED, Scenario

_WORST_RANK = 3
_WINDOW_SECONDS = 15.0


def learned_prices(scenario: Scenario, samples: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """The mips of a tuple a second, by job and template, over all that the service has measured.

    A template that never ran is taken at what was expected.
    """
    prices = {}
    for job in scenario.jobs:
        for template in job.templates:
            told = [s for s in samples if (s["job"], s["template"]) == (job.name, template.id) and s["ingest_tps"] > 0]
            taken = sum(s["ingest_tps"] * s["seconds"] for s in told)
            used = sum(s["mips"] * s["seconds"] for s in told)
            prices[job.name, template.id] = used / taken if taken else scenario.expected_price(job, template)
    return prices


def report(bench: Bench, scenario: Scenario, name: str, record: Record, importance: list[float]) -> None:
    """A row for each phase of a way: importance, and the tuples a second of each job."""
    for since, until, phase in scenario.spans():
        bins = [i for i in range(len(importance)) if since <= (i + 0.5) * BIN_SECONDS < until]
        mean = sum(importance[i] for i in bins) / max(1, len(bins))
        rates = {
            job.name: sum(record.rates(job.name, scenario.seconds)[i][0] for i in bins) / max(1, len(bins))
            for job in scenario.jobs
        }
        bench.row(way=name, phase=phase.name, seconds=round(until - since), importance=mean, **rates)


def report_optimum(bench: Bench, scenario: Scenario, by_phase: list[float]) -> None:
    """A row for each phase of the optimum."""
    for (since, until, phase), best in zip(scenario.spans(), by_phase, strict=True):
        bench.row(way="optimum", phase=phase.name, seconds=round(until - since), importance=best)


def check_behaviour(bench: Bench, scenario: Scenario, record: Record, prices: Mapping[tuple[str, str], float]) -> None:
    """Hold what the service did in each phase against what is right."""
    wanted = sum(scenario.full_tps(job) * prices[job.name, job.templates[0].id] for job in scenario.jobs)
    spans = scenario.spans()
    raised, halved = spans[2][0], spans[3]
    before = _rate(record, RAISED, raised - _WINDOW_SECONDS, raised)
    after = raised + 2 * MICRO_SECONDS
    shifted = _rate(record, RAISED, after, after + _WINDOW_SECONDS) / max(before, 1e-9)
    at_half, at_end = _state(record, halved[1]), _state(record, scenario.seconds)
    worst = [job.name for job in scenario.jobs if job.rank == _WORST_RANK]
    better = [job.name for job in scenario.jobs if job.rank < _WORST_RANK]
    bench.check("what the jobs ask for at full load, of the machine", wanted / scenario.mips, at_least=2.0, timed=True)
    bench.check(
        "throughput of the job whose weight was raised, two micro epochs later, beside before",
        shifted,
        at_least=1.5,
        timed=True,
    )
    bench.check("jobs of rank 3 on half of the cores", _count(worst, at_half), at_most=0, timed=True)
    bench.check("jobs of better ranks on half of the cores", _count(better, at_half), at_least=len(better), timed=True)
    bench.check("jobs of rank 3 when all cores are back", _count(worst, at_end), at_least=len(worst), timed=True)
    light = [name for name, template in at_half.items() if template == "light"]
    bench.check("degraded templates on half of the cores", len(light), at_least=1, timed=True)
    light = [name for name, template in at_end.items() if template == "light"]
    bench.check("degraded templates when mips are no longer short", len(light), at_most=0, timed=True)


def _rate(record: Record, job: str, since: float, until: float) -> float:
    """The tuples a second that a job gave between two moments."""
    known = [c for c in record.counts.get(job, []) if since <= c.at - record.start <= until]
    if len(known) < 2:
        return 0.0
    return (known[-1].given - known[0].given) / (known[-1].at - known[0].at)


def _state(record: Record, seconds: float) -> dict[str, str]:
    """Which jobs ran at a moment, by which template."""
    return next((state for at, state in reversed(record.states) if at <= seconds), {})


def _count(names: list[str], state: Mapping[str, str]) -> int:
    return sum(name in state for name in names)
