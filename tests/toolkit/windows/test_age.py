"""Idle partitions are forgotten: their tuples, their triggers, their timers, and the memory that they took."""

from __future__ import annotations

import pytest

from feeding import SECOND, WINDOW, after, feed, items_of, program, run_graph, tuples_of
from penstock import App, agg, col, count, sliding, time, tumbling
from penstock.base.diagnostics import UserError
from penstock.expr.environment import Clock
from penstock.toolkit.windows.age import AgingPartitions
from penstock.toolkit.windows.tumbling import TumblingCount

GAPS = [("a", 1), after(2.5), ("a", 2), ("b", 3), after(3), ("a", 4), ("b", 5), after(2), ("a", 6), ("b", 7)]


def aggregate(window: str, output: str = "n = Sum(n)") -> str:
    clauses = f"window A: {window}; param partitionBy: k; output B: {output};"
    return f"stream<rstring k, int32 n> B = Aggregate(A) {{ {clauses} }}"


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("tumbling, count(2), partitioned", [("a", 3), ("b", 8), ("a", 10)]),
        ("tumbling, count(2), partitioned, partitionAge(3)", [("a", 3), ("a", 10), ("b", 12)]),
        ("tumbling, count(2), partitioned, partitionAge(2.5)", [("a", 10), ("b", 12)]),
        ("sliding, count(2), partitioned, partitionAge(3)", [("a", 3), ("a", 10), ("b", 12)]),
        ("tumbling, count(2), partitioned, partitionAge(2)", []),
    ],
)
def test_a_partition_is_forgotten_at_its_age(window, expected):
    assert tuples_of(aggregate(window), "B", A=feed("rstring k, int32 n", GAPS)) == expected


def test_a_forgotten_window_of_time_ends_its_timer():
    given = feed("rstring k, int32 n", [("a", 1), after(4), ("b", 2), after(5)])
    for_ever = items_of(aggregate("tumbling, time(1), partitioned"), "B", A=given)
    aging = items_of(aggregate("tumbling, time(1), partitioned, partitionAge(3)"), "B", A=given)
    assert for_ever.count(WINDOW) == 9 + 5
    assert aging == [("a", 1), WINDOW, WINDOW, ("b", 2), WINDOW, WINDOW]


def test_a_marker_does_not_reach_forgotten_partitions():
    given = feed("rstring k, int32 n", [("a", 1), after(2), ("b", 2), after(1), WINDOW])
    graph = aggregate("tumbling, punct(), partitioned, partitionAge(3)")
    assert tuples_of(graph, "B", A=given) == [("b", 2)]


TWO = """stream<A> F = Filter(A) { param filter: n % 2 == 0; }
stream<A> G = Filter(A) { param filter: n % 2 == 1; }
"""
IDLE = [("a", 1), ("b", 2), after(1), ("b", 3), after(1), ("a", 4), ("b", 5), after(1.75), ("a", 6), ("b", 7)]


@pytest.mark.parametrize(
    ("graph", "expected", "expired"),
    [
        (
            "stream<A> B = Sort(A) { window A: tumbling, count(2), partitioned, partitionAge(2); "
            "param partitionBy: k; sortBy: n; order: descending; }",
            [("b", 3), ("b", 2), ("a", 6), ("a", 4), ("b", 7), ("b", 5)],
            1,
        ),
        (
            "stream<A> B = Sort(A) { window A: sliding, count(1), partitioned, partitionAge(2); "
            "param partitionBy: k; sortBy: n; }",
            [("b", 2), ("b", 3), ("a", 4), ("b", 5), ("b", 7), ("a", 6)],
            1,
        ),
        (
            'stream<A> B = Match(A) { param pattern: "x x"; predicates: {x = true}; partitionBy: k; '
            "partitionAge: 2.0; output B: n = Sum(n); }",
            [("b", 5), ("a", 10), ("b", 12)],
            1,
        ),
        (
            TWO + "stream<A> B = Barrier(F; G) { param partitionBy: F.k; partitionAge: 2.0; "
            "output B: n = F.n * 10 + G.n; }",
            [("b", 23)],
            1,
        ),
        (
            TWO + "stream<A> B = Pair(F; G) { param partitionBy: k; partitionAge: 2.0; }",
            [("b", 2), ("b", 3)],
            1,
        ),
    ],
)
def test_what_other_operators_hold_of_an_idle_key_is_dropped_and_counted(graph, expected, expired):
    given = feed("rstring k, int32 n", IDLE)
    assert tuples_of(graph, "B", A=given) == expected
    assert run_graph(graph, A=given).expired == {"B": expired}


