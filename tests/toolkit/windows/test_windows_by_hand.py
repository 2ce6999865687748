"""Windows worked out by hand: each kind, its order of events and its first firing."""

from __future__ import annotations

import pytest

from feeding import WINDOW, after, feed, items_of, numbers, tuples_of


def fired(window: str, fed, *, param: str = "", schema: str = "list<int32> xs") -> list:
    graph = f"""stream<{schema}> B = Aggregate(A) {{ window A: {window}; {param} output B: xs = Collect(x); }}"""
    return [item if item is WINDOW else item[0] for item in items_of(graph, "B", A=fed)]


def firings(window: str, fed, *, param: str = "") -> list[list[int]]:
    return [item for item in fired(window, fed, param=param) if item is not WINDOW]


def test_a_tumbling_count_window_fires_when_it_is_full_and_starts_anew():
    assert fired("tumbling, count(3)", numbers(7)) == [[0, 1, 2], WINDOW, [3, 4, 5], WINDOW]


def test_a_tumbling_delta_window_fires_before_the_tuple_that_crosses_its_boundary():
    fed = feed("int32 x", [(1,), (2,), (5,), (6,), (7,), (20,)])
    assert firings("tumbling, delta(x, 4)", fed) == [[1, 2, 5], [6, 7]]


def test_a_tumbling_delta_window_measures_from_its_oldest_tuple_even_when_values_fall():
    fed = feed("int32 x", [(10,), (3,), (14,), (15,)])
    assert firings("tumbling, delta(x, 4)", fed) == [[10, 3, 14]]


def test_a_delta_of_timestamps_is_in_seconds():
    fed = feed("int32 x, timestamp t", [(i, i * 600_000_000) for i in range(5)])
    graph = "stream<list<int32> xs> B = Aggregate(A) { window A: tumbling, delta(t, 1.0); output B: xs = Collect(x); }"
    assert tuples_of(graph, "B", A=fed) == [([0, 1],), ([2, 3],)]


def test_a_tumbling_time_window_fires_from_its_first_tuple_on_and_an_empty_one_gives_only_a_marker():
    fed = feed("int32 x", [after(1), (1,), after(3), (2,), after(2), (3,), after(11), (4,)])
    # The first tuple comes at 1, so the window fires at 6, 11 and 16, before the tuple at 17.
    assert fired("tumbling, time(5)", fed) == [[1, 2], WINDOW, [3], WINDOW, WINDOW]


def test_a_timer_comes_before_a_tuple_of_the_same_time():
    fed = feed("int32 x", [(1,), after(5), (2,), after(5), (3,)])
    assert firings("tumbling, time(5)", fed) == [[1], [2]]


def test_a_tumbling_punctuation_window_fires_on_every_marker():
    fed = feed("int32 x", [(1,), (2,), WINDOW, WINDOW, (3,), WINDOW, (4,)])
    assert fired("tumbling, punct()", fed) == [[1, 2], WINDOW, WINDOW, [3], WINDOW]


def test_the_end_of_the_input_does_not_flush_a_tumbling_window():
    assert fired("tumbling, count(10)", numbers(9)) == []


def test_a_sliding_window_does_not_fire_before_it_has_been_full():
    # Triggers with tuples 2, 5, 8 and 11; four tuples are there from tuple 3 on.
    assert firings("sliding, count(4), count(3)", numbers(12)) == [[2, 3, 4, 5], [5, 6, 7, 8], [8, 9, 10, 11]]


def test_incomplete_windows_fire_where_they_are_asked_for():
    param = "param aggregateIncompleteWindows: true;"
    assert firings("sliding, count(4), count(3)", numbers(7), param=param) == [[0, 1, 2], [2, 3, 4, 5]]


def test_a_sliding_window_without_a_trigger_fires_on_every_tuple():
    assert firings("sliding, count(2)", numbers(4)) == [[0, 1], [1, 2], [2, 3]]


