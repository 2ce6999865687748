"""EventAggregate: what it computes is asked of whole programs in `equivalence`; here is what they do not show."""

from __future__ import annotations

from penstock import App, agg, col
from penstock import windows as w

SCHEMA = "float64 at, rstring k, int32 x"


def hits(rows):
    in_order, _ = App().from_rows(rows, SCHEMA).by_event_time("at")
    return in_order


def test_a_close_is_not_among_the_tuples_and_nothing_is_evaluated_over_it():
    stream = hits([(1.0, "a", 4), (2.0, "a", 5), (12.0, "a", 1)])
    by_x = stream.aggregate(w.tumbling_time(10), by="k", least=agg.min(20 / col.x), last=agg.last(col.x))
    assert [(row.least, row.last) for row in by_x.collect()] == [(4, 5), (20, 1)]


def test_attributes_called_like_those_of_windows_stay_apart():
    counted = hits([(1.0, "a", 1), (2.0, "b", 1)]).aggregate(w.tumbling_time(10), by="k", n=agg.count())
    again = counted.aggregate(w.tumbling_time(10), most=agg.max(col.n), keys=agg.count())
    assert [(row.window_start, row.window_end, row.most, row.keys) for row in again.collect()] == [
        (0, 10 * 10**9, 1, 2)
    ]


def test_sessions_are_in_the_order_of_their_ends():
    rows = [(0.0, "a", 1), (1.0, "b", 1), (2.0, "a", 1), (99.0, "a", 1)]
    sessions = hits(rows).aggregate(w.session(5), by="k", n=agg.count())
    again = sessions.aggregate(w.tumbling_time(100), sessions=agg.count())
    assert [row.sessions for row in again.collect()] == [2, 1]


def test_a_schema_says_which_attributes_leave():
    counted = hits([(1.0, "a", 1)]).aggregate(
        w.tumbling_time(10), by="k", schema="timestamp window_end, int32 n, int32 x", n=agg.count()
    )
    assert [tuple(row) for row in counted.collect()] == [(10 * 10**9, 1, 1)]
