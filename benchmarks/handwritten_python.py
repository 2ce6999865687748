"""Chains of Python functions, and the same by hand: in one `mapInArrow`, in native Spark, in a plain loop.

`penstock bench python` runs them beside Penstock and Bytewax (`benchmarks/bytewax_python.py`), all on the functions of
this file. Run: `python benchmarks/handwritten_python.py CASE FOLDER`, a folder of Parquet files of rows `n, x, s`; it
prints the tuples a second of a plain loop.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

ROWS = "n long, x double, s string"
RUNNING = "n long, count long, total double"


class Row(NamedTuple):
    """A tuple of the stream."""

    n: int
    x: float
    s: str


class Total(NamedTuple):
    """What the keyed class gives for each tuple."""

    n: int
    count: int
    total: float


def same(t):
    return t


def changed(t):
    return Row(t.n, t.x * 1.0001, t.s)


def scaled(t):
    return Row(t.n + 1, t.x * 2.0, t.s)


def is_wanted(t):
    return t.n % 3 != 0 and t.x > 10.0


def shifted(t):
    return Row(t.n * 2, t.x - 0.5, t.s)


def hashed(t):
    return Row(t.n, t.x, hashlib.md5(t.s.encode()).hexdigest())


Step = tuple[str, Callable[[Any], Any]]
CASES: dict[str, list[Step]] = {
    "16 identity functions": [("map", same)] * 16,
    "16 functions that change one attribute": [("map", changed)] * 16,
    "map, filter, map": [("map", scaled), ("filter", is_wanted), ("map", shifted)],
    "a function that is not understood": [("map", hashed)],
}
KEYED = "a keyed class"
KEYS = 20_000


def read_rows(path: Path) -> Iterator[list[Row]]:
    """The rows of a Parquet file, some thousand at a time."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=10_000):
            yield rows_of(batch)


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    return list(map(Row, *(column.to_pylist() for column in batch.columns)))


def apply(steps: list[Step], rows: Iterable[Any]) -> Iterator[Any]:
    """The rows that come out of a chain, in a plain loop."""
    for row in rows:
        for role, function in steps:
            if role == "map":
                row = function(row)
            elif not function(row):
                break
        else:
            yield row


def run_plain(steps: list[Step], files: list[Path]) -> float:
    """The seconds that a plain loop takes, the making of rows left out."""
    seconds = 0.0
    for path in files:
        for rows in read_rows(path):
            began = time.perf_counter()
            for _ in apply(steps, rows):
                pass
            seconds += time.perf_counter() - began
    return seconds


class RunningTotals(StatefulProcessor):
    """The count and the sum of one key so far, for every row."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.totals = handle.getValueState("totals", "count long, total double")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        count, total = self.totals.get() or (0, 0.0)
        for frame in rows:
            counts, totals = count + frame["x"].expanding().count(), total + frame["x"].cumsum()
            count, total = int(counts.iloc[-1]), float(totals.iloc[-1])
            yield pd.DataFrame({"n": key[0], "count": counts.astype("int64"), "total": totals})
        self.totals.update((count, total))

    def close(self) -> None:
        pass


def in_arrow(steps: list[Step]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for `mapInArrow` that calls all functions of a chain."""

    def call(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            made = list(apply(steps, rows_of(batch)))
            columns = list(zip(*made, strict=True)) if made else [(), (), ()]
            arrays = [pa.array(c, f.type) for c, f in zip(columns, batch.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    return call


def by_map_in_arrow(spark: SparkSession, folder: Path, steps: list[Step]) -> list[float]:
    """The seconds of the batches of one `mapInArrow`."""
    return batch_seconds(rows(spark, folder).mapInArrow(in_arrow(steps), ROWS))


def native(spark: SparkSession, folder: Path) -> list[float]:
    """The seconds of the batches of map, filter, map in Spark's own expressions."""
    scaled = rows(spark, folder).select((F.col("n") + 1).alias("n"), (F.col("x") * 2.0).alias("x"), "s")
    wanted = scaled.where((F.col("n") % 3 != 0) & (F.col("x") > 10.0))
    return batch_seconds(wanted.select((F.col("n") * 2).alias("n"), (F.col("x") - 0.5).alias("x"), "s"))


def native_map(spark: SparkSession, folder: Path) -> list[float]:
    """The seconds of the batches of one map in Spark's own expressions."""
    made = rows(spark, folder).select((F.col("n") + 1).alias("n"), (F.col("x") * 2.0).alias("x"), "s")
    return batch_seconds(made)


def native_totals(spark: SparkSession, folder: Path) -> list[float]:
    """The seconds of the batches of Spark's own count and sum by key."""
    totals = rows(two_partitions(spark), folder).groupBy("n").agg(F.count("*"), F.sum("x"))
    return batch_seconds(totals, "update")


def two_partitions(spark: SparkSession) -> SparkSession:
    """A session with two partitions of state, in RocksDB."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    session.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    return session


def per_key(spark: SparkSession, folder: Path) -> list[float]:
    """The seconds of the batches of `transformWithState` with the state of one key at a time."""
    keyed = rows(two_partitions(spark), folder).withColumn("n", F.col("n") % KEYS).groupBy("n")
    return batch_seconds(keyed.transformWithStateInPandas(RunningTotals(), RUNNING, "Append", "None"))


def rows(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(ROWS).option("maxFilesPerTrigger", 1).parquet(str(folder))


def batch_seconds(made: DataFrame, mode: str = "append") -> list[float]:
    """Run to the end of the input, a file a batch, and drop what is made; how long each batch took."""
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = made.writeStream.format("noop").outputMode(mode).option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        found = [p["batchDuration"] / 1000 for p in query.recentProgress if p["numInputRows"]]
    return found[1:] or found


def main() -> None:
    steps, folder = CASES[sys.argv[1]], Path(sys.argv[2])
    files = sorted(folder.iterdir())
    count = sum(pq.ParquetFile(path).metadata.num_rows for path in files)
    print(f"{count / run_plain(steps, files):,.0f} tuples a second")


if __name__ == "__main__":
    main()