def test_a_count_trigger_sees_the_new_tuple_and_a_delta_trigger_does_not():
    fed = feed("int32 x", [(0,), (1,), (2,), (5,), (6,), (9,)])
    assert firings("sliding, count(2), count(2)", fed) == [[0, 1], [2, 5], [6, 9]]
    # 5 lies more than 3 above 0, the first tuple, and 9 more than 3 above 5, which fired last.
    assert firings("sliding, count(2), delta(x, 3)", fed) == [[1, 2], [5, 6]]


def test_a_sliding_delta_window_evicts_what_lies_too_far_below_the_newest():
    fed = feed("int32 x", [(0,), (2,), (3,), (5,), (10,)])
    # It has been full once something had to leave: with tuple 5, which leaves 0 behind.
    assert firings("sliding, delta(x, 3), count(1)", fed) == [[2, 3, 5], [10]]


def test_a_sliding_time_window_keeps_the_tuples_of_its_time():
    fed = feed("int32 x", [(0,), after(1), (1,), after(1), (2,), after(1), (3,), after(5), (4,)])
    # Tuple 0 leaves at 2, so the window has been full from then on.
    assert firings("sliding, time(2), count(1)", fed) == [[1, 2], [2, 3], [4]]


def test_a_time_trigger_counts_as_full_from_the_start():
    fed = feed("int32 x", [(0,), after(3), (1,), after(3), (2,)])
    assert fired("sliding, count(10), time(2)", fed) == [[0], WINDOW, [0, 1], WINDOW, [0, 1], WINDOW]


def test_a_time_trigger_on_an_empty_window_gives_only_a_marker():
    fed = feed("int32 x", [(0,), after(7), (1,)])
    assert fired("sliding, time(3), time(2)", fed) == [[0], WINDOW, WINDOW, WINDOW]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("tumbling, count(2)", [("a", [1, 3]), ("b", [2, 4])]),
        ("sliding, count(2), count(1)", [("a", [1, 3]), ("b", [2, 4]), ("a", [3, 5])]),
        ("tumbling, delta(x, 2)", [("a", [1, 3])]),
    ],
)
def test_each_partition_has_a_window_of_its_own(window, expected):
    fed = feed("rstring k, int32 x", [("a", 1), ("b", 2), ("a", 3), ("b", 4), ("a", 5)])
    graph = f"""stream<rstring k, list<int32> xs> B = Aggregate(A) {{
        window A: {window}, partitioned; param partitionBy: k; output B: xs = Collect(x); }}"""
    assert tuples_of(graph, "B", A=fed) == expected


def test_the_timer_of_a_partition_starts_with_its_first_tuple():
    fed = feed("rstring k, int32 x", [("a", 1), after(2), ("b", 2), after(2), ("a", 3), after(2), ("b", 4)])
    graph = """stream<rstring k, list<int32> xs> B = Aggregate(A) {
        window A: tumbling, time(3), partitioned; param partitionBy: k; output B: xs = Collect(x); }"""
    # `a` fires at 3 and at 6 and `b` at 5; the timer at 6 comes before the tuple at 6.
    assert tuples_of(graph, "B", A=fed) == [("a", [1]), ("b", [2]), ("a", [3])]


def test_a_marker_reaches_the_partitions_in_the_order_of_their_first_tuples():
    fed = feed("rstring k, int32 x", [("b", 1), ("a", 2), ("b", 3), WINDOW])
    graph = """stream<rstring k, list<int32> xs> B = Aggregate(A) {
        window A: tumbling, punct(), partitioned; param partitionBy: k; output B: xs = Collect(x); }"""
    assert tuples_of(graph, "B", A=fed) == [("b", [1, 3]), ("a", [2])]


def test_all_nan_keys_are_one_partition():
    fed = feed("float64 k, int32 x", [(float("nan"), 1), (0.0, 2), (float("nan"), 3), (-0.0, 4)])
    graph = """stream<list<int32> xs> B = Aggregate(A) {
        window A: tumbling, count(2), partitioned; param partitionBy: k; output B: xs = Collect(x); }"""
    assert tuples_of(graph, "B", A=fed) == [([1, 3],), ([2, 4],)]
