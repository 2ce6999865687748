"""Bargain detection in Python: quotes below the volume-weighted average price (VWAP) of their symbol.

The symbols are spread over `groups` groups of seven operators each. With 28 groups the graph has the 200 operators and
283 streams of the papers. `bargains.spl` is the same application in SPL. With `forecast` each group has one operator
more, written in Python (`Forecast`): a filter that says what a symbol should trade at, by which bargains are scored.
"""

from __future__ import annotations

import numpy as np

from penstock import (
    App,
    Operator,
    OperatorModel,
    Output,
    Selectivity,
    State,
    Stream,
    agg,
    col,
    count,
    fn,
    lhs,
    rhs,
    sliding,
)

TICK = "float64 time, rstring ttype, rstring sym, float64 price, float64 volume, float64 ask, float64 asksize"
TRADE = "rstring sym, float64 price, float64 volume, float64 amount"
BARGAIN = "rstring sym, float64 ask, float64 vwap, float64 asksize, float64 time"

STEP = np.array([[1.0, 1.0], [0.0, 1.0]])
"""From one trade to the next the price moves by its slope."""

DRIFT = np.diag([1e-4, 1e-6])
NOISE = 0.05


def app(groups: int = 4, forecast: bool = False) -> App:
    application = App("Bargains")
    ticks = application.read_file("ticks.csv", TICK, name="Ticks")
    market = ticks.aggregate(
        sliding(count(100)), schema="float64 level", level=agg.avg(col.price + col.ask), name="Market"
    )
    scored = [group(ticks, i, groups, forecast) for i in range(groups)]
    report(application, scored, market).write_file("bargains.csv", name="Sink")
    return application


def group(ticks: Stream, index: int, groups: int, forecast: bool) -> Stream:
    """Finds the bargains among the symbols of one group."""
    prefix = f"Group{index}"
    mine = fn.hashCode(col.sym) % groups == index
    trades = ticks.to(
        TRADE,
        filter=(col.ttype == "Trade") & mine,
        amount=col.price * col.volume,
        name=f"{prefix}.Trades",
    )
    if forecast:
        trades = trades.apply(Forecast, f"{TRADE}, float64 fair", name=f"{prefix}.Forecast")
    quotes = ticks.to(
        "rstring sym, float64 ask, float64 asksize, float64 time",
        filter=(col.ttype == "Quote") & mine & (col.ask > 0.0),
        name=f"{prefix}.Quotes",
    )
    sums = trades.aggregate(
        sliding(count(15)),
        by="sym",
        schema="rstring sym, float64 amount, float64 volume",
        sym=agg.any(col.sym),
        amount=agg.sum(col.amount),
        volume=agg.sum(col.volume),
        name=f"{prefix}.Sums",
    )
    vwap = sums.to("rstring sym, float64 vwap", vwap=col.amount / col.volume, name=f"{prefix}.Vwap")
    bargains = quotes.join(
        vwap,
        rhs.vwap > lhs.ask,
        windows=(sliding(count(0)), sliding(count(1))),
        by=("sym", "sym"),
        on=(lhs.sym, rhs.sym),
        schema=BARGAIN,
        sym=lhs.sym,
        name=f"{prefix}.Bargains",
    )
    seen = {"low": agg.min(col.price), "high": agg.max(col.price)} | ({"fair": agg.last(col.fair)} if forecast else {})
    spread = trades.aggregate(
        sliding(count(15)),
        by="sym",
        schema="rstring sym, float64 low, float64 high" + (", float64 fair" if forecast else ""),
        sym=agg.any(col.sym),
        **seen,
        name=f"{prefix}.Spread",
    )
    worth = rhs.fair if forecast else lhs.vwap
    return bargains.join(
        spread,
        windows=(sliding(count(0)), sliding(count(1))),
        by=("sym", "sym"),
        on=(lhs.sym, rhs.sym),
        schema=f"{BARGAIN}, float64 score",
        sym=lhs.sym,
        score=(worth - lhs.ask) / (rhs.high - rhs.low + 0.01),
        name=f"{prefix}.Scored",
    )


class Forecast(Operator):
    """Adds `fair`: the price that the level and the slope of a symbol's prices so far make likely.

    A filter's estimate depends on the one before, so nothing here can be computed for many trades at once.
    """

    # The compiler cannot see into numpy, so it is told.
    model = OperatorModel(
        state=State.PARTITIONED,
        partition_by=(frozenset({"sym"}),),
        selectivity=Selectivity.EXACTLY_ONE,
        forwards=frozenset({"sym", "price", "volume", "amount"}),
    )

    def __init__(self):
        self.estimates = {}

    def process(self, t):
        level, spread = self.estimates.get(t.sym, (np.array([t.price, 0.0]), np.eye(2)))
        level = STEP @ level
        spread = STEP @ spread @ STEP.T + DRIFT
        fair = float(level[0])
        gain = spread[:, 0] / (spread[0, 0] + NOISE)
        self.estimates[t.sym] = (level + gain * (t.price - fair), spread - np.outer(gain, spread[0]))
        yield {"sym": t.sym, "price": t.price, "volume": t.volume, "amount": t.amount, "fair": fair}


def report(application: App, scored: list[Stream], market: Stream) -> Stream:
    """Each bargain with the level of the whole market when it was found."""
    output = Output(schema=f"{BARGAIN}, float64 score, float64 level", name="Report")
    return application.invoke("Join", scored, market, outputs=[output], windows=[sliding(count(0)), sliding(count(1))])[
        0
    ]
