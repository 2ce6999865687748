"""Whatever is killed, and whenever, every sink holds what the reference gives it, in order, once."""

from __future__ import annotations

import os

import pytest

from penstock.bench.crashes import crash_jobs

pytestmark = pytest.mark.xdist_group("spark-commands")

MORE = int(os.environ.get("PENSTOCK_CRASHES", "1"))
"""How many times as many jobs as in continuous integration."""


@pytest.mark.parametrize(("victim", "jobs", "kills"), [("worker", 2, 2), ("executor", 1, 2), ("driver", 1, 2)])
def test_a_killed_part_changes_no_sink(victim, jobs, kills):
    crashes = list(crash_jobs(victim, range(jobs * MORE), kills=kills))
    for crash in crashes:
        print(f"{victim}, seed {crash.seed}: killed after batches {crash.kills}, {crash.restarts} restarts")
    assert [crash for crash in crashes if not crash.is_equal] == []
    assert all(len(crash.kills) == kills for crash in crashes)
