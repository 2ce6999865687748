"""What `bench soda-live` counts as delivered."""

from __future__ import annotations

import pytest

from penstock.bench.soda_live.delivered import Count, Record, importance_over_time
from penstock.bench.soda_live.live_jobs import PIECE, due
from penstock.bench.soda_live.scenario import JOBS, Scenario

START = 1000.0


def record(*counts: tuple[float, int, str], job: str = "report") -> Record:
    found = Record(start=START)
    for at, given, template in counts:
        found.note({job: Count(at=START + at, given=given, taken=given, template=template)})
    return found


def test_what_came_between_two_counts_lies_between_them() -> None:
    found = record((0.0, 0, "full"), (5.0, 100, "full"), (12.0, 800, "full"))
    assert found.rates("report", 15.0) == [(20.0, "full"), (100.0, "full"), (40.0, "full")]
    assert found.rates("nobody", 10.0) == [(0.0, ""), (0.0, "")]


def test_a_job_that_waits_for_long_has_worked_in_the_end_alone() -> None:
    rates = [rate for rate, _ in record((0.0, 0, "full"), (30.0, 100, "full")).rates("report", 30.0)]
    assert rates == pytest.approx([0, 0, 0, 0, 10, 10])


def test_what_was_given_before_the_start_does_not_count() -> None:
    rates = [
        rate for rate, _ in record((-10.0, 0, "full"), (0.0, 500, "full"), (5.0, 600, "full")).rates("report", 5.0)
    ]
    assert rates == [20.0]


def test_the_same_count_again_is_not_kept() -> None:
    assert len(record((0.0, 5, "full"), (1.0, 5, "full"), (2.0, 6, "full")).counts["report"]) == 2


def test_importance_has_the_weights_of_the_phase_and_the_template() -> None:
    world = Scenario(seconds=50.0, jobs=JOBS, cores=2, round_seconds=1e-7)
    full = world.full_tps(world.job("report"))
    by = {t: importance_over_time(world, record((0.0, 0, t), (50.0, full * 50, t))) for t in ("full", "light")}
    assert by["light"][-1] == pytest.approx(0.6 * by["full"][-1])
    assert by["full"][-1] == pytest.approx(world.job("report").value)
    archive = world.full_tps(world.job("archive"))
    counts = [(float(at), archive * at, "only") for at in range(51)]
    found = importance_over_time(world, record(*counts, job="archive"))
    spans = [(since, until) for since, until, _ in world.spans()]
    assert found[1] == pytest.approx(50.0)
    assert found[int((spans[2][0] + 4) // 5)] == pytest.approx(8 * 50.0)
    # Nothing above the full rate earns more.
    twice = importance_over_time(world, record(*[(at, 2 * n, t) for at, n, t in counts], job="archive"))
    assert twice == found


def test_a_feed_gives_what_its_schedule_says_in_pieces() -> None:
    schedule = {"began": 100.0, "loads": [[0.0, 400.0], [10.0, 1000.0]]}
    assert [due(schedule, 100.0 + at) for at in (0, 1, 10, 12)] == [0, 400, 4000, 6000]
    assert due(schedule, 100.9) == PIECE
    assert due({"most": 77}, 0.0) == 77
