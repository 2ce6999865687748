"""How many tuples a second the reference interpreter takes, counted over all operators.

Run: `python benchmarks/reference.py [TUPLES]`. The bar is 200,000 a second on one core, tuple by tuple.
"""

from __future__ import annotations

import json
import sys
import time

from penstock.lang import compile_text
from penstock.reference import run

CHAIN = """
composite Main {{
  graph
    stream<uint64 n, rstring symbol, float64 price, int32 volume> Trades = Beacon() {{
      param iterations: {tuples}u;
      output Trades: n = IterationCount(), symbol = "S" + (rstring) (IterationCount() % 20ul),
                     price = 10.0 + (float64) (IterationCount() % 97ul), volume = (int32) (IterationCount() % 13ul);
    }}
    stream<Trades, tuple<float64 value>> Valued = Functor(Trades) {{
      output Valued: value = price * (float64) volume;
    }}
    stream<Valued> Large = Filter(Valued) {{ param filter: volume > 1 && symbol != "S7"; }}
    {middle}
    stream<rstring symbol, float64 vwap, int32 trades> Means = Aggregate({last}) {{
      window {last}: {window}, partitioned;
      param partitionBy: symbol;
      output Means: symbol = Any(symbol), vwap = Sum(value) / Sum((float64) volume), trades = Count();
    }}
    stream<Means> High = Filter(Means) {{ param filter: vwap > 20.0; }}
    () as Sink = Custom(High) {{
      logic state: mutable int32 count = 0;
            onTuple High: count++;
    }}
}}
"""

WINDOWS = {
    "tumbling, count(5)": "tumbling, count(5)",
    "sliding, count(15), count(1)": "sliding, count(15), count(1)",
}


def _program_text(tuples: int, window: str, functors: int) -> str:
    middle, last = "", "Large"
    for i in range(functors):
        middle += f"stream<Valued> F{i} = Functor({last}) {{ output F{i}: value = value * 1.0001; }}\n    "
        last = f"F{i}"
    return CHAIN.format(tuples=tuples, window=window, middle=middle, last=last)


def measure(tuples: int, window: str, functors: int = 3) -> dict[str, object]:
    """Run the chain once."""
    program = compile_text(_program_text(tuples, window, functors))
    started = time.perf_counter()
    result = run(program)
    seconds = time.perf_counter() - started
    return {"window": window, "tuples": result.tuples, "seconds": seconds, "tps": result.tuples / seconds}


def main() -> None:
    tuples = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    results = [measure(tuples, window) for window in WINDOWS.values()]
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
