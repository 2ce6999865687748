"""`penstock bench epochs`: importance over time while jobs come and go, nodes fail and weights change.

The same random scenario is played twice: with macro and micro epochs, and with macro epochs alone. Then macroW's
quick search is held against the exact program on problems that the program can solve.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from penstock.base.deadline import Deadline
from penstock.bench import Bench
from penstock.scheduler.macrow.exact_placement import solve
from penstock.scheduler.macrow.greedy_placement import place_greedily
from penstock.scheduler.macrow.metrics import objective
from penstock.scheduler.macrow.task import build_task
from penstock.scheduler.problem.nodes import Cluster, Node
from penstock.scheduler.simulation.epoch_simulator import Pace, Record, simulate
from penstock.scheduler.simulation.epochs import Climate, Scenario, random_job, random_scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEED = 2009
SMOOTHING_EPOCHS = 25
SHORTFALL_SHOWS = 1.0
"""An objective that is that much worse misses a part of the goals: one thousandth of them costs 1."""


def run(bench: Bench) -> None:
    """Play the scenario, compare, draw."""
    scenario = random_scenario(SEED, 60 if bench.quick else 2000, Climate())
    bench.progress(f"{len(scenario.events)} epochs with macro and micro decisions")
    both, both_figures = _play(scenario, micro=True)
    bench.progress(f"{len(scenario.events)} epochs with macro decisions alone")
    alone, alone_figures = _play(scenario, micro=False)
    for measure, figure in both_figures.items():
        bench.row(part="epochs", measure=measure, macro_and_micro=figure, macro_alone=alone_figures[measure])
    _check_records(bench, scenario, both, alone)
    _draw(bench, {"macro and micro": both, "macro alone": alone})
    bench.progress("macroW's quick search against the exact one")
    _compare_macrow(bench, 4 if bench.quick else 12)


def _play(scenario: Scenario, *, micro: bool) -> tuple[list[Record], dict[str, float]]:
    """The records of a run, and what they come to."""
    start = time.monotonic()
    records = simulate(scenario, Pace(micro=micro))
    seconds = time.monotonic() - start
    decided = [record for record in records if record.is_macro or micro]
    return records, {
        "epochs": len(records),
        "importance, mean": _mean([record.importance for record in records]),
        "importance projected, mean": _mean([record.projected for record in records]),
        "utilization, mean": _mean([record.used_mips / max(record.live_mips, 1.0) for record in records]),
        "jobs running, mean": _mean([record.jobs for record in records]),
        "jobs waiting, mean": _mean([record.waiting for record in records]),
        "jobs evicted": sum(record.evicted for record in records),
        "jobs left out, because they cannot be placed": sum(len(record.left_out) for record in records),
        "macro decisions proven the best, share": _mean([record.proven for record in records if record.is_macro]),
        "moves": sum(record.moves for record in records),
        "rules broken": sum(len(record.broken) for record in records),
        "decisions late": sum(not record.in_time for record in decided),
        "decisions infeasible": sum(bool(record.reason) for record in records),
        "ms for a macro decision": 1000 * _mean([record.seconds for record in decided if record.is_macro]),
        "ms for a micro decision": 1000 * _mean([record.seconds for record in decided if not record.is_macro]),
        "epochs a minute": 60 * len(records) / seconds,
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def _check_records(bench: Bench, scenario: Scenario, both: list[Record], macro: list[Record]) -> None:
    limit = scenario.cluster.rules.max_moves or 0
    earned, alone = (_mean([record.importance for record in records]) for records in (both, macro))
    bench.check("rules broken", sum(len(record.broken) for record in both + macro), at_most=0)
    bench.check("moves in one epoch", max(record.moves for record in both + macro), at_most=limit)
    bench.check("importance with micro epochs over macro epochs alone", earned / alone, at_least=1.0)
    bench.check("share of decisions in time", _mean([record.in_time for record in both]), at_least=0.99, timed=True)


def _draw(bench: Bench, records: dict[str, list[Record]]) -> None:
    smoothed = f"mean over {SMOOTHING_EPOCHS} epochs"
    title = f"Importance over time, {smoothed}"
    with bench.figure("epochs", title=title, xlabel="micro epoch", ylabel="importance") as axes:
        for policy, played in records.items():
            _plot_smooth(axes, [record.importance for record in played], policy)
        axes.set_ylim(bottom=0)
        axes.legend(loc="lower right")
    title = f"What the nodes can give and what is used, {smoothed}"
    with bench.figure("epochs-mips", title=title, xlabel="micro epoch", ylabel="mips") as axes:
        _plot_smooth(axes, [record.live_mips for record in records["macro and micro"]], "nodes that are up")
        for policy, played in records.items():
            _plot_smooth(axes, [record.used_mips for record in played], f"used, {policy}")
        axes.set_ylim(bottom=0)
        axes.legend(loc="lower right")


def _plot_smooth(axes: Axes, values: Sequence[float], label: str) -> None:
    smooth = np.convolve(values, np.ones(SMOOTHING_EPOCHS) / SMOOTHING_EPOCHS, mode="valid")
    axes.plot(np.arange(len(smooth)) + SMOOTHING_EPOCHS // 2, smooth, label=label, linewidth=1.2)


def _compare_macrow(bench: Bench, problems: int) -> None:
    """How far the quick search is from the best plan, on clusters with room and on clusters that are nearly full."""
    for name, fullness in (("87 % full", 0.87), ("98 % full", 0.98)):
        compared = [_quick_and_exact(seed, fullness) for seed in range(problems)]
        both = [pair for pair in compared if pair is not None]
        short = [quick for quick, exact in both if quick >= exact + SHORTFALL_SHOWS]
        ratios = [quick / exact for quick, exact in both if quick < exact + SHORTFALL_SHOWS]
        bench.row(
            part="macroW, the quick search against the exact one",
            cluster=name,
            problems=problems,
            without_quick_plan=problems - len(both),
            goals_missed_by_quick=len(short),
            mean_ratio_of_others=_mean(ratios),
            worst_ratio_of_others=max(ratios, default=0.0),
        )
        if fullness < 0.9:
            bench.check(
                f"macroW's quick search over the exact one, {name}", _mean([q / e for q, e in both]), at_most=1.25
            )


def _quick_and_exact(seed: int, fullness: float) -> tuple[float, float] | None:
    """The objectives of both searches on a random problem; None where one finds nothing."""
    rng = np.random.default_rng(seed)
    jobs = [random_job(rng, f"J{i}") for i in range(4)]
    pes = [pe for arrived in jobs for pe in arrived.job.templates[0].pes]
    mips = sum(pe.max_mips for pe in pes) / 4 / fullness
    nodes = tuple(Node(id=f"n{i}", mips=mips, bandwidth_mbps=100.0, tags=frozenset({"gpu"})) for i in range(4))
    needs = {pe: need for arrived in jobs for pe, need in arrived.needs.items()}
    rules = tuple(rule for arrived in jobs for rule in arrived.constraints)
    task = build_task(pes, {pe.id: pe.max_mips for pe in pes}, Cluster(nodes=nodes, needs=needs, constraints=rules))
    quick, best = place_greedily(task, Deadline.after(5.0)), solve(task, Deadline.after(10.0))
    if quick is None or best.fractions is None:
        return None
    return objective(task, quick[1]), objective(task, best.fractions)
