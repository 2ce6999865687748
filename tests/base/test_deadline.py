import pytest

from penstock.base.deadline import Deadline, OutOfTime


def _at(now: float, seconds: float | None) -> Deadline:
    readings = iter([0.0])
    return Deadline.after(seconds, clock=lambda: next(readings, now))


def test_time_is_up_when_the_clock_reaches_it() -> None:
    assert not _at(0.9, 1.0).has_passed()
    assert _at(1.0, 1.0).has_passed()


def test_a_check_raises_when_time_is_up() -> None:
    _at(0.9, 1.0).check()
    with pytest.raises(OutOfTime):
        _at(1.0, 1.0).check()


def test_never_stays_never() -> None:
    never = _at(1e12, None)
    assert not never.has_passed()
    assert never.share(0.5).left() == never.earlier_by(3.0).left() == float("inf")
    assert never.sooner(2.0).left() == 2.0


def test_a_share_and_an_earlier_deadline_never_come_later() -> None:
    deadline = _at(4.0, 10.0)
    assert deadline.share(0.5).left() == 3.0
    assert deadline.earlier_by(1.0).left() == 5.0
    assert deadline.sooner(100.0).left() == 6.0
    assert deadline.elapsed() == deadline.sooner(1.0).elapsed() == 4.0
