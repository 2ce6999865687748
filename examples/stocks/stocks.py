"""The months in which a share rises above its mean of the last twelve months, on real prices."""

from __future__ import annotations

from penstock import App, agg, col, count, record, sliding

PRICE = "rstring symbol, rstring date, float64 price"

app = App("Stocks")
prices = app.read_file("stocks.csv", PRICE, hasHeaderLine=True, name="Prices")
means = prices.aggregate(
    sliding(count(12)), by="symbol", schema=f"{PRICE}, float64 mean", mean=agg.avg(col.price), name="Means"
)
sides = means.with_columns(above=col.price > col.mean, name="Sides")
rises = sides.apply(
    "Match",
    f"{PRICE}, float64 mean",
    pattern="under over",
    partitionBy=col.symbol,
    predicates=record(under=~col.above, over=col.above),
    name="Rises",
)
rises.write_file("rises.csv", name="Sink")
