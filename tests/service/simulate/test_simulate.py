"""Simulated worlds: every epoch's plan is legal, changes have their effect, and quiet worlds stay quiet."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.base.diagnostics import UserError
from penstock.scheduler.problem.ranks import is_rank_legal
from penstock.service.decide.problem_of import problem_of
from penstock.service.simulate.scenario import scenario_from_json
from penstock.service.simulate.simulate import Epoch, simulate


def job(name: str, rank: int = 1, **more: Any) -> dict[str, Any]:
    template = {"mips_per_tps": 1, "offered_tps": 400, "min_mips": 100, "max_mips": 400, **more}
    return {
        "name": name,
        "rank": rank,
        "templates": [{**template, "streams": [{"name": "S", "value": {"table": [[0, 0], [200, 200], [400, 260]]}}]}],
    }


def play(jobs: list[dict[str, Any]], events: list[dict[str, Any]], mips: float = 1000, epochs: int = 20) -> list[Epoch]:
    world = {"nodes": {"local": mips}, "epochs": epochs, "jobs": jobs, "events": events}
    return list(simulate(scenario_from_json(world), micro_seconds=2.0, macro_seconds=10.0))


def test_a_heavier_job_earns_more_within_two_micro_epochs() -> None:
    played = play([job("a"), job("b")], [{"epoch": 12, "weights": {"b": 5}}], mips=500)
    before, after = played[11].plan.grants, played[13].plan.grants
    assert before["a"].ingest_tps == pytest.approx(before["b"].ingest_tps, rel=1.1)
    assert after["b"].mips > before["b"].mips
    assert after["b"].mips == pytest.approx(400)
    assert all(not epoch.stopped for epoch in played)


def test_capacity_that_goes_evicts_the_worst_rank_and_brings_it_back() -> None:
    events = [{"epoch": 5, "mips": {"local": 250}}, {"epoch": 12, "mips": {"local": 1000}}]
    played = play([job("one", 1), job("two", 2), job("three", 3)], events)
    assert [epoch.number for epoch in played if epoch.stopped] == [5]
    assert played[5].stopped == ("three",)
    assert "needs 50 mips more" in played[5].plan.refusals["three"]
    assert played[12].started == ("three",)


def test_a_quiet_world_has_no_changes_after_its_first_epoch() -> None:
    played = play([job(f"j{n}", 1 + n % 3, min_mips=150 + 7 * n) for n in range(8)], [], epochs=30)
    assert [(epoch.started, epoch.stopped) for epoch in played[1:]] == [((), ())] * 29


def test_required_jobs_that_do_not_fit_keep_nobody_waiting() -> None:
    events = [{"epoch": 3, "arrives": {**job("big", min_mips=5000, max_mips=6000), "required": True}}]
    played = play([job("a")], events, epochs=6)
    assert played[3].plan.refusals["big"] == "rejected: required, needs 4,000 mips more"
    assert [set(epoch.plan.grants) for epoch in played] == [{"a"}] * 6


@pytest.mark.parametrize("seed", range(3))
def test_every_epoch_of_a_random_world_is_legal(seed: int) -> None:
    chance = random.Random(seed)
    jobs = [job(f"j{n}", chance.randint(1, 3), min_mips=chance.choice((100, 200, 300))) for n in range(5)]
    events: list[dict[str, Any]] = []
    for epoch in range(2, 25, 3):
        name = f"j{chance.randrange(5)}"
        events.append(
            chance.choice(
                [
                    {"epoch": epoch, "mips": {"local": chance.choice((150, 400, 900, 1500))}},
                    {"epoch": epoch, "weights": {name: chance.choice((0, 0.5, 3))}},
                    {"epoch": epoch, "offered_tps": {name: chance.choice((10, 100, 800))}},
                    {"epoch": epoch, "leaves": name},
                ]
            )
        )
    scenario = scenario_from_json({"nodes": {"local": 1000}, "epochs": 27, "jobs": jobs, "events": events})
    views = {view.id: view for view in scenario.jobs}
    for epoch in simulate(scenario, micro_seconds=2.0, macro_seconds=10.0):
        assert epoch.plan.mips_used <= epoch.mips * (1 + 1e-6)
        if epoch.kind == "macro":
            here = [views[name] for name in (*epoch.plan.grants, *epoch.plan.refusals)]
            problem = problem_of(here, epoch.mips)
            choice = {n: problem.job(n).template(g.template) for n, g in epoch.plan.grants.items()}
            assert is_rank_legal(problem.jobs, choice)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "the problem is a list"),
        ({}, "the scenario has no nodes"),
        ({"nodes": {"a": 1}, "jobs": [{"name": "x"}]}, "job `x` has no templates"),
        ({"nodes": {"a": 1}, "epochs": 10**9}, "write at most 100,000"),
        ({"nodes": {"a": 1}, "events": [{"epoch": 1, "leaves": "ghost"}]}, "names job `ghost`, which does not exist"),
        ({"nodes": {"a": 1}, "events": [{"epoch": 1, "mips": {"b": 1}}]}, "names node `b`, which does not exist"),
        ({"nodes": {"a": 1}, "jobs": [job("x"), job("x")]}, "the id `x` is given to"),
    ],
    ids=range(7),
)
def test_a_scenario_that_is_wrong_is_refused(document: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        scenario_from_json(document)
