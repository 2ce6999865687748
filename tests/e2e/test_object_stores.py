"""Object stores, by a server of S3 on this machine: what Spark reads and writes there is there once, over crashes."""

from __future__ import annotations

import contextlib
import os
import random

import pytest

import penstock.spark
from penstock import App, agg, col
from penstock import windows as w
from penstock.base.diagnostics import UserError
from penstock.lang import compile_text
from servers.s3_server import BUCKET, server, settings
from sink_runner import Sinks, batches_of
from spark_session import session

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif("/s3-" not in os.environ.get("PENSTOCK_JARS", ""), reason="make test-spark has the jars of S3"),
]

ROWS = [(f"S{n % 3}", n) for n in range(60)]


@pytest.fixture
def spark():
    """The session, which finds the server under `s3a://`."""
    found = session()
    for name, value in settings(server()).items():
        found.sparkContext._jsc.hadoopConfiguration().set(name, value)
    return found


def sink_of(place: str, more: str = ""):
    return compile_text(
        f"""composite Main {{ graph
        stream<rstring name, int64 n> A = Beacon() {{ param iterations: 1u; }}
        () as Out = SparkSink(A) {{ param format: "parquet"; path: "{place}"; {more} }} }}"""
    )


def names_in(sinks: Sinks) -> list[str]:
    (sink,) = sinks.sinks._writer._sinks.values()
    return list(sink._store._names(sink._path))


@pytest.mark.parametrize("more", ["", "partitionBy: name;"])
def test_files_in_a_store_are_there_once_after_crashes_at_any_moment(spark, tmp_path, more):
    place, crashes = f"s3a://{BUCKET}/{tmp_path.name}/my rows %20", 0
    for seed in range(3):
        target, rng = f"{place}/{seed}", random.Random(seed)
        (tmp_path / str(seed)).mkdir()
        sinks = Sinks(sink_of(target, more), tmp_path / str(seed), in_tasks=True)
        for number, batch in enumerate(batches_of(ROWS, 12, "A")):
            for moment in rng.sample(["while moving", "behind it"], rng.randrange(3)):
                (sink,) = sinks.sinks._writer._sinks.values()
                if moment == "while moving":
                    sink._store._files = _FailsAt(sink._store._files, rng.randrange(3))
                else:
                    sinks.sinks._store = lambda batch: None
                with contextlib.suppress(OSError, UserError):
                    sinks.write(number, batch, spread=lambda n: n % 3)
                sinks.crash()
                crashes += 1
            sinks.write(number, batch, spread=lambda n: n % 3)
        found = spark.read.parquet(target).collect()
        assert sorted((row.name, row.n) for row in found) == sorted(ROWS), seed
        assert not [name for name in names_in(sinks) if ".staging" in name]
        sinks.sinks.close()
    assert crashes >= 10


class _FailsAt:
    """A file system that fails at its nth move."""

    def __init__(self, files, moves: int) -> None:
        self._of, self._left = files, moves

    def __getattr__(self, name: str):
        return getattr(self._of, name)

    def rename(self, *places):
        self._left -= 1
        if self._left < 0:
            raise OSError("the lights are out")
        return self._of.rename(*places)


def test_a_store_that_cannot_be_reached_is_refused_before_the_first_batch(spark, tmp_path):
    for place, message in (
        ("s3a://no-such-bucket/rows", "cannot write parquet to `s3a://no-such-bucket/rows`: "),
        ("nowhere://rows/here", "cannot write parquet to `nowhere://rows/here`: "),
    ):
        with pytest.raises(UserError) as caught:
            Sinks(sink_of(place), tmp_path)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_transformation_has_its_inputs_outputs_and_checkpoint_in_a_store(spark, tmp_path):
    """Files come, the query stops, more files come: windows that were open at the stop are whole."""
    place = f"s3a://{BUCKET}/{tmp_path.name}/job"
    app = App("Sums")
    trades = app.from_spark("trades", "rstring name, int64 n")
    columns = {"name": agg.any(col.name), "total": agg.sum(col.n)}
    trades.aggregate(w.tumbling(w.count(5)), columns, by="name").to_spark("sums")
    for half in (ROWS[:28], ROWS[28:]):
        spark.createDataFrame(half, "name string, n long").coalesce(1).write.mode("append").parquet(f"{place}/in")
        stream = spark.readStream.schema("name string, n long").parquet(f"{place}/in")
        sums = penstock.spark.transform(app, {"trades": stream})["sums"]
        writer = sums.writeStream.format("parquet").option("checkpointLocation", f"{place}/checkpoint")
        writer.trigger(availableNow=True).start(f"{place}/out").awaitTermination()
    found = sorted((row.name, row.total) for row in spark.read.parquet(f"{place}/out").collect())
    by_name = {name: [n for other, n in ROWS if other == name] for name, _ in ROWS[:3]}
    assert found == sorted((name, sum(values[i : i + 5])) for name, values in by_name.items() for i in range(0, 20, 5))
