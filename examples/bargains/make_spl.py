"""Writes the SPL program for a number of groups.

    python examples/bargains/make_spl.py 28 > bargains_200.spl

SPL has no loop in a graph clause, so the program names its groups one by one. `bargains.spl` has four of them; with 28
the graph has the 200 operators and 283 streams of the papers.
"""

from __future__ import annotations

import sys

PROGRAM = """\
// Bargain detection: quotes below the volume-weighted average price (VWAP) of their symbol.
// Written by make_spl.py for {groups} groups of symbols.

type Tick = tuple<float64 time, rstring ttype, rstring sym, float64 price, float64 volume,
                  float64 ask, float64 asksize>;
type Bargain = tuple<rstring sym, float64 ask, float64 vwap, float64 asksize, float64 time>;
type Score = Bargain, tuple<float64 score>;

// Finds the bargains among the symbols of one group.
composite Group(input Ticks; output Scored) {{
  param
    expression $group;
    expression $groups;
  graph
    stream<rstring sym, float64 price, float64 volume, float64 amount> Trades = Functor(Ticks) {{
      param filter: ttype == "Trade" && hashCode(sym) % $groups == $group;
      output Trades: amount = price * volume;
    }}
    stream<rstring sym, float64 ask, float64 asksize, float64 time> Quotes = Functor(Ticks) {{
      param filter: ttype == "Quote" && hashCode(sym) % $groups == $group && ask > 0.0;
    }}
    stream<rstring sym, float64 amount, float64 volume> Sums = Aggregate(Trades) {{
      window Trades: sliding, count(15), partitioned;
      param partitionBy: sym;
      output Sums: sym = Any(sym), amount = Sum(amount), volume = Sum(volume);
    }}
    stream<rstring sym, float64 vwap> Vwap = Functor(Sums) {{
      output Vwap: vwap = amount / volume;
    }}
    stream<Bargain> Bargains = Join(Quotes; Vwap) {{
      window
        Quotes: sliding, count(0), partitioned;
        Vwap: sliding, count(1), partitioned;
      param
        match: Vwap.vwap > Quotes.ask;
        partitionByLHS: Quotes.sym;
        partitionByRHS: Vwap.sym;
        equalityLHS: Quotes.sym;
        equalityRHS: Vwap.sym;
      output Bargains: sym = Quotes.sym;
    }}
    stream<rstring sym, float64 low, float64 high> Spread = Aggregate(Trades) {{
      window Trades: sliding, count(15), partitioned;
      param partitionBy: sym;
      output Spread: sym = Any(sym), low = Min(price), high = Max(price);
    }}
    stream<Score> Scored = Join(Bargains; Spread) {{
      window
        Bargains: sliding, count(0), partitioned;
        Spread: sliding, count(1), partitioned;
      param
        partitionByLHS: Bargains.sym;
        partitionByRHS: Spread.sym;
        equalityLHS: Bargains.sym;
        equalityRHS: Spread.sym;
      output Scored: sym = Bargains.sym, score = (vwap - ask) / (high - low + 0.01);
    }}
}}

composite Bargains {{
  graph
    stream<Tick> Ticks = FileSource() {{
      param file: "ticks.csv"; format: csv;
    }}
    stream<float64 level> Market = Aggregate(Ticks) {{
      window Ticks: sliding, count(100);
      output Market: level = Average(price + ask);
    }}
{invocations}
    // Each bargain with the level of the whole market when it was found.
    stream<Score, tuple<float64 level>> Report = Join({names}; Market) {{
      window
        {first}: sliding, count(0);
        Market: sliding, count(1);
    }}
    () as Sink = FileSink(Report) {{
      param file: "bargains.csv"; format: csv;
    }}
}}
"""


def program(groups: int) -> str:
    """The text for so many groups."""
    names = [f"Group{i}" for i in range(groups)]
    calls = [
        f"    stream<Score> {n} = Group(Ticks) {{ param group: {i}; groups: {groups}; }}" for i, n in enumerate(names)
    ]
    return PROGRAM.format(groups=groups, invocations="\n".join(calls), names=", ".join(names), first=names[0])


if __name__ == "__main__":
    sys.stdout.write(program(int(sys.argv[1]) if len(sys.argv) > 1 else 4))
