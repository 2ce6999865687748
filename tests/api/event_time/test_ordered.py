"""Event time in Python: what is refused, at the line of the user."""

from __future__ import annotations

import pytest

from penstock import App, agg, col, lhs
from penstock import windows as w
from penstock.base.diagnostics import UserError

SCHEMA = "float64 at, int32 x"


def stream(schema=SCHEMA, rows=((1.0, 1),)):
    return App().from_rows(list(rows), schema)


def ordered():
    return stream().by_event_time("at")[0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: stream().by_event_time("at", lateness="soon"), "a duration is a number of seconds"),
        (lambda: stream().by_event_time("at", lateness=-1), "`lateness` is a number of seconds, 0 or more, found -1.0"),
        (lambda: stream().by_event_time("x"), "the event time is an integer, and its unit is not said"),
        (lambda: stream().by_event_time("x", resolution="minutes"), "`resolution` is 'minutes'"),
        (lambda: stream().by_event_time("ta"), "there is no attribute `ta`"),
        (lambda: stream("rstring s", [("a",)]).by_event_time("s"), "found rstring"),
        (lambda: w.tumbling_time(0), "tumbling_time takes a duration above 0, found 0"),
        (lambda: w.session("-1 s"), "session takes a duration above 0, found '-1 s'"),
        (lambda: stream().aggregate(w.session(3), n=agg.count()), "the event time of `given` is not known"),
        (lambda: ordered().drop("at").aggregate(w.session(3), n=agg.count()), "does not have the attribute `at`"),
        (lambda: ordered().aggregate(w.session(3), group_by="x", n=agg.count()), "have no `group_by`"),
        (lambda: (s := ordered()).join_within(s, x=lhs.x, within=(5, 1)), "no time lies between them"),
        (lambda: stream().by_event_time(col.at * 2)[0].aggregate(w.session(3), n=agg.count()), "is not known"),
    ],
)
def test_what_makes_no_sense_is_refused_at_the_line_of_the_user(wrong, message):
    with pytest.raises(UserError) as caught:
        wrong()
    assert message in str(caught.value)
    assert "test_ordered.py" in str(caught.value)


def test_two_streams_in_order_are_together_in_none():
    app = App()
    first, second = (app.from_rows([(1.0, 1)], SCHEMA).by_event_time("at")[0] for _ in range(2))
    with pytest.raises(UserError, match="the event time of `Union` is not known"):
        first.union(second).aggregate(w.session(3), n=agg.count())


def test_the_event_time_is_found_behind_operators_that_keep_the_order():
    kept = ordered().filter(col.x > 0).with_columns(y=col.x + 1).select("at", "y")
    assert [row.n for row in kept.aggregate(w.tumbling_time(5), n=agg.count()).collect()] == [1]
