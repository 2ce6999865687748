"""`penstock bench throughput-out`: Parquet, three operators, Parquet and Kafka, against native PySpark.

Both sides read the same files in as many batches, on two channels, in one session and in turns: a filter, and two
operators that compute a column each. Native PySpark has them as column expressions, which its JVM compiles; no Python
touches a row there. Ours are read, processed and written in Python's workers, by columns. What both have written is
compared: as many rows, with the same sums.

A second part writes one batch, by default of 3 GiB, to one ordered file, with a driver of 1 GiB.

Where PENSTOCK_BENCH_KAFKA names a broker, both sides then write the same rows to a topic, as JSON.

The memory of the driver is that of its Python and its JVM together; in local mode the JVM runs the tasks, too. With
PENSTOCK_BENCH_ONLY in the environment (`parquet`, `kafka`, `ordered-file`) only that part is run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset, parquet

from penstock import App, Stream, agg, col
from penstock.base.diagnostics import UserError
from penstock.bench import Bench
from penstock.bench.measure.on_spark import in_turns, run_timed, seconds_of
from penstock.bench.measure.own_process import run_apart
from penstock.bench.measure.processes import peak_memory
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEMA = "int64 id, rstring sym, float64 price, int32 volume"
_BATCHES = 4
_GROUP_ROWS = 500_000
_TEXT_BYTES = 1000


def run(bench: Bench) -> None:
    """Run both parts."""
    from penstock.spark.job.session import open_session

    only = os.environ.get("PENSTOCK_BENCH_ONLY")
    spark = open_session("local[2]", **{"spark.driver.memory": "1g"})
    with tempfile.TemporaryDirectory() as folder:
        rows = 40_000 if bench.quick else 20_000_000
        if only != "ordered-file":
            bench.progress(f"writing {rows:,} rows of input")
            run_apart(write_input, folder=folder, rows=rows)
        if only in (None, "parquet"):
            _parquet_to_parquet(bench, spark, Path(folder), rows)
        if only in (None, "kafka") and "PENSTOCK_BENCH_KAFKA" in os.environ:
            _parquet_to_kafka(bench, spark, Path(folder), rows, os.environ["PENSTOCK_BENCH_KAFKA"])
        if only in (None, "ordered-file"):
            _ordered_file(bench, spark, Path(folder))


def _parquet_to_parquet(bench: Bench, spark: SparkSession, folder: Path, rows: int) -> None:
    ours, theirs = folder / "ours", folder / "theirs"
    program = three_operators(lambda taxed: taxed.write_parquet("out", name="Out"))

    def penstock() -> None:
        shutil.rmtree(ours, ignore_errors=True)
        run_timed(spark, program, data=folder, out=ours, turns_per_batch=rows // _BATCHES, channels=2)

    def native() -> None:
        shutil.rmtree(theirs, ignore_errors=True)
        _run_native(spark, folder / "slices", theirs, folder / "checkpoint")

    bench.progress("both in turns, once to warm up")
    penstock()
    native()
    _compare(ours / "out", theirs)
    with peak_memory() as peak:
        penstock()
    sides = {"native": lambda: seconds_of(native), "penstock": lambda: seconds_of(penstock)}
    seconds = in_turns(1 if bench.quick else 3, sides)
    for side, value in seconds.items():
        bench.row(part="Parquet to Parquet", side=side, rows=rows, rows_per_second=rows / value, seconds=value)
    with bench.figure("throughput_out", title="Parquet to Parquet", xlabel="", ylabel="rows/s") as axes:
        axes.bar(list(seconds), [rows / value for value in seconds.values()])
    bench.row(part="Parquet to Parquet: most memory in MiB", **{part: round(used) for part, used in peak.items()})
    bench.check(
        "Parquet to Parquet: penstock to native", seconds["native"] / seconds["penstock"], at_least=0.9, timed=True
    )
    if not bench.quick:
        # Quick runs share a process with others, whose memory would count.
        bench.check("memory of the driver in MiB", peak.get("driver", 0.0), at_most=1024)


def write_input(folder: str, rows: int) -> dict[str, Any]:
    """Write one file for us, and the same rows as a file for each batch for Spark's file source."""
    place, dice = Path(folder), np.random.default_rng(7)
    (place / "slices").mkdir()
    symbols = pa.array([f"SYM{n:03d}" for n in range(200)])
    per_slice = rows // _BATCHES
    whole: parquet.ParquetWriter | None = None
    for piece in range(_BATCHES):
        table = pa.table(
            {
                "id": np.arange(piece * per_slice, (piece + 1) * per_slice),
                "sym": symbols.take(pa.array(dice.integers(0, len(symbols), per_slice))),
                "price": np.round(dice.random(per_slice) * 100, 2),
                "volume": dice.integers(1, 1000, per_slice).astype(np.int32),
            }
        )
        parquet.write_table(table, place / "slices" / f"{piece}.parquet", row_group_size=_GROUP_ROWS)
        whole = whole or parquet.ParquetWriter(place / "trades.parquet", table.schema)
        whole.write_table(table, row_group_size=_GROUP_ROWS)
    assert whole is not None
    whole.close()
    return {}


