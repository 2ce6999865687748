"""Network monitoring by hand in PySpark: users with more than 100 log lines in five seconds.

Spark has all that it takes: a watermark, windows of event time and an aggregation in the JVM. No Python touches a row.
Run: `python benchmarks/handwritten_network_monitoring.py FOLDER OUT`, where the folder holds files of lines
`seconds uid message`. `penstock bench vs-handwritten` runs it beside `examples/network_monitoring`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


def run(spark: SparkSession, folder: Path, checkpoint: Path, out: Path) -> None:
    """Write the suspects to a file, until the input ends."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.conf.set("spark.sql.streaming.stateStore.providerClass", IN_MEMORY)
    query = (
        suspects(session, folder)
        .writeStream.foreachBatch(lambda frame, batch: append(frame, out))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def suspects(spark: SparkSession, folder: Path) -> DataFrame:
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder))
    parts = F.split("value", " ", 3)
    entries = lines.select(
        F.timestamp_micros((parts[0].cast("double") * 1_000_000).cast("long")).alias("time"),
        parts[1].cast("long").alias("uid"),
    )
    return (
        entries.withWatermark("time", "0 seconds")
        .groupBy(F.window("time", "5 seconds"), "uid")
        .agg(F.count("*").alias("total"))
        .where("total > 100")
        .select("uid", "total")
    )


def append(frame: DataFrame, out: Path) -> None:
    with out.open("a") as file:
        file.writelines(f"{uid},{total}\n" for uid, total in frame.collect())


def main() -> None:
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    with tempfile.TemporaryDirectory() as checkpoint:
        run(spark, Path(sys.argv[1]), Path(checkpoint), Path(sys.argv[2]))


if __name__ == "__main__":
    main()
