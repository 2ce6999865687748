"""A loop like PageRank's, inside one PE and through batches on channels: what channels gain, by the work of a round.

python benchmarks/loop_rounds.py [--channels 2] [--rounds 3] [--turns 3] [--work 1 4 16]

A tuple goes round; each time it becomes 20,000 tasks, whose multiplications are the parallel region, and their results
one tuple again. `--work` is about how many seconds the tasks of a round take on one core. For each it prints the
seconds of a round: those of a whole run less those of a run without rounds, the median of the turns. The results of all
runs must be equal.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from penstock.bench.measure.on_spark import open_bench_session
from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.spark.job.rescaling import run_program

TASKS = 20_000
SECONDS_PER_MULTIPLICATION = 27e-9
PROGRAM = """
composite Main {
  param
    expression<int32> $rounds: (int32) getSubmissionTimeValue("rounds");
    expression<int32> $times: (int32) getSubmissionTimeValue("times");
  graph
    stream<int32 round, float64 sum> Start = Beacon() { param iterations: 1; output Start: sum = 1.0; }
    stream<int32 round, float64 x> Tasks = Custom(Start, Results as In) {
      logic onTuple In: if (round < $rounds)
        for (int32 i in range(TASKS)) submit({round = round, x = sum + (float64) i}, Tasks);
    }
    stream<int32 round, float64 x> Products = Custom(Tasks as In) {
      logic onTuple In: {
        mutable float64 product = x;
        for (int32 i in range($times)) product = product * 0.999;
        submit({round = round, x = product}, Products);
      }
    }
    stream<int32 round, float64 sum> Results = Custom(Products as In) {
      logic
        state: { mutable int32 seen = 0; mutable float64 total = 0.0; }
        onTuple In: {
          seen++;
          total += x;
          if (seen == TASKS) {
            submit({round = round + 1, sum = total / 20000.0}, Results);
            seen = 0;
            total = 0.0;
          }
        }
    }
    () as Sink = FileSink(Results) { param file: "results.csv"; format: csv; }
}
""".replace("TASKS)", f"{TASKS})")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="A loop inside one PE and through batches.")
    parser.add_argument("--channels", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--work", type=float, nargs="+", default=[1.0, 4.0, 16.0])
    arguments = parser.parse_args()
    spark = open_bench_session()
    program = compile_text(PROGRAM)

    def run(channels: int, rounds: int, work: float) -> tuple[float, bytes]:
        times = round(work / TASKS / SECONDS_PER_MULTIPLICATION)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            settings = {"rounds": [str(rounds)], "times": [str(times)]}
            options = Options(
                environment=Environment(data_directory=out, output_directory=out, submission_values=settings),
                fusion="all",
                channels=channels,
                loops="batches" if channels > 1 else "inside",
            )
            _, outcome = run_program(program, options, spark, checkpoint=out / "job")
            return outcome.seconds, (out / "results.csv").read_bytes()

    ways = {"inside one PE": 1, f"through batches on {arguments.channels} channels": arguments.channels}
    for channels in ways.values():
        run(channels, 1, 0.1)
    starts = {name: statistics.median(run(channels, 0, 0.0)[0] for _ in range(3)) for name, channels in ways.items()}
    for work in arguments.work:
        a_round: dict[str, list[float]] = {name: [] for name in ways}
        results = set()
        for _ in range(arguments.turns):
            for name, channels in ways.items():
                seconds, result = run(channels, arguments.rounds, work)
                a_round[name].append((seconds - starts[name]) / arguments.rounds)
                results.add(result)
        assert len(results) == 1, "the results differ"
        one, other = a_round.values()
        gain = statistics.median(a / b for a, b in zip(one, other, strict=True))
        told = ", ".join(f"{name} {statistics.median(found):.2f} s" for name, found in a_round.items())
        print(f"{work:g} s of work: a round takes {told}: {gain:.2f} times as fast", flush=True)


if __name__ == "__main__":
    main()
