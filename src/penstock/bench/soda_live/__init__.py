"""Six real jobs under `penstock serve`, beside two other ways to share a machine and the optimum.

The jobs have three ranks; two have a degraded template, one takes what another gives. Together they ask for twice what
two cores can do. While they run, loads, a weight and the number of cores change: half of the cores are really taken
from all processes. Compared is the importance of what was delivered, from the moment on when the jobs work:

- `service`: under `penstock serve` (`by_service`), each job an application that `penstock.spark` runs;
- `pools`: all in one Spark application, each in a FAIR pool (`by_fair_pools`);
- `priority`: admitted by priority, evicted where they do not fit, as Storm does it (`by_priority`);
- `optimum`: computed afterwards from the prices that were measured (`optimum`).

With `--quick` two jobs run under the service alone, for some seconds.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace

from penstock.bench import Bench
from penstock.bench.soda_live.delivered import importance_over_time
from penstock.bench.soda_live.optimum import best_importance
from penstock.bench.soda_live.playing import WAYS, open_scenario, play
from penstock.bench.soda_live.reporting import check_behaviour, report, report_optimum

SECONDS, QUICK_SECONDS = 600.0, 15.0
QUICK_WAYS = ("service",)
_BASELINES = {"pools": "FAIR pools", "priority": "eviction by priority"}


def run(bench: Bench) -> None:
    """Play the scenario in each way, and hold the importance against the optimum."""
    seconds = bench.seconds or (QUICK_SECONDS if bench.quick else SECONDS)
    parts = bench.out / "soda-live"
    scenario = open_scenario(parts, seconds, quick=bench.quick)
    played = {name: play(scenario, name, parts, bench.progress) for name in (QUICK_WAYS if bench.quick else WAYS)}
    service = played["service"]
    scenario = replace(scenario, seconds=service.seconds)
    first = scenario.spans()[0][2]
    arrived = {job.name: service.waited * scenario.load(job, first) for job in scenario.jobs}
    best, by_phase = best_importance(scenario, service.prices, arrived, scenario.mips)
    lengths = {name: replace(scenario, seconds=found.seconds) for name, found in played.items()}
    importance = {name: importance_over_time(lengths[name], found.record) for name, found in played.items()}
    for name, found in played.items():
        report(bench, lengths[name], name, found.record, importance[name])
    report_optimum(bench, scenario, by_phase)
    mean = {name: sum(found) / len(found) for name, found in importance.items()}
    for name, found in played.items():
        share = sum(found.answers.values()) / len(found.answers)
        bench.check(f"share of jobs whose output equals its reference, {name}", share, at_least=1.0)
    bench.check("delivered importance, as a share of the optimum", mean["service"] / best, at_least=0.85, timed=True)
    for name, words in _BASELINES.items():
        if name not in mean:
            continue
        ratio = mean["service"] / max(mean[name], 1e-9)
        bench.check(f"delivered importance beside {words}", ratio, at_least=1.0, timed=True)
    check_behaviour(bench, scenario, service.record, service.prices)
    _draw(bench, importance, [phase.share for _, _, phase in scenario.spans()], by_phase)
    # What was kept in case that it had not come to its end.
    shutil.rmtree(parts)


def _draw(bench: Bench, importance: Mapping[str, list[float]], shares: list[float], by_phase: list[float]) -> None:
    with bench.figure("soda_live", title="Importance", xlabel="share of the run", ylabel="importance") as axes:
        for name, found in importance.items():
            axes.plot([(i + 0.5) / len(found) for i in range(len(found))], found, label=name)
        edges = [sum(shares[:i]) for i in range(len(shares) + 1)]
        axes.step(edges, [*by_phase, by_phase[-1]], where="post", label="optimum", linestyle="--")
        axes.set_ylim(bottom=0)
        axes.legend()
