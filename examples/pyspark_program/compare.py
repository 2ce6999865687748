"""Runs the program and its twin over the same files, sees that they give the same, and says how long each took.

python examples/pyspark_program/compare.py [EVENTS [USERS [BATCHES]]]
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import program
import pyarrow as pa
import transformed
from pyarrow import parquet
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

# Spark's Python processes do not find this folder, so its code goes with the query; a script's own would anyway.
cloudpickle.register_pickle_by_value(program)

PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def write_events(folder: Path, events: int, users: int, batches: int) -> None:
    """Write log lines, some of them broken, some of robots; a file for each batch."""
    folder.mkdir()
    draw = random.Random(7)
    pages = [f"/{section}/{n}" for section in ("news", "shop", "help") for n in range(20)]
    for batch in range(batches):
        lines = []
        for _ in range(events // batches):
            who = f"bot{draw.randrange(9)}" if draw.random() < 0.05 else f"u{draw.randrange(users)}"
            lines.append("broken" if draw.random() < 0.01 else f"{who} {draw.choice(pages)} {draw.randrange(90_000)}")
        path = folder / f"{batch:04d}.parquet"
        parquet.write_table(pa.table({"line": lines}), path)
        # Spark takes files in the order of their times.
        os.utime(path, (1_700_000_000 + batch, 1_700_000_000 + batch))


def run(spark: SparkSession, visits: Callable[[DataFrame], DataFrame], source: Path, place: Path) -> float:
    """Run a program from files to files; returns how many seconds it took."""
    events = spark.readStream.schema(program.EVENTS).option("maxFilesPerTrigger", "1").parquet(str(source))
    writer = visits(events).writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    began = time.perf_counter()
    writer.trigger(availableNow=True).start(str(place / "out")).awaitTermination()
    return time.perf_counter() - began


def rows(spark: SparkSession, place: Path) -> list[tuple[object, ...]]:
    """What a run has written, in an order of its own: Spark promises none."""
    return sorted(tuple(row) for row in spark.read.parquet(str(place / "out")).collect())


def compare(spark: SparkSession, folder: Path, events: int, users: int, batches: int) -> tuple[float, float, int]:
    """The seconds of the program alone and through Penstock, and how many rows each has written."""
    write_events(folder / "in", events, users, batches)
    alone = run(spark, program.visits, folder / "in", folder / "alone")
    through = run(spark, transformed.visits, folder / "in", folder / "through")
    found = rows(spark, folder / "through")
    assert found == rows(spark, folder / "alone")
    return alone, through, len(found)


def main() -> None:
    """Compare, in a session as a PySpark user makes it."""
    events, users, batches = (int(given) for given in [*sys.argv[1:], "200000", "5000", "4"][:3])
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.streaming.stateStore.providerClass", PROVIDER)
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        alone, through, written = compare(spark, Path(folder), events, users, batches)
    print(f"{events} events of {users} users in {batches} batches: {written} visits, the same from both")
    print(f"PySpark alone    {alone:8.1f} s")
    print(f"through Penstock {through:8.1f} s, {alone / through:.1f} times as fast")


if __name__ == "__main__":
    main()
