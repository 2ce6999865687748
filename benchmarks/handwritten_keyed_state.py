"""Count and sum by key, by hand in PySpark: with Spark's own aggregation, and with state in Python for each key.

Run: `python benchmarks/handwritten_keyed_state.py FOLDER`, where the folder holds CSV files of rows `k,v`.
`penstock bench keyed-state` runs both beside the same program on Penstock.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

ROWS = "k long, v long"
TOTALS = "k long, n long, total long"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


class Totals(StatefulProcessor):
    """The count and the sum of one key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.totals = handle.getValueState("totals", "n long, total long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        n, total = self.totals.get() or (0, 0)
        for frame in rows:
            n, total = n + len(frame), total + int(frame["v"].sum())
        self.totals.update((n, total))
        yield pd.DataFrame({"k": [key[0]], "n": [n], "total": [total]})

    def close(self) -> None:
        pass


def native(spark: SparkSession, folder: Path, checkpoint: Path) -> pa.Table:
    """The totals of all keys, by Spark's aggregation in the JVM."""
    session = tuned(spark, IN_MEMORY)
    totals = rows(session, folder).groupBy("k").agg(F.count("*").alias("n"), F.sum("v").alias("total"))
    return finished(totals, checkpoint)


def per_key(spark: SparkSession, folder: Path, checkpoint: Path) -> pa.Table:
    """The totals of all keys, by `transformWithStateInPandas` with the state of one key at a time."""
    session = tuned(spark, ROCKSDB)
    totals = rows(session, folder).groupBy("k").transformWithStateInPandas(Totals(), TOTALS, "Update", "None")
    return finished(totals, checkpoint)


def native_batches(spark: SparkSession, folder: Path, checkpoint: Path) -> list[dict[str, Any]]:
    """Spark's aggregation with its state on disk and its totals thrown away; its progress, batch by batch."""
    session = tuned(spark, ROCKSDB)
    session.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000")
    totals = rows(session, folder).groupBy("k").agg(F.count("*").alias("n"), F.sum("v").alias("total"))
    writer = totals.writeStream.outputMode("update").format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return list(query.recentProgress)


def tuned(spark: SparkSession, provider: str) -> SparkSession:
    """A session with as many partitions as cores, and the state store that is faster for the purpose."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
    session.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    session.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    return session


def rows(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(ROWS).option("maxFilesPerTrigger", 1).csv(str(folder))


def finished(totals: DataFrame, checkpoint: Path) -> pa.Table:
    """Run to the end of the input; the last totals of each key."""
    batches: list[pa.Table] = []
    query = (
        totals.writeStream.outputMode("update")
        .foreachBatch(lambda frame, batch: batches.append(frame.toArrow()))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    updates = pa.concat_tables(batches)
    # Counts only grow, so the largest one is the last.
    return updates.group_by("k").aggregate([("n", "max"), ("total", "max")])


def main() -> None:
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    with tempfile.TemporaryDirectory() as checkpoint:
        print(native(spark, Path(sys.argv[1]), Path(checkpoint) / "native").num_rows, "keys")


if __name__ == "__main__":
    main()
