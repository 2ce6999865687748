"""`make demo`: what Penstock does today, in one minute.

Compiles bargain detection, checks that SPL and Python make the same graph, draws it, runs it on generated ticks and
shows the first bargains. Everything is written to one folder, `demo-results` unless another is given.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SPL = HERE / "bargains" / "bargains.spl"


def main() -> int:
    """Run the steps one after the other; the first that fails ends the demo."""
    parser = argparse.ArgumentParser(description="Compile, draw and run bargain detection.")
    parser.add_argument("--out", type=Path, default=Path("demo-results"))
    parser.add_argument("--ticks", type=int, default=50_000)
    arguments = parser.parse_args()
    out: Path = arguments.out
    steps = [
        (
            "Generate trades and quotes",
            [str(HERE / "bargains/generate.py"), "--ticks", str(arguments.ticks), "--out", str(out)],
        ),
        ("Check the program", ["-m", "penstock.cli", "check", str(SPL)]),
        ("Draw its graph", ["-m", "penstock.cli", "explain", str(SPL), "--html", str(out / "bargains.html")]),
        ("Run it", ["-m", "penstock.cli", "run", str(SPL), "--engine", "reference", "--data", str(out)]),
    ]
    for title, command in steps:
        print(f"\n== {title}", flush=True)
        status = subprocess.run([sys.executable, *command], check=False).returncode
        if status:
            return status
    print("\n== The first bargains: symbol, ask, VWAP, size, time, score, market level")
    with (out / "bargains.csv").open() as file:
        for line, _ in zip(file, range(5), strict=False):
            print("  ", line, end="")
    print(f"\nThe graph is in {out / 'bargains.html'}, all bargains are in {out / 'bargains.csv'}.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
