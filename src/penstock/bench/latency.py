"""`penstock bench latency`: from the making of a tuple to its sink, beside plain PySpark in micro-batches.

A process of its own writes a small Parquet file of new tuples to a folder every 50 ms, at a fixed rate. Both sides read
the folder by Spark's file source and write a folder of Parquet files, exactly once, as fast as batches go: one job
without state, one with a running sum of each key, one with the sum of each key and second by event time. By hand the
first and the third are Spark's own expressions, the keyed one is a `StatefulProcessor`
(`benchmarks/handwritten_latency.py`); ours are column expressions, a `KeyedOperator` and a window.

Spark's watermark moves between batches, ours with each tuple; and the rows of a batch come file by file, not in the
order of their times. So ours waits for a second, which is in its figures.

A tuple has reached its sink when a reader may see it: with PySpark when the log of the sink names its file, with ours
when the file has got its name. A window counts from its last tuple. What was made while the query starts is left out;
what had not come out when the run was ended counts as if it had come out then, so a side that cannot keep up shows it.
"""

from __future__ import annotations

import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from penstock import App, KeyedOperator, agg, col
from penstock import windows as w
from penstock.bench import Bench
from penstock.bench.measure.on_spark import by_hand, open_bench_session

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

_SCHEMA = "int64 created, int64 key, float64 price, int32 volume"
_RATES, _QUICK_RATES = (1_000, 10_000, 100_000), (500,)
_WARM_UP, _MEASURED, _REST = 8.0, 15.0, 6.0
_QUICK_WARM_UP, _QUICK_MEASURED, _QUICK_REST = 3.0, 1.0, 3.0
_TICK = 0.05
_KEYS = 1_000
_CHANNELS = 2
_BAR_RATE = 10_000


class Totals(KeyedOperator):
    """The count and the sum of one key so far, for every tuple."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0

    def process(self, t: Any) -> Any:
        """Add a tuple."""
        self.count += 1
        self.total += t.price
        yield {"created": t.created, "key": t.key, "count": self.count, "total": self.total}


def without_state(app: App) -> None:
    """A filter and a value, as column expressions."""
    dear = app.from_spark("ticks", _SCHEMA).filter(col.price > 10.0)
    dear.select(created=col.created, key=col.key, value=col.price * col.volume).write_parquet("out")


def keyed(app: App) -> None:
    """A running count and sum of each key, in Python."""
    made = "int64 created, int64 key, int64 count, float64 total"
    app.from_spark("ticks", _SCHEMA).apply(Totals, made, partition_by="key").write_parquet("out")


def windowed(app: App) -> None:
    """The sum of each key and second, by event time."""
    ordered, _ = app.from_spark("ticks", _SCHEMA).by_event_time("created", lateness="1 s", resolution="us")
    sums = ordered.aggregate(
        w.tumbling_time("1 second"),
        by="key",
        created=agg.max(col.created),
        key=agg.any(col.key),
        total=agg.sum(col.price),
    )
    sums.select(created=col.created, key=col.key, total=col.total).write_parquet("out")


JOBS: Mapping[str, Callable[[App], None]] = {"without state": without_state, "keyed": keyed, "windowed": windowed}


@dataclass(frozen=True, slots=True)
class _Times:
    """How long a run goes, in seconds: the query starts, what is measured is made, the rest is waited for."""

    warm_up: float
    measured: float
    rest: float

    @property
    def all(self) -> float:
        return self.warm_up + self.measured + self.rest


def run(bench: Bench) -> None:
    """Measure both sides of every job at every rate."""
    spark = open_bench_session()
    times = _Times(_QUICK_WARM_UP, _QUICK_MEASURED, _QUICK_REST) if bench.quick else _Times(_WARM_UP, _MEASURED, _REST)
    ratios: dict[str, float] = {}
    for rate in _QUICK_RATES if bench.quick else _RATES:
        for job in JOBS:
            found = {side: _measure(bench, spark, side, job, rate, times) for side in ("penstock", "by hand")}
            if rate == _BAR_RATE:
                ratios[job] = found["penstock"] / found["by hand"]
    for job, ratio in ratios.items():
        name = f"{job}, {_BAR_RATE:,} tuples a second: 99th percentile of penstock to PySpark's"
        bench.check(name, ratio, at_most=1.3, timed=True)
    _draw(bench, _BAR_RATE if not bench.quick else _QUICK_RATES[0])
    came = [row["came_out"] for row in bench.rows if row["side"] == "penstock" and row["rate"] != max(_RATES)]
    bench.check("the least share of tuples that came out, penstock", min(map(float, came)), at_least=0.99, timed=True)  # type: ignore[arg-type]


def _draw(bench: Bench, rate: int) -> None:
    """Draw the 99th percentiles at a rate, both sides of each job beside each other."""
    rows = [row for row in bench.rows if row["rate"] == rate]
    title = f"99th percentile at {rate:,} tuples a second"
    with bench.figure("latency", title=title, xlabel="", ylabel="seconds") as axes:
        for number, side in enumerate(("penstock", "by hand")):
            heights = [float(str(row["p99_seconds"])) for row in rows if row["side"] == side]
            axes.bar(np.arange(len(heights)) + 0.4 * number - 0.2, heights, width=0.4, label=side)
        axes.set_xticks(range(len(JOBS)), list(JOBS))
        axes.legend()


def _measure(bench: Bench, spark: SparkSession, side: str, job: str, rate: int, times: _Times) -> float:
    """Run one side of one job; the 99th percentile of its latency."""
    bench.progress(f"{job}, {rate:,} tuples a second, {side}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "ticks").mkdir()
        writer = multiprocessing.get_context("spawn").Process(
            target=write_ticks, args=(str(folder), rate, times.warm_up + times.measured + times.rest / 2), daemon=True
        )
        writer.start()
        while writer.is_alive() and not any((folder / "ticks").iterdir()):
            time.sleep(_TICK)
        began = time.time()
        try:
            committed = (_run_ours if side == "penstock" else _run_by_hand)(spark, folder, job, times)
        finally:
            writer.join(times.all)
        made = (began + times.warm_up, began + times.warm_up + times.measured)
        latency, share = _latencies(folder, job, committed, made, ended=began + times.all)
    median, high = (float(np.percentile(latency, p)) for p in (50, 99))
    bench.row(
        job=job, rate=rate, side=side, median_seconds=median, p99_seconds=high, came_out=share, tuples=len(latency)
    )
    return high


def write_ticks(folder: str, rate: int, seconds: float) -> None:
    """Write new tuples for some seconds: a file every tick, complete when it has its name."""
    dice, place = np.random.default_rng(3), Path(folder) / "ticks"
    began, written, number = time.time(), 0, 0
    while (now := time.time()) < began + seconds:
        due = int((now - began) * rate)
        if due > written:
            count = due - written
            created = ((began + np.arange(written, due) / rate) * 1e6).astype(np.int64)
            columns = {
                "created": created,
                "key": dice.integers(0, _KEYS, count),
                "price": dice.random(count) * 100,
                "volume": dice.integers(1, 100, count).astype(np.int32),
            }
            parquet.write_table(pa.table(columns), Path(folder) / "next", compression="none")
            (Path(folder) / "next").rename(place / f"{number:06d}.parquet")
            written, number = due, number + 1
        time.sleep(max(0.0, now + _TICK - time.time()))


def _ticks(session: SparkSession, folder: Path) -> DataFrame:
    schema = "created long, key long, price double, volume int"
    return session.readStream.schema(schema).parquet(str(folder / "ticks"))


def _run_ours(spark: SparkSession, folder: Path, job: str, times: _Times) -> dict[Path, float]:
    """Run our side; when each file of the output got its name."""
    app = App("Latency")
    JOBS[job](app)
    session = spark.newSession()
    options: dict[str, Any] = {
        "channels": 1 if job == "without state" else _CHANNELS,
        "checkpoint": folder / "checkpoint",
    }
    inputs = {"ticks": _ticks(session, folder)}
    app.run(spark=session, inputs=inputs, out=folder, continuous=True, seconds=times.all, **options).wait()
    # A file keeps the time of its bytes when it is renamed; the time of its inode is that of its name.
    return {path: path.stat().st_ctime for path in (folder / "out").glob("*.parquet")}


def _run_by_hand(spark: SparkSession, folder: Path, job: str, times: _Times) -> dict[Path, float]:
    """Run the other side; when the log of the sink named each file."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", str(_CHANNELS))
    store = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    session.conf.set("spark.sql.streaming.stateStore.providerClass", store)
    session.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    made = by_hand("latency").JOBS[job](_ticks(session, folder))
    writer = made.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.start(str(folder / "out"))
    query.awaitTermination(times.all)
    query.stop()
    committed: dict[Path, float] = {}
    log = [path for path in (folder / "out" / "_spark_metadata").iterdir() if not path.name.startswith(".")]
    for path in sorted(log, key=lambda path: path.stat().st_mtime):
        for line in path.read_text().splitlines()[1:]:
            named = Path(json.loads(line)["path"].removeprefix("file://").removeprefix("file:"))
            committed.setdefault(named, path.stat().st_mtime)
    return committed


