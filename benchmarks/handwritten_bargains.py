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
        ticks = pd.concat(list(rows)).sort_values("time")
        is_trade = (ticks["ttype"] == "Trade").to_numpy()
        before = self.last.get() or ([], [])
        prices = np.concatenate([np.array(before[0], float), ticks["price"].to_numpy()[is_trade]])
        volumes = np.concatenate([np.array(before[1], float), ticks["volume"].to_numpy()[is_trade]])
        self.last.update((prices[-TRADES:].tolist(), volumes[-TRADES:].tolist()))
        if len(prices) < TRADES:
            return
        amount = windows(prices * volumes).sum(axis=1)
        vwap, spread = amount / windows(volumes).sum(axis=1), np.ptp(windows(prices), axis=1)
        # The window that a quote meets ends with the last trade before it.
        latest = np.cumsum(is_trade) + len(before[0]) - TRADES
        is_quote = ((ticks["ttype"] == "Quote") & (ticks["ask"] > 0)).to_numpy() & (latest >= 0)
        quotes, met = ticks[is_quote], latest[is_quote]
        found = quotes.assign(vwap=vwap[met], score=(vwap[met] - quotes["ask"]) / (spread[met] + 0.01))
        yield found.loc[(found["vwap"] > found["ask"]) & found["level"].notna(), BARGAIN_COLUMNS]

    def close(self) -> None:
        pass


def windows(values: np.ndarray) -> np.ndarray:
    """The last so many values up to each position."""
    return sliding_window_view(values, TRADES)


TICK_COLUMNS = [column.split()[0] for column in TICK.split(", ")]
BARGAIN_COLUMNS = [column.split()[0] for column in BARGAIN.split(", ")]


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
