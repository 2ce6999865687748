"""A few hundred random programs; the seeds of a long run are given to `python -m tests.fuzz`."""

from __future__ import annotations

import pytest

from .check import check_seed
from .generate import Size

SEEDS = range(300)
A_TEST = 50


@pytest.mark.parametrize("first", SEEDS[::A_TEST])
def test_random_programs_mean_the_same_compiled(first):
    reports = [report for _, report in map(_check, range(first, first + A_TEST)) if report is not None]
    assert not reports, "\n".join(reports)


@pytest.mark.parametrize("first", [0, 8])
def test_state_in_a_store_and_in_files_survives_what_goes_wrong(first):
    reports = [report for _, report in map(_check_state, range(first, first + 8)) if report is not None]
    assert not reports, "\n".join(reports)


def _check(seed):
    return check_seed((seed, Size(), True))


def _check_state(seed):
    return check_seed((seed, None, True))
