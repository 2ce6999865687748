"""What a filter behind a source costs: as a Catalyst expression in the JVM, and in the PE that reads by columns.

Run: `python benchmarks/catalyst_edges.py [TUPLES]`. Three ways to let the quotes among ticks (one in five) through to a
PE in Python, from the same CSV file:

- catalyst: Spark reads the file and filters in the JVM; only quotes cross to Python;
- crossing: Spark reads the file, and everything crosses;
- columns: Penstock's source reads the file by columns in a Python task, and filters there.

Figures are microseconds of processor time for a tuple, over all processes: the difference between a large file and one
ten times smaller, so that starting counts for nothing. The three take turns in one session.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from penstock.base.process_tree import family, stat_of
from penstock.bench.measure.on_spark import open_bench_session, run_timed
from penstock.bench.workloads.spark_data import ticks, write_csv
from penstock.lang import compile_text

TICK = "time double, ttype string, sym string, price double, volume double, ask double, asksize double"
PROGRAM = """type Tick = tuple<float64 time, rstring ttype, rstring sym, float64 price, float64 volume,
    float64 ask, float64 asksize>;
composite Main { graph
  stream<Tick> Ticks = FileSource() { param file: "ticks.csv"; format: csv; }
  stream<Tick> Quotes = Filter(Ticks) { param filter: ttype == "Quote"; }
  stream<Tick> Few = Filter(Quotes) { param filter: time < 0.1; }
  () as Sink = FileSink(Few) { param file: "few.csv"; format: csv; } }"""
ROUNDS, SMALLER = 3, 10
ONE_BATCH = 10**8
"""Tuples of a batch: all, as Spark's own job has no batches either."""


def few(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The PE: quotes, and of those the few at the beginning."""
    for batch in batches:
        quotes = batch.filter(pc.equal(batch["ttype"], "Quote"))
        yield quotes.filter(pc.less(quotes["time"], 0.1))


def read(spark: SparkSession, folder: Path) -> DataFrame:
    # A job of ours sets its session for rows with many tuples each; a row by hand is one tuple.
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
    spark.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1))
    return spark.read.schema(TICK).csv(str(folder / "ticks.csv")).coalesce(1)


def catalyst(spark: SparkSession, folder: Path) -> None:
    read(spark, folder).where("ttype = 'Quote'").mapInArrow(few, TICK).collect()


def crossing(spark: SparkSession, folder: Path) -> None:
    read(spark, folder).mapInArrow(few, TICK).collect()


def columns(spark: SparkSession, folder: Path) -> None:
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "16")
    run_timed(spark, compile_text(PROGRAM), data=folder, out=folder / "out", turns_per_batch=ONE_BATCH)


def cpu_seconds() -> float:
    """The processor time that this process and its descendants have used, ended children included."""
    ticks = sum(int(field) for pid in family() for field in (stat_of(pid) or ())[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def seconds(way: Callable[[SparkSession, Path], None], spark: SparkSession, folder: Path) -> float:
    before = cpu_seconds()
    way(spark, folder)
    return cpu_seconds() - before


def main() -> None:
    tuples = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000
    spark = open_bench_session()
    ways = {"catalyst": catalyst, "crossing": crossing, "columns": columns}
    cost: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large", Path(folder) / "small"
        write_csv(ticks(tuples, symbols=500), large / "ticks.csv")
        write_csv(ticks(tuples // SMALLER, symbols=500), small / "ticks.csv")
        for _ in range(ROUNDS):
            for name, way in ways.items():
                less = seconds(way, spark, small)
                cost[name].append((seconds(way, spark, large) - less) / (tuples - tuples // SMALLER) * 1e6)
    for name, found in cost.items():
        print(f"{name:10s}{statistics.median(found):8.2f} µs a tuple")


if __name__ == "__main__":
    main()