def _latencies(
    folder: Path, job: str, committed: Mapping[Path, float], made: tuple[float, float], *, ended: float
) -> tuple[NDArray[np.float64], float]:
    """The latency of each tuple of the time that is measured, in seconds, and the share of those that came out."""
    found: list[NDArray[np.float64]] = [np.empty(0)]
    for path, at in committed.items():
        created = parquet.read_table(path, columns=["created"])["created"].to_numpy() / 1e6
        is_measured = (created >= made[0]) & (created < made[1])
        found.append(at - created[is_measured])
    came = np.concatenate(found)
    wanted = np.sort(np.concatenate(list(_wanted(folder, job, made))))
    missing = wanted[: max(0, len(wanted) - len(came))] if len(came) < len(wanted) else np.empty(0)
    # Which ones are missing is not known of windows; the youngest are, as both sides keep the order of time.
    late = ended - wanted[len(wanted) - len(missing) :]
    return np.concatenate([came, late]), len(came) / max(1, len(wanted))


def _wanted(folder: Path, job: str, made: tuple[float, float]) -> Iterator[NDArray[np.float64]]:
    """When the tuples that have to come out were made."""
    tables = [parquet.read_table(path) for path in sorted((folder / "ticks").glob("*.parquet"))]
    ticks = pa.concat_tables(tables)
    created = ticks["created"].to_numpy() / 1e6
    is_measured = (created >= made[0]) & (created < made[1])
    if job == "without state":
        is_measured &= ticks["price"].to_numpy() > 10.0
    if job != "windowed":
        yield created[is_measured]
        return
    last: dict[tuple[int, int], float] = {}
    for at, key in zip(created.tolist(), ticks["key"].to_pylist(), strict=True):
        last[int(at), key] = at
    yield np.array([at for at in last.values() if made[0] <= at < made[1]])
