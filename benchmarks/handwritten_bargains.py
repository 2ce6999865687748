"""Bargain detection by hand in PySpark: quotes below the volume-weighted average price (VWAP) of their symbol.

The windows are of the last so many ticks, and a quote meets the latest trades before it. Spark's own windows are of
time, so this takes state in Python: `transformWithStateInPandas`, once over the whole market for its level, once by
symbol. An exchange keeps no order, so rows are sorted by time within each group, and the bargains of a batch last.
Within a group everything is done on columns with numpy.

Run: `python benchmarks/handwritten_bargains.py FOLDER OUT`, where the folder holds CSV files of ticks.
`penstock bench vs-handwritten` runs it beside `examples/bargains`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyspark.sql.functions as F
from numpy.lib.stride_tricks import sliding_window_view
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

TICK = "time double, ttype string, sym string, price double, volume double, ask double, asksize double"
LEVELLED = f"{TICK}, level double"
BARGAIN = "sym string, ask double, vwap double, asksize double, time double, score double, level double"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
TRADES, MARKET = 15, 100


class MarketLevel(StatefulProcessor):
    """Gives every tick the mean of the last 100 ticks of the whole market."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.last = handle.getValueState("last", "sums array<double>")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        ticks = pd.concat(list(rows)).sort_values("time")
        before = self.last.get()
        kept = np.array(before[0] if before else [], float)
        sums = np.concatenate([kept, (ticks["price"] + ticks["ask"]).to_numpy()])
        level = np.full(len(sums), np.nan)
        if len(sums) >= MARKET:
            level[MARKET - 1 :] = sliding_window_view(sums, MARKET).mean(axis=1)
        self.last.update((sums[-(MARKET - 1) :].tolist(),))
        yield ticks[TICK_COLUMNS].assign(level=level[len(kept) :])

    def close(self) -> None:
        pass


class Bargains(StatefulProcessor):
    """Finds the bargains of one symbol."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.last = handle.getValueState("last", "prices array<double>, volumes array<double>")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        ticks = in_order(rows)
        is_trade = ticks["ttype"] == "Trade"
        before = self.last.get() or ([], [])
        prices = np.concatenate([np.array(before[0], float), ticks["price"][is_trade]])
        volumes = np.concatenate([np.array(before[1], float), ticks["volume"][is_trade]])
        self.last.update((prices[-TRADES:].tolist(), volumes[-TRADES:].tolist()))
        if len(prices) < TRADES:
            return
        vwap = windows(prices * volumes).sum(axis=1) / windows(volumes).sum(axis=1)
        spread = np.ptp(windows(prices), axis=1)
        # The window that a quote meets ends with the last trade before it.
        latest = np.cumsum(is_trade) + len(before[0]) - TRADES
        may_be = ~is_trade & (ticks["ask"] > 0) & (latest >= 0) & ~np.isnan(ticks["level"])
        is_found = may_be & (vwap[np.maximum(latest, 0)] > ticks["ask"])
        found = {name: column[is_found] for name, column in ticks.items()}
        met = latest[is_found]
        found |= {"vwap": vwap[met], "score": (vwap[met] - found["ask"]) / (spread[met] + 0.01)}
        yield pd.DataFrame({name: found[name] for name in BARGAIN_COLUMNS})

    def close(self) -> None:
        pass


def in_order(rows: Iterator[pd.DataFrame]) -> dict[str, np.ndarray]:
    """The columns of a group, by time."""
    frames = list(rows)
    columns = {name: np.concatenate([frame[name].to_numpy() for frame in frames]) for name in LEVELLED_COLUMNS}
    order = np.argsort(columns["time"], kind="stable")
    return {name: column[order] for name, column in columns.items()}


def windows(values: np.ndarray) -> np.ndarray:
    """The last so many values up to each position."""
    return sliding_window_view(values, TRADES)


TICK_COLUMNS, LEVELLED_COLUMNS, BARGAIN_COLUMNS = (
    [column.split()[0] for column in schema.split(", ")] for schema in (TICK, LEVELLED, BARGAIN)
)


def run(spark: SparkSession, folder: Path, checkpoint: Path, out: Path) -> None:
    """Write the bargains to a file, in the order of time, until the input ends."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "50000")
    session.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    session.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    query = (
        bargains(session, folder)
        .writeStream.foreachBatch(lambda frame, batch: append(frame, out))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def bargains(spark: SparkSession, folder: Path) -> DataFrame:
    ticks = spark.readStream.schema(TICK).option("maxFilesPerTrigger", 1).csv(str(folder))
    market = ticks.withColumn("market", F.lit(0)).groupBy("market")
    levelled = market.transformWithStateInPandas(MarketLevel(), LEVELLED, "Append", "None")
    return levelled.groupBy("sym").transformWithStateInPandas(Bargains(), BARGAIN, "Append", "None")


def append(frame: DataFrame, out: Path) -> None:
    frame.toArrow().to_pandas().sort_values("time").to_csv(out, mode="a", header=False, index=False)


def main() -> None:
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    with tempfile.TemporaryDirectory() as checkpoint:
        run(spark, Path(sys.argv[1]), Path(checkpoint), Path(sys.argv[2]))


if __name__ == "__main__":
    main()
