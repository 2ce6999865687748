"""How many tuples a second the reference interpreter takes, counted over all operators.

Run: `python benchmarks/reference.py [TUPLES]`. The bar is 200,000 a second on one core, tuple by tuple. `tps_cpu`
counts the seconds that the process had a core, `tps` those on the wall.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from penstock.expr.environment import Environment
from penstock.lang import compile_file, compile_text
from penstock.reference import run
from penstock.toolkit.core.program import Program

BARGAINS = Path(__file__).parents[1] / "examples" / "bargains"

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

WINDOWS = ("tumbling, count(5)", "sliding, count(15), count(1)")


def _program_text(tuples: int, window: str, functors: int) -> str:
    middle, last = "", "Large"
    for i in range(functors):
        middle += f"stream<Valued> F{i} = Functor({last}) {{ output F{i}: value = value * 1.0001; }}\n    "
        last = f"F{i}"
    return CHAIN.format(tuples=tuples, window=window, middle=middle, last=last)


def measure(name: str, program: Program, environment: Environment | None = None) -> dict[str, object]:
    """Run a program once."""
    started, started_cpu = time.perf_counter(), time.process_time()
    result = run(program, environment=environment)
    seconds, cpu = time.perf_counter() - started, time.process_time() - started_cpu
    rates = {"tps": round(result.tuples / seconds), "tps_cpu": round(result.tuples / cpu)}
    return {"name": name, "tuples": result.tuples, "seconds": round(seconds, 3), **rates}


def bargains(ticks: int, folder: Path) -> dict[str, object]:
    """Run bargain detection over generated ticks."""
    generate = [sys.executable, str(BARGAINS / "generate.py"), "--ticks", str(ticks), "--out", str(folder)]
    subprocess.run(generate, check=True, stdout=subprocess.DEVNULL)
    environment = Environment(data_directory=folder, output_directory=folder)
    return measure("bargain detection", compile_file(BARGAINS / "bargains.spl"), environment)


def main() -> None:
    tuples = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    results = [measure(f"chain, {w}", compile_text(_program_text(tuples, w, 3))) for w in WINDOWS]
    with tempfile.TemporaryDirectory() as folder:
        results.append(bargains(tuples // 2, Path(folder)))
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
