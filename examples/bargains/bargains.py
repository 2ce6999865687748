"""Bargain detection in Python: quotes below the volume-weighted average price (VWAP) of their symbol.

The symbols are spread over `groups` groups of seven operators each. With 28 groups the graph has the 200 operators and
283 streams of the papers. `bargains.spl` is the same application in SPL.
"""

from __future__ import annotations

from penstock import App, Output, Stream, agg, col, count, fn, lhs, rhs, sliding

TICK = "float64 time, rstring ttype, rstring sym, float64 price, float64 volume, float64 ask, float64 asksize"
BARGAIN = "rstring sym, float64 ask, float64 vwap, float64 asksize, float64 time"


def app(groups: int = 4) -> App:
    application = App("Bargains")
    ticks = application.read_file("ticks.csv", TICK, name="Ticks")
    market = ticks.aggregate(
        sliding(count(100)), schema="float64 level", level=agg.avg(col.price + col.ask), name="Market"
    )
    scored = [group(ticks, i, groups) for i in range(groups)]
    report(application, scored, market).write_file("bargains.csv", name="Sink")
    return application


def group(ticks: Stream, index: int, groups: int) -> Stream:
    """Finds the bargains among the symbols of one group."""
    prefix = f"Group{index}"
    mine = fn.hashCode(col.sym) % groups == index
    trades = ticks.to(
        "rstring sym, float64 price, float64 volume, float64 amount",
        filter=(col.ttype == "Trade") & mine,
        amount=col.price * col.volume,
        name=f"{prefix}.Trades",
    )
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
    spread = trades.aggregate(
        sliding(count(15)),
        by="sym",
        schema="rstring sym, float64 low, float64 high",
        sym=agg.any(col.sym),
        low=agg.min(col.price),
        high=agg.max(col.price),
        name=f"{prefix}.Spread",
    )
    return bargains.join(
        spread,
        windows=(sliding(count(0)), sliding(count(1))),
        by=("sym", "sym"),
        on=(lhs.sym, rhs.sym),
        schema=f"{BARGAIN}, float64 score",
        sym=lhs.sym,
        score=(lhs.vwap - lhs.ask) / (rhs.high - rhs.low + 0.01),
        name=f"{prefix}.Scored",
    )


def report(application: App, scored: list[Stream], market: Stream) -> Stream:
    """Each bargain with the level of the whole market when it was found."""
    output = Output(schema=f"{BARGAIN}, float64 score, float64 level", name="Report")
    return application.invoke("Join", scored, market, outputs=[output], windows=[sliding(count(0)), sliding(count(1))])[
        0
    ]