def test_memory_is_bounded_by_the_keys_that_are_not_idle():
    clock = Clock()
    parts = AgingPartitions(lambda t: t, lambda key: TumblingCount(2, print), ("k",), age_ns=10, clock=clock)
    most = 0
    for key in range(200):
        clock.advance_to(key)
        parts.of((key,)).insert((key,), key)
        most = max(most, len(parts.parts))
    assert most == 10
    assert sorted(parts.snapshot_parts()) == [(key,) for key in range(190, 200)]
    assert parts.expired == 190


def test_ages_go_on_in_another_instance():
    clocks = [Clock(), Clock(5 * SECOND)]
    first, second = (
        AgingPartitions(lambda t: t[0], lambda key: TumblingCount(9, print), ("k",), age_ns=3 * SECOND, clock=clock)
        for clock in clocks
    )
    for key, seconds in (("a", 0), ("b", 2), ("c", 3)):
        clocks[0].advance_to(seconds * SECOND)
        first.of((key,)).insert((key,), key)
    second.restore_parts(first.snapshot_parts())
    assert len(list(second)) == 1
    assert second.of(("c",)).items == ["c"]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (aggregate("tumbling, count(2), partitioned, partitionAge(0)"), "found partitionAge(0.0)"),
        (aggregate("tumbling, count(2), partitioned, partitionAge(n)"), "the age of a partition is fixed"),
        (aggregate('tumbling, count(2), partitioned, partitionAge("1")'), "a number of seconds, found rstring"),
        (aggregate("tumbling, count(2), partitioned, partitionage(1)"), "did you mean `partitionAge`?"),
        (
            "stream<A> B = Aggregate(A) { window A: tumbling, count(2), partitionAge(1); }",
            "partitionAge needs a partitioned window",
        ),
        (
            "stream<A> B = Sort(A) { window A: tumbling, count(2), partitionAge(1); param sortBy: n; }",
            "partitionAge needs a partitioned window",
        ),
        (
            "stream<A> B = Barrier(A; A) { param partitionAge: 2.0; }",
            "partitionAge needs a partitioned operator",
        ),
        (
            "stream<A> B = Pair(A; A) { param partitionBy: k; partitionAge: 0.0; }",
            "found partitionAge(0.0)",
        ),
        (
            'stream<A> B = Match(A) { param pattern: "x"; predicates: {x = true}; partitionAge: 1.0; }',
            "partitionAge needs a partitioned operator",
        ),
    ],
)
def test_a_wrong_age_is_explained(graph, message):
    with pytest.raises(UserError) as error:
        program(graph, A=feed("rstring k, int32 n", []))
    assert message in str(error.value)


def test_python_and_spl_make_one_window():
    for written, spec in (
        ("tumbling, count(2), partitioned, partitionAge(60)", tumbling(count(2), partition_age=60)),
        (
            "sliding, count(2), time(5), partitioned, partitionAge(60)",
            sliding(count(2), every=time(5), partition_age=60),
        ),
    ):
        app = App("Main")
        stream = app.source(lambda: iter(()), "rstring k, int32 n", name="A")
        stream.aggregate(spec, by="k", k=agg.last(col.k), n=agg.sum(col.n), name="B")
        spl = program(aggregate(written, "k = Last(k), n = Sum(n)"), A=feed("rstring k, int32 n", []))
        windows = [p.application.operator["B"].inputs[0].window for p in (app.program(), spl)]
        assert windows[0] == windows[1]
