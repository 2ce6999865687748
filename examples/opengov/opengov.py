"""OpenGov in Python: companies whose price doubled within 20 days, and that were awarded a contract in that time."""

from __future__ import annotations

from penstock import App, agg, col, count, lhs, rhs, sliding, time

MONTH = time(20.0)

app = App("OpenGov")
tickers = app.read_file("tickers.csv", "int32 day, rstring company, float64 price", hasDelayField=True, name="Tickers")
contracts = app.read_file(
    "contracts.csv",
    "int32 day, rstring company, rstring agency, float64 amount",
    hasDelayField=True,
    name="Contracts",
)
extremes = tickers.aggregate(
    sliding(MONTH, every=count(1)),
    by="company",
    schema="int32 day, rstring company, float64 low, float64 high",
    params={"aggregateIncompleteWindows": True},
    low=agg.min(col.price),
    high=agg.max(col.price),
    name="Extremes",
)
ratios = extremes.select("day", "company", ratio=col.high / col.low, name="Ratios")
doubled = ratios.filter(col.ratio > 2.0, name="Doubled")
found = doubled.join(
    contracts,
    windows=(sliding(MONTH), sliding(MONTH)),
    by=("company", "company"),
    on="company",
    company=lhs.company,
    doubled=lhs.day,
    ratio=lhs.ratio,
    awarded=rhs.day,
    agency=rhs.agency,
    amount=rhs.amount,
    name="Found",
)
found.write_file("found.csv", name="Output")
