"""EventWindows: when windows close, and what is refused."""

from __future__ import annotations

import pytest

from feeding import feed, run_graph
from penstock.base.diagnostics import UserError
from toolkit.harness import attribute, build, errors, run, start, word

SCHEMA = "int64 t, rstring k"
OUT = f"{SCHEMA}, timestamp start, timestamp end, boolean closes"
TIME = {"time": attribute("t", SCHEMA), "resolution": word("Seconds")}
BY_K = {**TIME, "partitionBy": attribute("k", SCHEMA)}
SECOND = 1_000_000_000


def windows(**params):
    return build("EventWindows", [SCHEMA], [OUT], {**BY_K, **params})


def closes(harness):
    return [(k, start // SECOND, end // SECOND) for _, k, start, end, is_close in harness.sent() if is_close]


def test_a_tuple_of_any_key_closes_the_windows_of_all():
    harness = start(windows(size=10.0)).feed((1, "a"), (2, "b"), (9, "a"))
    assert closes(harness) == []
    assert closes(harness.feed((10, "c"))) == [("a", 0, 10), ("b", 0, 10)]
    assert closes(harness.end()) == [("a", 0, 10), ("b", 0, 10), ("c", 10, 20)]


def test_a_close_stands_before_the_tuple_that_brings_it_about():
    harness = start(windows(size=10.0)).feed((1, "a"), (10, "a"))
    assert [(t, is_close) for t, _, _, _, is_close in harness.sent()] == [(1, False), (0, True), (10, False)]


def test_the_earliest_end_closes_first():
    harness = start(windows(gap=5.0)).feed((1, "a"), (2, "b"), (4, "a"), (50, "c"))
    assert closes(harness) == [("b", 2, 7), ("a", 1, 9)]


def test_a_gap_that_is_just_not_exceeded_ends_no_session():
    assert closes(run(windows(gap=5.0), (1, "a"), (6, "a"), (12, "a"))) == [("a", 1, 11), ("a", 12, 17)]


def test_windows_that_overlap_close_one_after_the_other():
    harness = run(windows(size=6.0, slide=2.0), (1, "a"), (4, "a"))
    assert closes(harness) == [("a", -4, 2), ("a", -2, 4), ("a", 0, 6), ("a", 2, 8), ("a", 4, 10)]


def test_a_tuple_between_windows_that_lie_apart_is_in_none():
    harness = run(windows(size=2.0, slide=5.0), (1, "a"), (3, "a"), (6, "a"))
    assert [t for t, *_, is_close in harness.sent() if not is_close] == [1, 6]
    assert closes(harness) == [("a", 0, 2), ("a", 5, 7)]


def test_times_before_1970_fall_into_windows_too():
    assert closes(run(windows(size=10.0), (-11, "a"), (-10, "a"))) == [("a", -20, -10), ("a", -10, 0)]


def test_without_a_key_there_is_one_window():
    harness = run(build("EventWindows", [SCHEMA], [OUT], {**TIME, "size": 10.0}), (1, "a"), (2, "b"), (11, "a"))
    assert [(start, k) for _, k, start, _, is_close in harness.sent() if is_close] == [(0, ""), (10 * SECOND, "")]


def test_a_stream_that_is_not_in_order_is_refused():
    graph = f"stream<{OUT}> W = EventWindows(A) {{ param time: t; resolution: Seconds; size: 5.0; }}"
    with pytest.raises(UserError, match="comes behind one of"):
        run_graph(graph, A=feed(SCHEMA, [(5, "a"), (4, "a")]))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "an EventWindows has either a `size` or a `gap`"),
        ({"size": 1.0, "gap": 1.0}, "an EventWindows has either a `size` or a `gap`"),
        ({"gap": 1.0, "slide": 1.0}, "`slide` belongs to windows with a `size`"),
        ({"size": 0.0}, "`size` is a number of seconds above 0, found 0.0"),
    ],
)
def test_a_wrong_invocation_is_explained(params, message):
    assert any(message in found for found in errors("EventWindows", [SCHEMA], [OUT], {**BY_K, **params}))


def test_the_output_has_three_attributes_more():
    found = errors("EventWindows", [SCHEMA], [SCHEMA], {**BY_K, "size": 1.0})
    assert "two timestamps and a boolean" in found[0]
