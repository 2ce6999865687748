"""Sort: in batches and progressively."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feeding import WINDOW, feed, items_of, program, tuples_of
from penstock.base.diagnostics import UserError
from penstock.ir.models import Flag, Selectivity, State


def sort(window: str, params: str = "sortBy: x;") -> str:
    return f"stream<A> B = Sort(A) {{ window A: {window}; param {params} }}"


def pairs(*values: tuple[int, str]):
    return feed("int32 x, rstring s", values)


def test_a_tumbling_window_is_sent_in_order_with_a_marker():
    fed = pairs((3, "a"), (1, "b"), (2, "c"), (0, "d"))
    assert items_of(sort("tumbling, count(3)"), "B", A=fed) == [(1, "b"), (2, "c"), (3, "a"), WINDOW]


def test_equal_tuples_keep_their_order():
    fed = pairs((1, "b"), (0, "x"), (1, "a"))
    assert tuples_of(sort("tumbling, count(3)"), "B", A=fed) == [(0, "x"), (1, "b"), (1, "a")]


def test_each_expression_has_its_direction():
    fed = pairs((1, "a"), (2, "a"), (1, "b"))
    params = "sortBy: s, x; order: descending, ascending;"
    assert tuples_of(sort("tumbling, count(3)", params), "B", A=fed) == [(1, "b"), (1, "a"), (2, "a")]
    params = "sortBy: s, x; order: descending;"
    assert tuples_of(sort("tumbling, count(3)", params), "B", A=fed) == [(1, "b"), (2, "a"), (1, "a")]


def test_a_marker_sorts_a_punctuation_window():
    fed = feed("int32 x", [(2,), (1,), WINDOW, (0,)])
    assert items_of(sort("tumbling, punct()"), "B", A=fed) == [(1,), (2,), WINDOW]


def test_progressive_sorting_holds_back_a_number_of_tuples_and_lets_go_at_the_end():
    fed = feed("int32 x", [(5,), (3,), (4,), (1,), (6,)])
    assert items_of(sort("sliding, count(2)"), "B", A=fed) == [(3,), (4,), (1,), (5,), (6,)]


@pytest.mark.parametrize("size", [0, 1])
def test_progressive_sorting_makes_room_before_it_takes_a_tuple_in(size):
    fed = feed("int32 x", [(3,), (2,), (1,)])
    assert items_of(sort(f"sliding, count({size}), count(1)"), "B", A=fed) == [(3,), (2,), (1,)]


def test_progressive_sorting_may_say_that_it_fires_on_every_tuple():
    fed = feed("int32 x", [(5,), (3,), (4,)])
    assert items_of(sort("sliding, count(2), count(1)"), "B", A=fed) == [(3,), (4,), (5,)]


def test_partitions_sort_for_themselves():
    fed = pairs((2, "a"), (9, "b"), (1, "a"), (8, "b"))
    graph = sort("tumbling, count(2), partitioned", "sortBy: x; partitionBy: s;")
    assert tuples_of(graph, "B", A=fed) == [(1, "a"), (2, "a"), (8, "b"), (9, "b")]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.text("ab", max_size=1)), max_size=20), st.integers(1, 25))
def test_progressive_sorting_over_everything_is_sorting(values, size):
    got = tuples_of(sort(f"sliding, count({size})", "sortBy: x; order: descending;"), "B", A=pairs(*values))
    assert sorted(got) == sorted(values)
    if size >= len(values):
        assert got == sorted(values, key=lambda v: -v[0])


@pytest.mark.parametrize(
    ("window", "params", "message"),
    [
        ("sliding, time(2)", "sortBy: x;", "a sliding Sort holds back a number of tuples, found time"),
        ("sliding, count(2), count(3)", "sortBy: x;", "its window has no trigger"),
        ("tumbling, count(2)", "sortBy: x, s; order: ascending, ascending, ascending;", "gives 3 directions for 2"),
        ("tumbling, count(2)", "order: ascending;", "`Sort` needs the parameter `sortBy`"),
        ("tumbling, count(2)", "sortBy: [x];", "`sortBy` cannot be of type list<int32>"),
    ],
)
def test_a_wrong_invocation_is_explained(window, params, message):
    with pytest.raises(UserError) as error:
        program(sort(window, params), A=pairs())
    assert message in str(error.value)


def test_a_sort_is_partitioned_by_its_key():
    graph = sort("tumbling, count(2), partitioned", "sortBy: x; partitionBy: s;")
    model = program(graph, A=pairs()).application.operator["B"].model
    assert (model.state, model.partition_by) == (State.PARTITIONED, (frozenset({"s"}),))
    assert (model.selectivity, model.forwards) == (Selectivity.UNKNOWN, {"x", "s"})
    assert program(sort("tumbling, count(2)"), A=pairs()).application.operator["B"].model.state is State.UNKNOWN


def test_a_sliding_sort_gives_a_reason_for_each_thing_that_is_unknown_of_it():
    graph = sort("sliding, count(2), partitioned", "sortBy: x; partitionBy: s;")
    model = program(graph, A=pairs()).application.operator["B"].model
    assert model.reasons(Flag.STATE) == ("when its input ends it lets go of what it holds, all partitions at once",)
    assert model.reasons(Flag.SELECTIVITY) == ("it sends the tuples of a window in another order",)
