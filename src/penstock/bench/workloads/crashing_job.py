"""The job of `penstock bench crashes`, and the process that runs it.

`python -m penstock.bench.workloads.crashing_job MASTER SINKS FOLDER...` runs the job with the checkpoint of each folder
until it is done, starting it again where the query fails, and tells on standard output what happens: `FOLDER batch
N`, `FOLDER failed 0`, `FOLDER done 0`. SINKS is SPL for more sinks of the stream `B`, in which `SEED` stands for the
name of the folder; it may be empty.
"""

from __future__ import annotations

import faulthandler
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TUPLES, TURNS_PER_BATCH = 300, 25
BATCHES = _TUPLES // TURNS_PER_BATCH
CHANNELS = 2
MOST_RESTARTS = 10
PATIENCE_SECONDS = 1800.0
"""How long all jobs may take: one that hangs must not hang those who wait for it."""

PROGRAM = f"""
composite Main {{
  graph
    stream<int32 k, int32 x> A = Beacon() {{
      param iterations: {_TUPLES}u; period: 0.05;
      output A: k = (int32) IterationCount() % 5, x = (int32) IterationCount();
    }}
    stream<int32 k, int32 total> B = Aggregate(A) {{
      window A: sliding, count(7), count(2), partitioned;
      param partitionBy: k;
      output B: k = Any(k), total = Sum(x);
    }}
    stream<int32 k, int32 n> T = Aggregate(A) {{
      window A: tumbling, time(2.0), partitioned;
      param partitionBy: k;
      output T: k = Any(k), n = Count();
    }}
    stream<int32 k, int32 total, int32 x> C = Join(B; A) {{
      window B: sliding, count(3), partitioned; A: sliding, count(2), partitioned;
      param partitionByLHS: B.k; partitionByRHS: A.k; equalityLHS: B.k; equalityRHS: A.k;
      output C: k = B.k;
    }}
    () as Sums = FileSink(B) {{ param file: "sums.csv"; }}
    () as Counts = FileSink(T) {{ param file: "counts.csv"; }}
    () as Joined = FileSink(C) {{ param file: "joined.csv"; }}
    SINKS
}}
"""
SINKS = ("sums.csv", "counts.csv", "joined.csv")
FUSION = (("A",), ("B", "T"), ("C",))
"""The sinks are the last PE."""


def program(sinks: str = "") -> Program:
    """The program, with more sinks if there are any."""
    return compile_text(PROGRAM.replace("SINKS", sinks))


def main() -> None:
    """Run the jobs one after the other."""
    from penstock.spark.job.session import open_session

    faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
    master, sinks, *folders = sys.argv[1:]
    spark = open_session(master, **{"spark.driver.memory": "1g"})
    for folder in map(Path, folders):
        run_to_the_end(spark, folder, sinks)


def run_to_the_end(spark: SparkSession, folder: Path, sinks: str) -> None:
    """Run the job of a folder until it is done."""
    for _ in range(MOST_RESTARTS):
        try:
            run_once(spark, folder, sinks)
        except Exception as error:
            print(error, file=sys.stderr)
            tell(folder, "failed")
        else:
            (folder / "done").touch()
            tell(folder, "done")
            return
    raise RuntimeError(f"the job has failed {MOST_RESTARTS} times")


def run_once(spark: SparkSession, folder: Path, sinks: str) -> None:
    """Run the job from its checkpoint to its end, or to a failure."""
    from penstock.spark.job.rescaling import run_program

    made = program(sinks.replace("SEED", folder.name))
    last = tuple(operator.id for operator in made.application.operators if not operator.outputs)
    options = Options(
        environment=Environment(data_directory=folder, output_directory=folder / "out"),
        pes=(*FUSION, last),
        channels=CHANNELS,
        batch=TURNS_PER_BATCH,
    )
    run_program(
        made,
        options,
        spark,
        checkpoint=folder / "job",
        on_progress=lambda p: tell(folder, "batch", p["batchId"]),
    )


def tell(folder: Path, event: str, number: int = 0) -> None:
    """Say what has happened."""
    print(folder.name, event, number, flush=True)


if __name__ == "__main__":
    main()