def _parquet_to_kafka(bench: Bench, spark: SparkSession, folder: Path, rows: int, servers: str) -> None:
    run = uuid.uuid4().hex[:8]
    topics = {side: f"throughput-{run}-{side}" for side in ("penstock", "native")}
    program = three_operators(lambda taxed: taxed.write_kafka(topics["penstock"], servers=servers, name="Out"))

    def penstock() -> None:
        run_timed(spark, program, data=folder, out=folder / "none", turns_per_batch=rows // _BATCHES, channels=2)

    def native() -> None:
        _run_native(spark, folder / "slices", Kafka(servers, topics["native"]), folder / "checkpoint")

    bench.progress("to Kafka, one after the other")
    with peak_memory() as peak:
        ours = seconds_of(penstock)
    seconds = {"penstock": ours, "native": seconds_of(native)}
    counts = {}
    for side, topic in topics.items():
        reader = spark.read.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
        counts[side] = reader.load().count()
    if counts["penstock"] != counts["native"]:
        raise UserError(f"messages in the topics: {counts}")
    for side, value in seconds.items():
        bench.row(part="Parquet to Kafka", side=side, rows=rows, rows_per_second=rows / value, seconds=value)
    bench.row(part="Parquet to Kafka: most memory in MiB", **{part: round(used) for part, used in peak.items()})
    ratio = seconds["native"] / seconds["penstock"]
    bench.check("Parquet to Kafka: penstock to native", ratio, at_least=0.9, timed=True)


def three_operators(write: Callable[[Stream], None]) -> Program:
    """The program: a filter, a value, a value with tax; and what writes them."""
    app = App("ThroughputOut")
    trades = app.read_parquet("trades.parquet", _SCHEMA, name="Trades")
    dear = trades.filter(col.price > 10.0, name="Dear")
    valued = dear.select(id=col.id, sym=col.sym, value=col.price * col.volume, name="Valued")
    taxed = valued.select(id=col.id, sym=col.sym, value=col.value, tax=col.value * 0.19, name="Taxed")
    write(taxed)
    return app.program()


class Kafka(NamedTuple):
    """A topic."""

    servers: str
    topic: str


def _run_native(spark: SparkSession, slices: Path, out: Path | Kafka, checkpoint: Path) -> None:
    import pyspark.sql.functions as F

    shutil.rmtree(checkpoint, ignore_errors=True)
    session = spark.newSession()
    schema = "id long, sym string, price double, volume int"
    trades = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(slices))
    valued = trades.where("price > 10.0").select("id", "sym", (F.col("price") * F.col("volume")).alias("value"))
    taxed = valued.withColumn("tax", F.col("value") * 0.19)
    if isinstance(out, Kafka):
        messages = taxed.select(F.to_json(F.struct("*")).alias("value")).writeStream.format("kafka")
        writer = messages.option("kafka.bootstrap.servers", out.servers).option("topic", out.topic)
    else:
        writer = taxed.writeStream.format("parquet").option("path", str(out))
    writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()


def summary(folder: str) -> dict[str, Any]:
    """How many rows a folder has, and their sums."""
    table = dataset.dataset(folder, format="parquet").to_table(columns=["id", "tax"])
    return {"rows": table.num_rows, "ids": pc.sum(table["id"]).as_py(), "tax": round(pc.sum(table["tax"]).as_py(), 1)}


def _compare(ours: Path, theirs: Path) -> None:
    """See that both have written the same rows, as far as counts and sums tell."""
    found = []
    for folder in (ours, theirs):
        told = run_apart(summary, folder=str(folder))
        found.append({name: told[name] for name in ("rows", "ids", "tax")})
    if found[0] != found[1]:
        raise UserError(f"penstock has written {found[0]}, native PySpark {found[1]}")


def _ordered_file(bench: Bench, spark: SparkSession, folder: Path) -> None:
    size = 4 << 20 if bench.quick else 3 << 30
    rows = size // _TEXT_BYTES
    bench.progress(f"one batch of {size / 2**30:.3g} GiB to an ordered file")
    app = App("OrderedFile")
    text = "x" * (_TEXT_BYTES - 12)
    lines = app.beacon("uint64 n, rstring text", iterations=rows, n=agg.IterationCount(), text=text, name="Lines")
    lines.filter(col.n >= 0, name="All").write_csv("lines.csv", name="File")
    out = folder / "ordered"
    with peak_memory() as peak:
        timed = run_timed(spark, app.program(), data=folder, out=out, turns_per_batch=rows, channels=2)
    bench.row(part="ordered file: most memory in MiB", **{part: round(used) for part, used in peak.items()})
    bench.row(part="ordered file", rows=rows, seconds=timed.seconds, bytes=(out / "lines.csv").stat().st_size)
    bench.check("ordered file: lines in their place", float(_lines_in_order(out / "lines.csv")), at_least=rows)
    shutil.rmtree(out)


def _lines_in_order(path: Path) -> int:
    """How many lines of a file begin with their number."""
    with path.open("rb") as file:
        return sum(int(line[: line.index(b",")]) == number for number, line in enumerate(file))
