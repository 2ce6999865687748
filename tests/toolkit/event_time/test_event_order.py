"""EventOrder: what waits, what leaves, what is late."""

from __future__ import annotations

from random import Random

import pytest

from feeding import feed, run_graph
from penstock.base.diagnostics import UserError
from penstock.toolkit.event_time.event_order import LATE_PORT
from toolkit.harness import attribute, build, errors, run, start, word

SCHEMA = "int64 t, int32 p"
TIME = {"time": attribute("t", SCHEMA), "resolution": word("Seconds")}
SECOND = 1_000_000_000


def order(**params):
    return build("EventOrder", [SCHEMA], [SCHEMA, SCHEMA], {**TIME, **params})


def sent(harness):
    return [t for t, _ in harness.sent()], [t for t, _ in harness.sent(LATE_PORT)]


def test_a_tuple_leaves_when_the_watermark_has_come_to_its_time():
    harness = start(order(lateness=2.0)).feed((5, 0), (3, 1), (4, 2))
    assert sent(harness) == ([3], [])
    harness.feed((7, 3))
    assert sent(harness) == ([3, 4, 5], [])
    assert sent(harness.end()) == ([3, 4, 5, 7], [])


def test_a_tuple_from_before_the_watermark_is_late():
    assert sent(run(order(lateness=2.0), (5, 0), (2, 0), (3, 0), (9, 0))) == ([3, 5, 9], [2])


def test_tuples_of_one_time_keep_their_order():
    harness = run(order(lateness=9.0), (5, 1), (4, 2), (5, 3), (4, 4))
    assert harness.sent() == [(4, 2), (4, 4), (5, 1), (5, 3)]


def test_a_stream_in_order_passes_at_once():
    assert sent(start(order()).feed((1, 0), (1, 0), (2, 0))) == ([1, 1, 2], [])


def test_the_watermark_is_that_of_the_partition_that_is_furthest_behind():
    harness = start(order(source=attribute("p", SCHEMA))).feed((1, 0), (1, 1), (9, 0), (8, 0))
    assert sent(harness) == ([1, 1], [])
    harness.feed((5, 1))
    assert sent(harness) == ([1, 1, 5], [])
    assert sent(harness.end()) == ([1, 1, 5, 8, 9], [])


def test_a_partition_far_behind_the_one_in_front_is_set_aside_until_it_catches_up():
    harness = start(order(source=attribute("p", SCHEMA), idle=10.0)).feed((1, 0), (1, 1), (11, 0))
    assert sent(harness) == ([1, 1], [])
    harness.feed((12, 0))
    assert sent(harness) == ([1, 1, 11, 12], [])
    assert sent(harness.feed((4, 1), (12, 1), (20, 0), (13, 1))) == ([1, 1, 11, 12, 12, 13], [4])


def test_a_partition_that_is_new_and_behind_the_watermark_is_late_and_waited_for():
    harness = start(order(source=attribute("p", SCHEMA))).feed((5, 0), (2, 1), (9, 0))
    assert sent(harness) == ([5], [2])
    assert sent(harness.feed((9, 1))) == ([5, 9, 9], [2])


def test_late_tuples_are_counted_by_every_engine(tmp_path):
    from penstock import App

    app = App()
    in_order, late = app.from_rows([(9, 0), (1, 0), (8, 0), (9, 0)], SCHEMA).by_event_time("t", resolution="s")
    for stream, name in ((in_order, "in_order"), (late, "late")):
        stream.write_csv(f"{name}.csv")
    for engine in ("reference", "local"):
        totals = app.run(engine, out=tmp_path / engine).wait().totals
        assert totals["EventOrder"].late == 2


def simulate(rows, lateness, idle):
    """The same, read off the definition."""
    newest, watermark, late, held, out = {}, None, [], [], []
    for row in rows:
        t, p = row
        if watermark is not None and t < watermark:
            late.append(row)
        else:
            held.append(row)
        newest[p] = max(newest.get(p, t), t)
        least = min(n for n in newest.values() if idle is None or n >= max(newest.values()) - idle)
        watermark = least - lateness if watermark is None else max(watermark, least - lateness)
        ready = sorted((r for r in held if r[0] <= watermark), key=lambda r: r[0])
        out += ready
        held = [r for r in held if r[0] > watermark]
    return out + sorted(held, key=lambda r: r[0]), late


@pytest.mark.parametrize("seed", range(60))
def test_it_does_what_the_definition_says(seed):
    rng = Random(seed)
    rows = [(i // 3 + rng.randrange(-6, 7), rng.randrange(3)) for i in range(rng.randrange(50))]
    lateness, idle = rng.choice([0, 1, 4]), rng.choice([None, 2, 8])
    params = {"lateness": float(lateness), "source": attribute("p", SCHEMA)}
    harness = run(order(**params, **({} if idle is None else {"idle": float(idle)})), *rows)
    assert (harness.sent(), harness.sent(LATE_PORT)) == simulate(rows, lateness, idle)


def test_a_time_that_is_none_follows_the_error_policy():
    graph = "(stream<A> C; stream<A> D) = EventOrder(A) { param time: t; }"
    items = feed("float64 t", [(1.0,), (float("nan"),), (float("inf"),), (2.0,)])
    with pytest.raises(UserError, match="nan is not an event time"):
        run_graph(graph, A=items)
    result = run_graph(f"@catch() {graph}", A=items, collect=["C"])
    assert [letter.reason for letter in result.dead_letters] == [
        "nan is not an event time",
        "inf is not an event time",
    ]
    assert result.submitted["C"] == (2, 0)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"time": attribute("t", SCHEMA)}, "the event time is an integer, and its unit is not said"),
        ({**TIME, "lateness": -1.0}, "`lateness` is a number of seconds, 0 or more, found -1.0"),
        ({**TIME, "idle": 3.0}, "`idle` says when a partition of the source is set aside"),
        ({"time": "text"}, "`time` must be a timestamp, a float of seconds or an integer, found rstring"),
    ],
)
def test_a_wrong_invocation_is_explained(params, message):
    assert any(message in found for found in errors("EventOrder", [SCHEMA], [SCHEMA, SCHEMA], params))
