"""Three streaming jobs by hand in PySpark, beside those of `penstock bench latency`: without state, keyed, windowed.

Each takes a streaming DataFrame of rows `created, key, price, volume` and gives another one. `created` is when a row
was made; rows that come out keep it, and a window has that of its last row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyspark.sql.functions as F
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

ROWS = "created long, key long, price double, volume int"
TOTALS = "created long, key long, count long, total double"


class Totals(StatefulProcessor):
    """The count and the sum of one key so far, for every row."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.totals = handle.getValueState("totals", "count long, total double")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        count, total = self.totals.get() or (0, 0.0)
        for frame in rows:
            counts, totals = count + frame["price"].expanding().count(), total + frame["price"].cumsum()
            count, total = int(counts.iloc[-1]), float(totals.iloc[-1])
            yield pd.DataFrame(
                {"created": frame["created"], "key": key[0], "count": counts.astype("int64"), "total": totals}
            )
        self.totals.update((count, total))

    def close(self) -> None:
        pass


def without_state(rows: DataFrame) -> DataFrame:
    """A filter and a value, as column expressions."""
    dear = rows.where("price > 10.0")
    return dear.select("created", "key", (F.col("price") * F.col("volume")).alias("value"))


def keyed(rows: DataFrame) -> DataFrame:
    """A running count and sum of each key, in Python."""
    return rows.groupBy("key").transformWithStateInPandas(Totals(), TOTALS, "Append", "None")


def windowed(rows: DataFrame) -> DataFrame:
    """The sum of each key and second, in Spark's own expressions."""
    timed = rows.withColumn("at", F.timestamp_micros("created")).withWatermark("at", "0 seconds")
    sums = timed.groupBy(F.window("at", "1 second"), "key")
    return sums.agg(F.max("created").alias("created"), F.sum("price").alias("total")).select("created", "key", "total")


JOBS = {"without state": without_state, "keyed": keyed, "windowed": windowed}
