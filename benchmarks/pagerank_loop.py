"""PageRank with its loop inside one PE and through batches on channels: what channels gain when a round is heavy.

python benchmarks/pagerank_loop.py [--pages 60000] [--links 150] [--rounds 6] [--channels 2] [--turns 3]

Prints the seconds of whole runs, the start of the query included, and the median of the ratios within turns. The ranks
of all runs must be equal.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from penstock.bench.on_spark import ROOT, load_file, open_bench_session
from penstock.expr.environment import Environment
from penstock.lang import compile_file
from penstock.spark.run import run_on_spark

PAGERANK = ROOT / "examples" / "pagerank"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="PageRank's loop inside one PE and through batches.")
    parser.add_argument("--pages", type=int, default=60_000)
    parser.add_argument("--links", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--channels", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    spark = open_bench_session()
    program = compile_file(PAGERANK / "pagerank.spl")
    everything = [[o.id for o in program.application.operators]]
    ways = {"inside one PE": (1, False), f"through batches, {arguments.channels} channels": (arguments.channels, True)}
    gains, ranks = [], set()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        load_file(PAGERANK / "generate.py").generate(data, pages=arguments.pages, links=arguments.links)
        for turn in range(arguments.turns):
            seconds = []
            for name, (channels, open_loop) in ways.items():
                out = data / f"{turn} {name}"
                out.mkdir()
                settings = {"rounds": [str(arguments.rounds)]}
                outcome = run_on_spark(
                    program,
                    spark,
                    fusion=everything,
                    environment=Environment(data_directory=data, output_directory=out, submission_values=settings),
                    checkpoint=out / "job",
                    channels=channels,
                    open_loop=open_loop,
                )
                seconds.append(outcome.seconds)
                ranks.add((out / "ranks.csv").read_bytes())
                print(f"turn {turn}: {name}: {outcome.seconds:.1f} s, {outcome.batches} batches", flush=True)
            gains.append(seconds[0] / seconds[1])
    assert len(ranks) == 1, "the ranks differ"
    print(f"through batches is {statistics.median(gains):.2f} times as fast; all ranks are equal")


if __name__ == "__main__":
    main()
