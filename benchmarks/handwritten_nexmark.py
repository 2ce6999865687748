"""Nexmark's queries by hand in PySpark: SQL where SQL can say them, state in Python for each key where it cannot.

`penstock bench nexmark` runs them beside the programs of `examples/nexmark`. Each takes the stream of events (see
`examples/nexmark/generate.py`) and gives what is to be written with every batch, and the output mode. Aggregates run in
update mode: an answer is given anew when it changes, and the last one of a key counts (`KEYS`). Sessions cannot: those
that are open at the end are not given (`OPEN_AT_THE_END`). Where a second step follows an aggregate (q4, q5, q6, q7) it
is taken when the answer is read (`finish`), which costs this side nothing.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

SCHEMA = """kind int, ts long, person long, auction long, price long, reserve long, expires long, category int,
name string, detail string, city string, state string, extra string"""
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
Made = tuple[DataFrame, str]
Row = tuple[Any, ...]

KEYS = {
    "q4": (0,), "q5": (0, 2), "q6": (0,), "q7": (5,), "q9": (0,), "q12": (0, 2), "q15": (0,), "q16": (0, 1),
    "q17": (0, 1), "q18": (0, 1),
}  # fmt: skip
"""The columns of the key of each answer that is given anew."""

OPEN_AT_THE_END = frozenset({"q11"})


def bids(events: DataFrame) -> DataFrame:
    named = (F.col("person").alias("bidder"), F.col("name").alias("channel"), F.col("detail").alias("url"))
    return events.where("kind = 2").select("auction", "price", "ts", "extra", *named)


def at() -> Any:
    return F.timestamp_millis(F.col("ts"))


def start_of(size: int) -> Any:
    return F.floor(F.col("ts") / size) * size


def q0(events: DataFrame) -> Made:
    return bids(events).select("auction", "bidder", "price", "ts", "extra"), "append"


def q1(events: DataFrame) -> Made:
    euros = (F.col("price").cast("double") * 0.908).alias("price")
    return bids(events).select("auction", "bidder", euros, "ts", "extra"), "append"


def q2(events: DataFrame) -> Made:
    return bids(events).where("auction % 123 = 0").select("auction", "price"), "append"


def q3(events: DataFrame) -> Made:
    people = events.where("kind = 0 AND state IN ('OR', 'ID', 'CA')").select("person", "name", "city", "state")
    auctions = events.where("kind = 1 AND category = 10").select(F.col("person").alias("seller"), "auction")
    joined = people.join(auctions, F.col("person") == F.col("seller"))
    return joined.select("name", "city", "state", "auction"), "append"


class BestBids(StatefulProcessor):
    """The best bid for an auction while it is open."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        texts, numbers = "item string, description string", "initial long, reserve long, ts long, expires long"
        self.auction = handle.getValueState("auction", f"{texts}, {numbers}, seller long, category int")
        self.best = handle.getValueState("best", "bidder long, price long, ts long")
        self.early = handle.getListState("early", "bidder long, price long, ts long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        auction, best = self.auction.get(), self.best.get()
        offers = list(self.early.get()) if self.early.exists() else []
        for frame in rows:
            for t in frame.itertuples(index=False):
                if t.kind == 1:
                    auction = (t.name, t.detail, t.price, t.reserve, t.ts, t.expires, t.person, t.category)
                    self.auction.update(auction)
                else:
                    offers.append((t.person, t.price, t.ts))
        if auction is None:
            self.early.put(offers)
            return
        before = best
        for bidder, price, ts in offers:
            better = best is None or (-price, ts) < (-best[1], best[2])
            if auction[4] <= ts <= auction[5] and better:
                best = (int(bidder), int(price), int(ts))
        self.early.clear()
        if best is not None and best != before:
            self.best.update(best)
            names = "auction item description initial reserve ts expires seller category bidder price bid_at".split()
            yield pd.DataFrame([(key[0], *auction, *best)], columns=names)

    def close(self) -> None:
        pass


def q9(events: DataFrame) -> Made:
    schema = """auction long, item string, description string, initial long, reserve long, ts long, expires long,
    seller long, category int, bidder long, price long, bid_at long"""
    keyed = events.where("kind > 0").groupBy("auction")
    return keyed.transformWithStateInPandas(BestBids(), schema, "Update", "None"), "update"


q4 = q6 = q9


def q5(events: DataFrame) -> Made:
    timed = bids(events).withColumn("at", at()).withWatermark("at", "2 seconds")
    counted = timed.groupBy(F.window("at", "10 seconds", "2 seconds"), "auction").count()
    return counted.select("auction", "count", F.unix_millis("window.start")), "update"


def q7(events: DataFrame) -> Made:
    best = F.max(F.struct("price", "auction", "bidder", "ts", "extra")).alias("best")
    found = bids(events).withColumn("at", at()).withWatermark("at", "2 seconds").groupBy(F.window("at", "10 seconds"))
    columns = ("best.auction", "best.price", "best.bidder", "best.ts", "best.extra", F.unix_millis("window.start"))
    return found.agg(best).select(*columns), "update"


def q8(events: DataFrame) -> Made:
    timed = events.where("kind < 2").withColumn("at", at()).withWatermark("at", "2 seconds")
    windowed = timed.withColumn("start", start_of(10_000))
    people = windowed.where("kind = 0").select("person", "name", "start", "at")
    sellers = windowed.where("kind = 1").select(F.col("person").alias("seller"), F.col("start").alias("opened"), "at")
    sellers = sellers.dropDuplicates(["seller", "opened"]).drop("at")
    joined = people.join(sellers, (F.col("person") == F.col("seller")) & (F.col("start") == F.col("opened")))
    return joined.select("person", "name", "start"), "append"


def q10(events: DataFrame) -> Made:
    day, minute = (F.date_format(at(), form) for form in ("yyyy-MM-dd", "HH:mm"))
    return bids(events).select("auction", "bidder", "price", "ts", "extra", day, minute), "append"


def q11(events: DataFrame) -> Made:
    timed = bids(events).withColumn("at", at()).withWatermark("at", "2 seconds")
    sessions = timed.groupBy(F.session_window("at", "10 seconds"), "bidder").agg(F.count("*").alias("n"), F.min("ts"))
    return sessions.select("bidder", "n", "min(ts)"), "append"


def q12(events: DataFrame) -> Made:
    timed = bids(events).withColumn("at", at()).withWatermark("at", "2 seconds")
    counted = timed.groupBy(F.window("at", "10 seconds"), "bidder").count()
    return counted.select("bidder", "count", F.unix_millis("window.start")), "update"


def q13(events: DataFrame) -> Made:
    spark = events.sparkSession
    table = spark.range(10_000).select("id", F.concat(F.lit("value-"), (F.col("id") * 7 % 10_000).cast("string")))
    side = F.broadcast(table.toDF("id", "value"))
    joined = bids(events).join(side, F.col("auction") % 10_000 == F.col("id"))
    return joined.select("auction", "bidder", "price", "ts", "value"), "append"


def q14(events: DataFrame) -> Made:
    euros = bids(events).withColumn("price", F.col("price").cast("double") * 0.908)
    hour = F.floor(F.col("ts") / 3_600_000) % 24
    night = F.when((hour <= 6) | (hour >= 20), "nightTime").otherwise("otherTime")
    daytime = F.when((hour >= 8) & (hour <= 18), "dayTime").otherwise(night)
    letters = F.length("extra") - F.length(F.replace("extra", F.lit("c"), F.lit("")))
    large = euros.where("price > 1000000 AND price < 50000000")
    return large.select("auction", "bidder", "price", daytime, "ts", "extra", letters), "append"


RANKS = ("price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")


def figures(*distinct: str) -> list[Any]:
    """Counts of bids and of different values, in all and of every rank."""
    counts = [F.count("*"), *(F.count(F.when(F.expr(rank), 1)) for rank in RANKS)]
    for name in distinct:
        sets = [F.collect_set(name), *(F.collect_set(F.when(F.expr(rank), F.col(name))) for rank in RANKS)]
        counts += [F.size(one) for one in sets]
    return [count.alias(f"n{i}") for i, count in enumerate(counts)]


def q15(events: DataFrame) -> Made:
    days = bids(events).withColumn("day", start_of(86_400_000)).groupBy("day")
    return days.agg(*figures("bidder", "auction")), "update"


def q16(events: DataFrame) -> Made:
    days = bids(events).withColumn("day", start_of(86_400_000)).groupBy("channel", "day")
    minute = F.max(F.floor(F.col("ts") / 60_000) % 1440).alias("minute")
    return days.agg(minute, *figures("bidder", "auction")), "update"


def q17(events: DataFrame) -> Made:
    days = bids(events).withColumn("day", start_of(86_400_000)).groupBy("auction", "day")
    return days.agg(*figures(), F.min("price"), F.max("price"), F.sum("price"), F.avg("price")), "update"


def q18(events: DataFrame) -> Made:
    last = F.max(F.struct("ts", "price")).alias("last")
    found = bids(events).groupBy("bidder", "auction").agg(last)
    return found.select("bidder", "auction", "last.price", "last.ts"), "update"


class TopBids(StatefulProcessor):
    """The ten highest bids for an auction."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.top = handle.getListState("top", "price long, ts long, bidder long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        before = [tuple(t) for t in self.top.get()] if self.top.exists() else []
        offers = [(int(t.price), int(t.ts), int(t.bidder)) for frame in rows for t in frame.itertuples(index=False)]
        top = heapq.nsmallest(10, before + offers, key=lambda t: (-t[0], t[1]))
        self.top.put(top)
        fresh = [(key[0], price, bidder, ts) for price, ts, bidder in top if (price, ts, bidder) not in before]
        yield pd.DataFrame(fresh, columns=["auction", "price", "bidder", "ts"])

    def close(self) -> None:
        pass


def q19(events: DataFrame) -> Made:
    schema = "auction long, price long, bidder long, ts long"
    return bids(events).groupBy("auction").transformWithStateInPandas(TopBids(), schema, "Update", "None"), "update"


def q20(events: DataFrame) -> Made:
    auctions = events.where("kind = 1 AND category = 10").select(
        F.col("auction").alias("id"),
        F.col("name").alias("item"),
        F.col("person").alias("seller"),
        F.col("price").alias("initial"),
    )
    joined = bids(events).join(auctions, F.col("auction") == F.col("id"))
    return joined.select("auction", "bidder", "price", "ts", "item", "seller", "initial"), "append"


def q21(events: DataFrame) -> Made:
    number = F.regexp_extract("url", "(&|^)channel_id=([^&]*)", 2)
    lower = F.lower("channel")
    for name, value in {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}.items():
        number = F.when(lower == name, value).otherwise(number)
    found = bids(events).withColumn("channel_id", number).where("channel_id <> ''")
    return found.select("auction", "bidder", "price", "channel", "channel_id"), "append"


def q22(events: DataFrame) -> Made:
    parts = [F.split_part("url", F.lit("/"), F.lit(i)) for i in (4, 5, 6)]
    return bids(events).select("auction", "bidder", "price", "channel", *parts), "append"


QUERIES: dict[str, Callable[[DataFrame], Made]] = {f"q{i}": globals()[f"q{i}"] for i in range(23)}


def run(spark: SparkSession, name: str, folder: Path, checkpoint: Path, out: Path) -> None:
    """Run a query over Parquet files, one a batch, and write what each batch gives."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    session.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    events = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    made, mode = QUERIES[name](events)
    made = made.toDF(*(f"c{i}" for i in range(len(made.columns))))

    def write(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(str(out / f"{number:06d}"))

    writer = made.writeStream.foreachBatch(write).outputMode(mode).trigger(availableNow=True)
    writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()


def finish(name: str, rows: list[Row]) -> list[Row]:
    """The answer, of the rows of all batches in order."""
    if name in KEYS:
        rows = list({tuple(row[i] for i in KEYS[name]): row for row in rows}.values())
    if name in ("q4", "q6"):
        return means(rows, of=8 if name == "q4" else 7, most=None if name == "q4" else 10)
    if name == "q5":
        most: defaultdict[Any, int] = defaultdict(int)
        for _, num, start in rows:
            most[start] = max(most[start], num)
        return [row for row in rows if row[1] == most[row[2]]]
    return [row[:5] for row in rows] if name == "q7" else rows


def means(rows: list[Row], *, of: int, most: int | None) -> list[Row]:
    """The mean price of best bids by a column, of those auctions that expire last."""
    found: defaultdict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[of]].append((row[6], row[0], row[10]))
    last = {key: sorted(own)[-most:] if most else own for key, own in found.items()}
    return [(key, sum(price for _, _, price in own) / len(own)) for key, own in last.items()]
