"""EventClock: when it sends a watermark, and what is refused."""

from __future__ import annotations

import pytest

from toolkit.harness import attribute, build, errors, start, word

SCHEMA = "int64 t"
TIME = {"time": attribute("t", SCHEMA), "resolution": word("Seconds")}
SECOND = 1_000_000_000


def sent(*times, **params):
    harness = start(build("EventClock", [SCHEMA], ["timestamp w"], {**TIME, **params}))
    return [w // SECOND for (w,) in harness.feed(*((t,) for t in times)).end().sent()]


def test_a_watermark_is_the_latest_time_and_never_falls():
    assert sent(3, 2, 3, 7, 5, 8) == [3, 7, 8]


def test_it_is_behind_the_latest_time_by_the_lag():
    assert sent(3, 9, 7, 20, lag=4.0) == [5, 16]


def test_it_is_sent_when_it_has_gone_on_by_the_least_gap():
    assert sent(1, 3, 5, 6, 12, minimumGap=5.0) == [1, 6, 12]


def test_times_up_to_1970_move_nothing():
    assert sent(-5, 0, 1) == [1]


def test_the_latest_time_of_all_ports_counts():
    both = {"time": [attribute("t", SCHEMA), attribute("t", SCHEMA, port=1)], "resolution": word("Seconds")}
    harness = start(build("EventClock", [SCHEMA, SCHEMA], ["timestamp w"], both))
    harness.feed((4,)).feed((3,), port=1).feed((6,), port=1).feed((5,))
    assert [w // SECOND for (w,) in harness.sent()] == [4, 6]


@pytest.mark.parametrize(
    ("outputs", "params", "message"),
    [
        ("int64 w", TIME, "the output of an EventClock has one attribute, a timestamp"),
        ("timestamp w", {**TIME, "lag": -1.0}, "`lag` is a number of seconds, 0 or more, found -1.0"),
        ("timestamp w", {"time": attribute("t", SCHEMA)}, "the event time is an integer, and its unit is not said"),
        ("timestamp w", {**TIME, "time": [attribute("t", SCHEMA)] * 2}, "`time` gives 2 times for 1 input ports"),
    ],
)
def test_what_is_refused(outputs, params, message):
    (found,) = errors("EventClock", [SCHEMA], [outputs], params)
    assert found.startswith(message)
