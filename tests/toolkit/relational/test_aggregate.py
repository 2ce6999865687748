"""Aggregate: output functions, groups, errors, model."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feeding import WINDOW, feed, items_of, numbers, program, tuples_of
from penstock.base.diagnostics import UserError
from penstock.ir.models import Forwarding, Selectivity, State
from penstock.ir.types import parse_type
from penstock.toolkit.aggregates.numeric import average_of, deviation_of, sum_of
from penstock.toolkit.aggregates.output_functions import BY_NAME, FUNCTIONS


def one(call: str, type_: str, values: list, *, of: str = "x") -> object:
    """The value of an output function over one window of values."""
    graph = f"""stream<{type_} y> B = Aggregate(A) {{ window A: tumbling, punct(); output B: y = {call}; }}"""
    ((value,),) = tuples_of(graph, "B", A=feed(f"{of} x", [*((v,) for v in values), WINDOW]))
    return value


@pytest.mark.parametrize(
    ("call", "type_", "of", "values", "expected"),
    [
        ("Count()", "int32", "int32", [3, 1, 2], 3),
        ("CountAll()", "int32", "int32", [3, 1, 2], 3),
        ("CountDistinct(x)", "int32", "rstring", ["a", "b", "a"], 2),
        ("CountDistinct(x)", "int32", "list<int32>", [[1], [2], [1]], 2),
        ("CountDistinct(x)", "int32", "float64", [math.nan, math.nan, 0.0, -0.0], 2),
        ("Sum(x)", "int32", "int32", [3, 1, 2], 6),
        ("Sum(x)", "int8", "int8", [100, 100], -56),
        ("Sum(x)", "uint8", "uint8", [200, 100], 44),
        ("Sum(x)", "float64", "float64", [0.1, 0.2, 0.3], 0.1 + 0.2 + 0.3),
        ("Sum(x)", "decimal64", "decimal64", [Decimal("0.1")] * 3, Decimal("0.3")),
        ("Average(x)", "int32", "int32", [1, 2], 1),
        ("Average(x)", "int32", "int32", [-1, -2], -1),
        ("Average(x)", "int8", "int8", [127, 127], 127),
        ("Average(x)", "float64", "float64", [1.0, 2.0], 1.5),
        ("Min(x)", "int32", "int32", [3, 1, 2], 1),
        ("Max(x)", "rstring", "rstring", ["b", "c", "a"], "c"),
        ("Max(x)", "enum{low, high}", "enum{low, high}", ["low", "high", "low"], "high"),
        ("Min(x)", "float64", "float64", [math.nan, 2.0], 2.0),
        ("First(x)", "int32", "int32", [3, 1, 2], 3),
        ("Last(x)", "int32", "int32", [3, 1, 2], 2),
        ("Any(x)", "int32", "int32", [7, 7], 7),
        ("Collect(x)", "list<int32>", "int32", [3, 1, 3], [3, 1, 3]),
        ("CollectDistinct(x)", "list<int32>", "int32", [3, 1, 3], [3, 1]),
        ("PopulationStdDev(x)", "float64", "float64", [1.0, 3.0], 1.0),
        ("SampleStdDev(x)", "float64", "float64", [1.0, 3.0], math.sqrt(2)),
        ("StdDev(x)", "float64", "float64", [5.0], 0.0),
        ("StdDev(x)", "int32", "int32", [1, 5], 2),
        ("PopulationStdDev(x)", "decimal64", "decimal64", [Decimal(1), Decimal(3)], Decimal(1)),
        ("Sum(x * x) + Count()", "int32", "int32", [1, 2], 7),
    ],
)
def test_an_output_function_over_a_window(call, type_, of, values, expected):
    assert one(call, type_, values, of=of) == expected


def test_the_greatest_of_floats_with_nan_is_nan():
    assert math.isnan(one("Max(x)", "float64", [1.0, math.nan], of="float64"))


@pytest.mark.parametrize(
    ("call", "type_", "expected"),
    [
        ("MinBy(price, name)", "rstring", "b"),
        ("MaxBy(price, name)", "rstring", "a"),
        ("ArgMin(price, name)", "rstring", "b"),
        ("ArgMax(price, name)", "rstring", "a"),
        ("CollectArgMin(price, name)", "list<rstring>", ["b"]),
        ("CollectArgMax(price, name)", "list<rstring>", ["a", "c"]),
        ("MinCount(price)", "int32", 1),
        ("MaxCount(price)", "int32", 2),
    ],
)
def test_a_value_is_found_by_another(call, type_, expected):
    graph = f"stream<{type_} y> B = Aggregate(A) {{ window A: tumbling, count(3); output B: y = {call}; }}"
    fed = feed("float64 price, rstring name", [(9.0, "a"), (1.0, "b"), (9.0, "c")])
    assert tuples_of(graph, "B", A=fed) == [(expected,)]


def test_an_attribute_that_is_not_assigned_is_the_last():
    graph = "stream<rstring s, int32 n> B = Aggregate(A) { window A: tumbling, count(2); output B: n = Count(); }"
    assert tuples_of(graph, "B", A=feed("rstring s", [("a",), ("b",)])) == [("b", 2)]


def test_an_attribute_beside_an_output_function_is_the_last():
    graph = "stream<int32 y> B = Aggregate(A) { window A: tumbling, count(3); output B: y = Sum(x) * 10 + x; }"
    assert tuples_of(graph, "B", A=numbers(3, start=1)) == [(63,)]


def test_each_group_gives_a_tuple_and_the_firing_one_marker():
    graph = """stream<rstring k, int32 n, int32 all, int32 groups, list<int32> sizes> B = Aggregate(A) {
        window A: tumbling, count(4); param groupBy: k;
        output B: n = Sum(x), all = CountAll(), groups = CountGroups(), sizes = CountByGroup(); }"""
    fed = feed("rstring k, int32 x", [("b", 1), ("a", 2), ("b", 3), ("b", 4)])
    assert items_of(graph, "B", A=fed) == [("b", 8, 4, 2, [3, 1]), ("a", 2, 4, 2, [3, 1]), WINDOW]


def test_groups_of_a_sliding_window_are_those_of_its_tuples():
    graph = """stream<int32 k, int32 n> B = Aggregate(A) {
        window A: sliding, count(2), count(1); param groupBy: x % 2; output B: k = Any(x % 2), n = Sum(x); }"""
    assert tuples_of(graph, "B", A=numbers(3, start=1)) == [(1, 1), (0, 2), (0, 2), (1, 3)]


def test_an_argument_sees_the_state_of_the_logic_clause_as_the_tuple_comes():
    graph = """stream<list<int32> ns> B = Aggregate(A) {
        logic state: mutable int32 n = 0; onTuple A: n = n + 10;
        window A: tumbling, count(3); output B: ns = Collect(n + x); }"""
    assert tuples_of(graph, "B", A=numbers(3)) == [([10, 21, 32],)]


def test_a_size_may_be_known_only_at_submission():
    graph = """stream<int32 n> B = Aggregate(A) {
        window A: tumbling, count((int32) getSubmissionTimeValue("size", "2")); output B: n = Sum(x); }"""
    assert tuples_of(graph, "B", A=numbers(4)) == [(1,), (5,)]


numbers_of = {
    "int8": st.integers(-128, 127),
    "uint64": st.integers(0, 2**64 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "float64": st.floats(),
    "rstring": st.text(max_size=2),
}


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["Sum", "Average", "Min", "Max", "CountDistinct"]),
    st.sampled_from(sorted(numbers_of)),
    st.integers(1, 6),
    st.data(),
)
def test_keeping_an_aggregate_up_to_date_gives_what_computing_it_anew_gives(name, type_, size, data):
    types = [parse_type(type_)]
    function = BY_NAME[name]
    running = function.running(types) if type_ != "rstring" or name not in ("Sum", "Average") else None
    if running is None:
        return
    whole = function.whole(types, [0])
    held: list[tuple[object]] = []
    for value in data.draw(st.lists(numbers_of[type_], max_size=20)):
        if len(held) == size:
            running.evict(held.pop(0)[0])
        running.insert(value)
        held.append((value,))
        assert repr(running.value()) == repr(whole(held, [held]))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_sums_and_means_of_integers_follow_their_type(values):
    type_ = parse_type("int32")
    assert (sum_of(type_)(values) - sum(values)) % 2**32 == 0
    assert -(2**31) <= sum_of(type_)(values) < 2**31
    assert average_of(type_)(values) == int(Decimal(sum(values)) / len(values))
    assert deviation_of(type_, sample=False)(values) >= 0


def test_every_function_is_documented_once():
    assert len(BY_NAME) == len(FUNCTIONS)
    assert all(f.doc.endswith(".") for f in FUNCTIONS)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("window A: tumbling, count(0);", "the size of a window must be positive, found count(0)"),
        ("window A: sliding, time(-1), count(1);", "the size of a window must be positive, found time(-1.0)"),
        ("window A: sliding, count(0);", "a sliding window of count(0) has nothing to aggregate"),
        ("window A: sliding, punct(), count(1);", "a sliding window cannot use punctuation"),
        ("window A: tumbling, count(2), partitioned;", "a partitioned window needs a key"),
        ("window A: tumbling, count(2); param partitionBy: x;", "`partitionBy` needs a partitioned window"),
        ('window A: tumbling, delta(s, "a");', "a window policy delta compares numbers or timestamps, found rstring"),
        ("window A: tumbling, count(2); param groupBy: [x];", "`groupBy` cannot be of type list<int32>"),
        (
            "window A: tumbling, count(2); param aggregateIncompleteWindows: true;",
            "`aggregateIncompleteWindows` speaks of sliding windows",
        ),
        ("window A: tumbling, count(2); output B: n = Sum(Count());", "`Count` cannot stand inside `Sum`"),
        ("window A: tumbling, count(2); output B: n = Summ(x);", "Summ"),
        ("", "`Aggregate` needs a window on `A`"),
    ],
)
def test_a_wrong_invocation_is_explained(body, message):
    output = "" if "output" in body else "output B: n = Count();"
    with pytest.raises(UserError) as error:
        program(f"stream<int32 n> B = Aggregate(A) {{ {body} {output} }}", A=feed("int32 x, rstring s", []))
    assert message in str(error.value)


def model(body: str):
    graph = f"stream<int32 x, rstring s, int32 n> B = Aggregate(A) {{ {body} output B: n = Count(); }}"
    return program(graph, A=feed("int32 x, rstring s", [])).application.operator["B"].model


def test_a_partitioned_window_makes_a_partitioned_model():
    found = model("window A: tumbling, count(2), partitioned; param partitionBy: x;")
    assert (found.state, found.partition_by) == (State.PARTITIONED, (frozenset({"x"}),))
    assert (found.selectivity, found.forwarding) == (Selectivity.AT_MOST_ONE, Forwarding.FUNCTION_ANY)
    assert found.forwards == {"x"}
    assert found.is_parallelizable


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("window A: tumbling, count(2);", "holds the tuples of all partitions"),
        ("window A: tumbling, count(2), partitioned; param partitionBy: x % 2;", "its key is computed"),
        ("window A: tumbling, punct(), partitioned; param partitionBy: x;", "waits for punctuation"),
        ("window A: tumbling, count(2), partitioned; param partitionBy: x; groupBy: s;", "a tuple for each group"),
        ("window A: sliding, count(2), time(1), partitioned; param partitionBy: x;", "fires by time"),
    ],
)
def test_what_is_not_parallelizable_says_why(body, why):
    found = model(body)
    assert not found.is_parallelizable
    assert any(why in reason.text for reason in found.why)
