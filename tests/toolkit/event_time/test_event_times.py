"""Event times: what values count as which nanosecond."""

from __future__ import annotations

from penstock import App, agg
from penstock import windows as w
from penstock.ir.graph import Operator
from penstock.ir.types import FLOAT64
from penstock.toolkit.event_time.event_times import read_times


def test_seconds_that_a_float_holds_exactly_are_exact_in_our_time_too():
    read = read_times(Operator(id="T", kind="EventOrder"), FLOAT64)
    for seconds, ns in [
        (1_711_846_801.25, 1_711_846_801_250_000_000),
        (4_000_000_000.75, 4_000_000_000_750_000_000),
        (-1_711_846_801.25, -1_711_846_801_250_000_000),
        (-1e-20, 0),
        (0.1, 100_000_000),
    ]:
        assert read(seconds) == ns


def test_a_float_on_the_boundary_of_a_window_falls_into_the_one_that_begins_there():
    at = 1_711_846_801.25
    in_order, _ = App().from_rows([(at,)], "float64 at").by_event_time("at")
    (row,) = in_order.aggregate(w.tumbling_time("250 ms"), n=agg.count()).collect()
    assert row.window_start == 1_711_846_801_250_000_000
