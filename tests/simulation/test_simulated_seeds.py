"""Some hundred histories; the seeds of a long run are given to `python -m tests.simulation`."""

from __future__ import annotations

import pytest

from .check import check_seed

SEEDS = range(200)
A_TEST = 25


@pytest.mark.parametrize("first", SEEDS[::A_TEST])
def test_whatever_happens_to_a_job_its_sinks_hold_what_the_reference_gives_them(first):
    checked = (check_seed((seed, True)) for seed in range(first, first + A_TEST))
    reports = [report for _, report in checked if report is not None]
    assert not reports, "\n".join(reports)
