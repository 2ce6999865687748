"""The ingest limit: what a job takes in over any time, whatever its batches are like and however the limit changes."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.ingest.ingest_limit import FILE, Throttle, most_turns, read_limit, write_limit


class Job:
    """A job on a clock of its own, whose batches have the sizes that it is told."""

    def __init__(self, folder: Path) -> None:
        self.now, self.given = 100.0, 0
        self.throttle = Throttle(folder, lambda: self.given, now=lambda: self.now, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def batch(self, size: int, seconds: float) -> float:
        """Process a batch; when it began."""
        self.throttle.wait()
        began = self.now
        self.given += size
        self.now += seconds
        return began


SIZES = st.lists(st.tuples(st.integers(0, 10_000), st.floats(0, 5)), min_size=2, max_size=20)


@given(SIZES, st.floats(1, 10_000))
def test_over_any_time_a_job_takes_no_more_than_the_limit_and_one_batch(
    batches: list[tuple[int, float]], limit: float
) -> None:
    with TemporaryDirectory() as folder:
        write_limit(Path(folder), limit)
        job = Job(Path(folder))
        began = [job.batch(size, seconds) for size, seconds in batches]
    sizes = [size for size, _ in batches]
    for first in range(len(began)):
        for last in range(first + 1, len(began)):
            assert sum(sizes[first:last]) <= limit * (began[last] - began[first]) + 1e-3


@given(SIZES)
def test_without_a_limit_nobody_waits(batches: list[tuple[int, float]]) -> None:
    with TemporaryDirectory() as folder:
        job = Job(Path(folder))
        for size, seconds in batches:
            job.batch(size, seconds)
    assert job.throttle.waited_seconds == 0


def test_a_job_that_waits_sees_another_limit_at_once(tmp_path: Path) -> None:
    write_limit(tmp_path, 1.0)
    job = Job(tmp_path)
    job.batch(0, 0)
    job.batch(1_000, 0)
    ticks = 0

    def sleep(seconds: float) -> None:
        nonlocal ticks
        ticks += 1
        job.now += seconds
        if ticks == 5:
            write_limit(tmp_path, None)

    job.throttle._sleep = sleep
    job.batch(1, 0)
    assert ticks == 5


def test_a_job_that_is_to_stop_waits_no_more(tmp_path: Path) -> None:
    write_limit(tmp_path, 1.0)
    given_so_far = [0]
    throttle = Throttle(tmp_path, lambda: given_so_far[0])
    throttle.wait()
    given_so_far[0] = 1_000_000
    throttle.stop()
    throttle.wait()
    assert throttle.waited_seconds == 0


def test_a_resumed_job_does_not_pay_for_what_it_took_in_before(tmp_path: Path) -> None:
    write_limit(tmp_path, 1.0)
    job = Job(tmp_path)
    job.given = 1_000_000
    job.batch(1, 0)
    assert job.throttle.waited_seconds == 0


NO_LIMITS = """|{|[]|{}|{"tuples_per_second": null}|{"tuples_per_second": "5"}|{"tuples_per_second": -5}
{"tuples_per_second": 0}|{"tuples_per_second": true}|{"tuples_per_second": 1e999}|{"tuples_per_second": NaN}|ÿ"""


@pytest.mark.parametrize("text", NO_LIMITS.replace("\n", "|").split("|"))
def test_what_is_no_limit_limits_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert read_limit(tmp_path) is None
    assert most_turns(tmp_path, 7, 1) == 7


def test_a_batch_of_a_limited_job_has_a_tuple_at_least(tmp_path: Path) -> None:
    write_limit(tmp_path, 0.001)
    assert most_turns(tmp_path, 1000, 3) == 1
