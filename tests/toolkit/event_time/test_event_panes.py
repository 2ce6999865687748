"""EventPanes: which panes are sent when, what they hold, and what is refused."""

from __future__ import annotations

import math

import pytest

from toolkit.harness import WINDOW, attribute, build, errors, start, word

SCHEMA, TOLD = "int64 t, float64 k", "timestamp s, timestamp e, uint64 i, enum{paneEarly, paneOnComplete, paneLate} p"
TIME = {"time": attribute("t", SCHEMA), "resolution": word("Seconds")}
SECOND = 1_000_000_000


def panes(outputs=f"{SCHEMA}, {TOLD}", clocks=1, **params):
    return build("EventPanes", [SCHEMA, *["timestamp w"] * clocks], [outputs], {**TIME, "size": 10.0, **params})


def told(harness):
    return [(t, k, s // SECOND, i, p) for t, k, s, _, i, p in harness.sent()]


def feed(harness, *steps):
    """Tuples are pairs; a number is a watermark."""
    for step in steps:
        if isinstance(step, tuple):
            harness.feed(step)
        else:
            harness.feed((step * SECOND,), port=1)
    return harness


def test_a_pane_is_sent_when_the_watermark_comes_to_its_end():
    harness = feed(start(panes()), (3, 0.0), (12, 0.0), 9)
    assert told(harness) == []
    assert told(feed(harness, 10)) == [(3, 0.0, 0, 0, "paneOnComplete")]
    assert told(harness.end()) == [(3, 0.0, 0, 0, "paneOnComplete")], "what is not complete is not sent at the end"


def test_a_late_tuple_sends_its_pane_again_with_the_next_watermark():
    harness = feed(start(panes(discardAge=5.0)), (3, 0.0), 11, (8, 1.0), 11, (5, 2.0), (6, 3.0), 12)
    late = [(t, k, 0, 1, "paneLate") for t, k in ((3, 0.0), (8, 1.0), (6, 3.0))]
    assert told(harness) == [(3, 0.0, 0, 0, "paneOnComplete"), *late], "5 is more than 5 s behind 11"


def test_a_pane_that_begins_late_is_complete_for_the_first_time():
    harness = feed(start(panes(discardAge=9.0)), 15, (7, 0.0), 16)
    assert told(harness) == [(7, 0.0, 0, 0, "paneOnComplete")]


def test_only_partitions_with_new_tuples_are_sent_again_and_nan_is_a_key():
    by_k = {"partitionBy": attribute("k", SCHEMA), "discardAge": 99.0}
    harness = feed(start(panes(**by_k)), (1, math.nan), (2, 1.0), (3, -math.nan), 10, (4, math.nan), 20)
    assert [t for t, *_ in told(harness)] == [1, 3, 2, 1, 3, 4]
    assert harness.all().count(WINDOW) == 3


def test_a_tuple_is_in_all_intervals_around_it_and_none_begins_before_1970():
    harness = feed(start(panes(size=6.0, period=2.0, offset=1.0)), (4, 0.0), 100)
    assert [s for _, _, s, _, _ in told(harness)] == [1, 3]
    harness = feed(start(panes(size=2.0, period=5.0)), (3, 0.0), (6, 0.0), 100)
    assert [s for _, _, s, _, _ in told(harness)] == [5]


def test_it_waits_for_the_slowest_clock():
    harness = start(panes(outputs=SCHEMA, clocks=2))
    harness.feed((1, 0.0)).feed((50 * SECOND,), port=1).feed((9 * SECOND,), port=2)
    assert harness.sent() == []
    assert harness.feed((10 * SECOND,), port=2).sent() == [(1, 0.0)]


@pytest.mark.parametrize(
    ("inputs", "outputs", "params", "message"),
    [
        ([SCHEMA, "int64 w"], SCHEMA, {}, "the further inputs of an EventPanes are watermarks"),
        ([SCHEMA, "timestamp w"], "int64 t", {}, "the output of an EventPanes has the attributes of its first input"),
        (
            [SCHEMA, "timestamp w"],
            SCHEMA,
            {"size": 0.0},
            "`intervalDuration` is a number of seconds, above 0",
        ),
        ([SCHEMA, "timestamp w"], SCHEMA, {"offset": 10.0}, "`intervalOffset` must be smaller than `intervalDuration`"),
    ],
)
def test_what_is_refused(inputs, outputs, params, message):
    (found,) = errors("EventPanes", inputs, [outputs], {**TIME, "size": 10.0, **params})
    assert found.startswith(message)
