"""Tables 2 and 3 of the SODA paper, against an exact computation that shares nothing with macroQ.

Importance functions run through the published points, all of which are multiples of 200 mips, as are the capacities.
Of a best division at most one job lies inside a linear piece (two could trade until one meets a point), so the best
division on a grid of 200 mips is the best of all. The grid is small enough for the textbook dynamic program.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock import bench
from penstock.base.diagnostics import Infeasible
from penstock.bench.workloads.soda_jobs import (
    RANKS,
    published_importance,
    published_mips,
    published_problem,
    published_waterline,
)
from penstock.scheduler.macroq.macroq import solve

UNIT_MIPS = 200
PERCENTS = sorted(published_importance(), reverse=True)
LATER_THAN_PUBLISHED = (60, 55)
"""Where jobs of rank 3 still pay, while the paper admits none."""


def published_points(job: str) -> list[tuple[float, float]]:
    """The points of a job as they stand in the files, the 75 percent row left out."""
    folder = Path(bench.__file__).parent / "data"
    tables = [
        list(csv.DictReader((folder / name).open()))
        for name in ("soda_table2_mips_hundreds.csv", "soda_table3_importance.csv")
    ]
    best: dict[float, float] = {}
    for mips, importance in zip(*tables, strict=True):
        if mips[job] and mips["percent_of_nodes"] != "75":
            amount = 100 * float(mips[job])
            best[amount] = max(best.get(amount, 0.0), float(importance[job]))
    return sorted(best.items())


def best_importance(percent: int, waterline: int) -> float:
    """The best at a waterline: jobs of better rank and required ones are in, jobs of that rank may be."""
    units = 11_000 * percent // UNIT_MIPS
    table = np.zeros(units + 1)
    for job, rank in RANKS.items():
        if rank <= waterline:
            table = with_job(table, published_points(job), must=rank < waterline or rank == 1)
    return float(table[-1])


def with_job(table: NDArray[np.float64], points: list[tuple[float, float]], *, must: bool) -> NDArray[np.float64]:
    found = np.full(len(table), -np.inf) if must else table.copy()
    mips, importance = zip(*points, strict=True)
    least, most = (int(x) // UNIT_MIPS for x in (mips[0], mips[-1]))
    for taken in range(least, min(most, len(table) - 1) + 1):
        earned = np.interp(taken * UNIT_MIPS, mips, importance)
        found[taken:] = np.maximum(found[taken:], table[: len(table) - taken] + earned)
    return np.maximum.accumulate(found)


def test_the_grid_holds_every_published_point_and_capacity() -> None:
    numbers = [mips for job in RANKS for mips, _ in published_points(job)]
    assert all(number % UNIT_MIPS == 0 for number in [*numbers, *(11_000 * percent for percent in PERCENTS)])


@pytest.mark.parametrize("percent", PERCENTS)
def test_the_answer_is_the_best_there_is_and_at_least_the_published_one(percent: int) -> None:
    answer = solve(published_problem(percent))
    by_waterline = {line: best_importance(percent, line) for line in (1, 2, 3)}
    assert answer.importance == pytest.approx(max(by_waterline.values()))
    assert by_waterline[answer.waterline] == pytest.approx(answer.importance)
    assert answer.importance >= sum(published_importance()[percent].values())
    assert answer.mips_used <= 11_000 * percent


@pytest.mark.parametrize("percent", PERCENTS)
def test_the_waterline_is_the_published_one_but_where_a_higher_one_earns_more(percent: int) -> None:
    answer, line = solve(published_problem(percent)), published_waterline(percent)
    if percent not in LATER_THAN_PUBLISHED:
        assert answer.waterline == line
    else:
        assert (answer.waterline, line) == (3, 2)
        assert best_importance(percent, 3) > max(best_importance(percent, 1), best_importance(percent, 2)) + 100


@pytest.mark.parametrize("percent", PERCENTS)
def test_held_to_the_published_waterline_the_answer_still_earns_at_least_as_much(percent: int) -> None:
    line = published_waterline(percent)
    answer = solve(published_problem(percent, waterline=line))
    assert answer.waterline == line
    assert answer.importance == pytest.approx(best_importance(percent, line))
    assert answer.importance >= sum(published_importance()[percent].values())


def test_published_points_alone_beat_the_published_answer_at_60_percent_with_a_job_of_rank_3() -> None:
    """No interpolation: D, F and H are given what the paper gave them at 30 %, R what it gave it at 80 %."""
    mips, importance = published_mips()[60], published_importance()[60]
    earned = sum(importance.values())
    for job, row in (("D", 30), ("F", 30), ("H", 30), ("R", 80)):
        mips[job], importance[job] = published_mips()[row][job], published_importance()[row][job]
    assert set(mips) == {job for job, rank in RANKS.items() if rank <= 2} | {"R"}
    assert sum(mips.values()) <= 660_000
    assert sum(importance.values()) == earned + 229


def test_all_jobs_are_in_at_100_and_95_percent() -> None:
    for percent in (100, 95):
        assert all(verdict.admitted for verdict in solve(published_problem(percent)).jobs.values())


def test_the_waterline_falls_from_3_to_2_to_1_as_the_cluster_shrinks() -> None:
    lines = [solve(published_problem(percent)).waterline for percent in PERCENTS]
    assert lines == sorted(lines, reverse=True)
    assert set(lines) == {3, 2, 1}


def test_the_required_jobs_do_not_fit_on_a_fifth_of_the_nodes() -> None:
    with pytest.raises(Infeasible):
        solve(published_problem(20))
