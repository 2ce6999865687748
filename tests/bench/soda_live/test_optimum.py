"""The optimum of `bench soda-live`, beside a search that tries everything."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest
from scipy.optimize import linprog

from penstock.bench.soda_live.optimum import best_importance
from penstock.bench.soda_live.scenario import CORE_MIPS, JOBS, PHASES, QUICK_JOBS, LiveJob, Phase, Scenario


def scenario(jobs: tuple[LiveJob, ...], seconds: float = 100.0) -> Scenario:
    return Scenario(seconds=seconds, jobs=jobs, cores=2, round_seconds=1e-7)


def tried(world: Scenario, prices: dict[tuple[str, str], float], phase: Phase) -> float:
    """The most that a phase can earn where feeds have everything: all sets, and a linear program for each."""
    best = 0.0
    for chosen in product(*([None, *job.templates] for job in world.jobs)):
        runs = {job.name: t for job, t in zip(world.jobs, chosen, strict=True) if t is not None}
        left_out = [job.rank for job in world.jobs if job.name not in runs]
        if any(world.job(name).rank > min(left_out, default=99) for name in runs):
            continue
        jobs = [world.job(name) for name in runs]
        # The mips of each are what is chosen: at least its least, and its tuples follow.
        bounds = [(runs[j.name].min_mips, CORE_MIPS) for j in jobs]
        if not jobs or sum(low for low, _ in bounds) > world.mips * phase.capacity:
            continue
        gains, rows, most = [], [[1.0] * len(jobs)], [world.mips * phase.capacity]
        for i, job in enumerate(jobs):
            price, full = prices[job.name, runs[job.name].id], world.full_tps(job)
            gain = phase.weights.get(job.name, 1.0) * runs[job.name].weight * job.value / full / price
            # What is above the full rate earns nothing: a variable for what counts.
            gains.append(gain)
            rows.append([float(k == i) for k in range(len(jobs))])
            most.append(max(bounds[i][0], full * price))
        found = linprog([-g for g in gains], A_ub=rows, b_ub=most, bounds=bounds)
        if found.success:
            counted = 0.0
            for gain, mips, job in zip(gains, found.x, jobs, strict=True):
                counted += gain * min(mips, world.full_tps(job) * prices[job.name, runs[job.name].id])
            best = max(best, counted)
    return best


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_is_that_of_a_search_through_everything(seed: int) -> None:
    chance = random.Random(seed)
    jobs = tuple(
        replace(job, value=chance.uniform(20, 400), rank=chance.randint(1, 3), follows=None) for job in JOBS[2:5]
    )
    world = scenario(jobs)
    prices = {(job.name, t.id): chance.uniform(0.2, 1.5) for job in jobs for t in job.templates}
    plenty = {job.name: 1e9 for job in jobs}
    _, by_phase = best_importance(world, prices, plenty, world.mips)
    for phase, earned in zip(PHASES, by_phase, strict=True):
        assert earned == pytest.approx(tried(world, prices, phase), rel=1e-4)


def test_nobody_takes_what_has_not_come() -> None:
    world = scenario(QUICK_JOBS)
    prices = {(job.name, t.id): 1e-3 for job in QUICK_JOBS for t in job.templates}
    best, by_phase = best_importance(world, prices, {}, world.mips)
    # Everything that comes is taken sooner or later, and the best weight is there when it counts.
    come = sum(
        phase.share * phase.weights.get(job.name, 1.0) * job.value * phase.loads.get(job.name, 1.0)
        for phase in PHASES
        for job in QUICK_JOBS
    )
    assert best == pytest.approx(come, rel=1e-4)
    assert best == pytest.approx(sum(b * p.share for b, p in zip(by_phase, PHASES, strict=True)), rel=1e-4)
    more, _ = best_importance(world, prices, {"report": 1e6}, world.mips)
    assert more > best


def test_who_follows_another_takes_what_that_one_has_given() -> None:
    world = scenario(tuple(job for job in JOBS if job.name in ("orders", "fraud")))
    prices = {(job.name, t.id): 1e-3 for job in world.jobs for t in job.templates}
    prices["orders", "only"] = 10.0
    best, _ = best_importance(world, prices, {}, world.mips)
    given = CORE_MIPS / 10.0 / world.full_tps(world.job("orders"))
    assert 0.8 * given * 500.0 < best <= given * 500.0 + 1e-3
    # What was given before the run is there to be taken, at the full rate.
    more, _ = best_importance(world, prices, {"orders": 1e9}, world.mips)
    assert more > 0.9 * 200.0
