"""Applications between DataFrames: what comes out is what the reference gives for the rows that go in, in order."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

import penstock.spark
from penstock import App, Operator, agg, col, count, tumbling
from penstock.base.diagnostics import UserError
from spark_session import session

pytestmark = pytest.mark.xdist_group("spark")

TRADES = "rstring sym, float64 price, int64 n"
COLUMNS = "sym string, price double, n bigint"


def rows(number: int, seed: int = 0) -> list[tuple[str, float, int]]:
    draw = random.Random(seed)
    return [(draw.choice("abcdefg"), draw.randrange(1000) / 8, n) for n in range(number)]


class Counting(Operator):
    """Counts trades, and tells of the last count when all has ended."""

    def __init__(self) -> None:
        self.seen = 0

    def process(self, t: Any) -> Any:
        self.seen += 1
        if self.seen % 3 == 0:
            yield {"sym": t.sym, "seen": self.seen}

    def finish(self) -> Any:
        yield {"sym": "end", "seen": self.seen}


def by_key() -> App:
    app = App("ByKey")
    trades = app.from_spark("trades", TRADES)
    dear = trades.filter(col.price > 20.0).with_columns(price=col.price * 2)
    dear.aggregate(tumbling(count(5)), by="sym", sym=agg.any(col.sym), total=agg.sum(col.n)).named("Totals").to_spark(
        "totals"
    )
    return app


def both() -> App:
    app = by_key()
    trades = next(s for s in app._streams if s.id == "FromSpark")
    trades.filter(col.n % 3 == 0).named("Third").to_spark("third")
    trades.aggregate(tumbling(count(4)), total=agg.sum(col.price)).named("Sums").to_spark("sums")
    return app


def reference(app: App, stream: str, **inputs: Any) -> list[tuple[Any, ...]]:
    found = next(s for s in app._streams if s.id == stream)
    return [tuple(row) for row in found.collect(engine="reference", inputs=inputs)]


def table(given: list[Any], columns: str = COLUMNS, partitions: int = 3) -> DataFrame:
    frame = session().createDataFrame(given, columns).coalesce(partitions)
    return frame


def collected(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


@pytest.mark.parametrize("channels", [1, 2])
def test_tables_give_what_the_reference_gives_in_the_same_order(channels: int) -> None:
    given = rows(3000)
    outputs = penstock.spark.transform(both(), {"trades": table(given)}, channels=channels)
    assert outputs["totals"].schema.simpleString() == "struct<sym:string,total:bigint>"
    for name, stream in (("totals", "Totals"), ("third", "Third"), ("sums", "Sums")):
        assert collected(outputs[name]) == reference(both(), stream, trades=given)


def test_what_has_no_state_runs_in_the_partitions_and_keeps_their_order() -> None:
    app = App()
    app.from_spark("trades", TRADES).filter(col.price > 20.0).with_columns(n=col.n + 1).to_spark("dear")
    given = rows(500)
    found = penstock.spark.transform(app, {"trades": table(given)}, channels=4)["dear"]
    assert collected(found) == [(sym, price, n + 1) for sym, price, n in given if price > 20.0]
    assert "Exchange" not in found._jdf.queryExecution().executedPlan().toString()


def test_a_table_ends_so_classes_finish() -> None:
    app = App()
    app.from_spark("trades", TRADES).apply(Counting, "rstring sym, int64 seen").named("Seen").to_spark("seen")
    given = rows(100)
    for channels in (1, 2):
        found = penstock.spark.transform(app, {"trades": table(given)}, channels=channels)
        assert collected(found["seen"]) == reference(app, "Seen", trades=given)


def two_inputs() -> App:
    app = App()
    left, right = app.from_spark("left", TRADES), app.from_spark("right", TRADES)
    left.union(right).named("Both").to_spark("both")
    return app


@pytest.mark.parametrize("sizes", [(40, 25), (0, 7), (0, 0)])
def test_inputs_take_turns_as_sources_do(sizes: tuple[int, int]) -> None:
    given = {"left": rows(sizes[0], 1), "right": rows(sizes[1], 2)}
    frames = {name: table(found) if found else table([], COLUMNS) for name, found in given.items()}
    found = penstock.spark.transform(two_inputs(), frames)["both"]
    assert collected(found) == reference(two_inputs(), "Both", **given)


def test_a_column_tells_the_order() -> None:
    given = rows(400)
    shuffled = random.Random(5).sample(given, len(given))
    # Names that Spark would take apart, and one that we might have given a column of ours.
    frame = table(shuffled).selectExpr("*", "n AS `n.1 `` ü`", "n AS penstock_partition")
    for frames in (frame, frame.coalesce(1)):
        found = penstock.spark.transform(both(), {"trades": frames}, order_by="n.1 ` ü")
        assert collected(found["sums"]) == reference(both(), "Sums", trades=given)


def test_values_of_all_types_come_back() -> None:
    schema = (
        "boolean b, int8 i, uint32 u, uint64 v, float32 f, rstring s, timestamp t, blob d, list<int32> l, "
        "map<rstring, float64> m, tuple<int32 x, optional<rstring> y> r, optional<int64> o, list<timestamp> ts"
    )
    columns = (
        "b boolean, i tinyint, u bigint, v decimal(20,0), f float, s string, t timestamp, d binary, l array<int>, "
        "m map<string, double>, r struct<x: int, y: string>, o bigint, ts array<timestamp>"
    )
    now = datetime.datetime(2026, 11, 18, 12, 30, 1, 250_001)
    given = [
        (
            True,
            -128,
            2**32 - 1,
            Decimal(2**64 - 1),
            0.5,
            "é\0",
            now,
            b"\xff",
            [1, 2],
            {"a": 1.5},
            (1, None),
            None,
            [now, now],
        ),
        (False, 127, 0, Decimal(0), float("-inf"), "", now, b"", [], {}, (2, "y"), -(2**63), []),
    ]
    app = App()
    app.from_spark("all", schema).to_spark("same")
    frame = table(given, columns)
    found = penstock.spark.transform(app, {"all": frame})["same"]
    assert found.schema.simpleString() == frame.schema.simpleString()
    assert collected(found) == collected(frame)


def refused(**given: Any) -> str:
    app = given.pop("app", None) or both()
    inputs = given.pop("inputs", None) or {"trades": table(rows(3))}
    with pytest.raises(UserError) as caught:
        penstock.spark.transform(app, inputs, **given)
    return str(caught.value)


def test_what_does_not_fit_is_refused_before_anything_runs() -> None:
    assert "no input `trade`; did you mean" in refused(inputs={"trade": table(rows(3))}).replace("\n", "; ")
    assert "has no column `price`" in refused(inputs={"trades": table(rows(3)).drop("price")})
    wrong = table(rows(3)).selectExpr("sym", "price", "CAST(n AS string) AS n")
    assert "the column `n` of `trades` is string, the attribute is int64" in refused(inputs={"trades": wrong})
    assert "`trades` is a DataFrame of Spark, found list" in refused(inputs={"trades": rows(3)})
    assert "no column `m` to be ordered by" in refused(order_by="m")
    alike = table(rows(3)).selectExpr("*", "n AS N")
    assert "`trades` has the columns n, N, which Spark does not tell apart" in refused(inputs={"trades": alike})
    sink = both()
    sink._streams[0].write_csv("out.csv")
    assert "is a sink of its own" in refused(app=sink)
    source = both()
    source.beacon("int32 x", iterations=1).to_spark("x")
    assert "is a source of its own" in refused(app=source)


def test_a_null_that_has_no_place_is_an_error() -> None:
    app = App()
    app.from_spark("trades", TRADES).to_spark("same")
    frame = table([("a", None, 1)], COLUMNS)
    with pytest.raises(Exception, match="cannot take `price`: there is a null in the column"):
        penstock.spark.transform(app, {"trades": frame})["same"].collect()


class Stream:
    """A folder of Parquet files that is read as a stream, a file a batch."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, 0

    def add(self, given: list[Any]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self.folder.mkdir(exist_ok=True)
        names = ("sym", "price", "n")
        columns = {name: [row[i] for row in given] for i, name in enumerate(names)}
        # Spark takes files in the order of their times.
        path = self.folder / f"{self.files:04d}.parquet"
        parquet.write_table(pa.table(columns), path)
        import os

        os.utime(path, (1_700_000_000 + self.files, 1_700_000_000 + self.files))
        self.files += 1

    def frame(self) -> DataFrame:
        reader = session().readStream.schema(COLUMNS).option("maxFilesPerTrigger", "1")
        return reader.parquet(str(self.folder))


def parts(given: list[Any], number: int) -> list[list[Any]]:
    return [given[len(given) * i // number : len(given) * (i + 1) // number] for i in range(number)]


@pytest.mark.parametrize("channels", [1, 2])
def test_a_stream_goes_on_with_its_state_from_the_users_checkpoint(tmp_path: Path, channels: int) -> None:
    given = rows(1200)
    stream = Stream(tmp_path / "in")
    before = session().conf.getAll
    for part in parts(given, 6):
        stream.add(part)
    found: dict[int, list[Any]] = {}

    def run(at: int | None) -> None:
        def keep(frame: DataFrame, batch: int) -> None:
            given = collected(frame)
            if batch == at:
                # Its state is in Spark's store, and the batch is not done.
                raise RuntimeError("killed")
            found[batch] = given

        totals = penstock.spark.transform(by_key(), {"trades": stream.frame()}, channels=channels)["totals"]
        assert totals.isStreaming
        writer = totals.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "check"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()

    with pytest.raises(Exception, match="killed"):
        run(3)
    assert sorted(found) == [0, 1, 2]
    run(None)
    assert [row for batch in sorted(found) for row in found[batch]] == reference(by_key(), "Totals", trades=given)
    assert session().conf.getAll == before


def test_several_outputs_are_written_by_one_query(tmp_path: Path) -> None:
    given = rows(600)
    stream = Stream(tmp_path / "in")
    for part in parts(given, 3):
        stream.add(part)
    found: dict[str, list[Any]] = {"totals": [], "third": [], "sums": []}

    def keep(name: str) -> Callable[[DataFrame, int], None]:
        return lambda frame, batch: found[name].extend(collected(frame))

    query = penstock.spark.write(
        both(),
        {"trades": stream.frame()},
        {name: keep(name) for name in found},
        checkpoint=tmp_path / "check",
        trigger={"availableNow": True},
    )
    assert query is not None
    query.awaitTermination()
    for name, name_of_stream in (("totals", "Totals"), ("third", "Third"), ("sums", "Sums")):
        assert found[name] == reference(both(), name_of_stream, trades=given)


def test_a_checkpoint_of_another_plan_is_refused(tmp_path: Path) -> None:
    stream = Stream(tmp_path / "in")
    stream.add(rows(100))

    def run(channels: int) -> None:
        totals = penstock.spark.transform(by_key(), {"trades": stream.frame()}, channels=channels)["totals"]
        writer = totals.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "check"))
        writer.trigger(availableNow=True).start().awaitTermination()

    run(2)
    stream.add(rows(100))
    with pytest.raises(Exception, match="state_of_another_application_or_plan"):
        run(1)
    run(2)


def test_what_operators_set_aside_is_a_table_too() -> None:
    app = App()
    numbers = app.from_spark("numbers", "int64 n")
    app.invoke(lambda t: {"n": 10 // t.n}, numbers, outputs=["int64 n"], role="map", on_error="skip", name="Div")
    next(s for s in app._streams if s.id == "Div").to_spark("tenths")
    frame = table([(1,), (0,), (5,)], "n bigint")
    assert "sets aside" in refused(app=app, inputs={"numbers": frame})
    found = penstock.spark.transform(app, {"numbers": frame}, dead_letters="rejected")
    assert collected(found["tenths"]) == [(10,), (2,)]
    assert [(row["operator"], row["record"]) for row in found["rejected"].collect()] == [("Div", "{n=0}")]
