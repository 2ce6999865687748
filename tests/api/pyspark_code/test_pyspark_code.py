"""Code that was written for PySpark, as operators, on the reference and on the local engine."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock import App, agg, col, count, tumbling
from penstock.base.diagnostics import UserError
from penstock.compiler import Options, compile
from penstock.expr.environment import Environment
from penstock.spark.sources.data_source import pickle_job

TRADES = "rstring sym, float64 price, int64 n"


def rows(number: int) -> list[tuple[str, float, int]]:
    draw = random.Random(number)
    return [(draw.choice("abcdefg"), draw.randrange(1000) / 8, n) for n in range(number)]


def both_ways(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        dear = frame[frame.price > 50].assign(price=lambda f: f.price * 2)
        yield dear.loc[dear.index.repeat(1 + dear.n % 2), ["n", "sym", "price"]]


class Running:
    """Counts and remembers by key, with a variable of each kind."""

    def init(self, handle: Any) -> None:
        self.total = handle.getValueState("total", "n long, price double")
        self.last = handle.getListState("last", "n long")
        self.seen = handle.getMapState("seen", "odd boolean", "count long")

    def handleInputRows(self, key: Any, frames: Iterator[pd.DataFrame], timers: Any) -> Iterator[pd.DataFrame]:
        given = []
        for frame in frames:
            assert list(frame.index) == list(range(len(frame)))
            assert set(frame.sym) == {key[0]}
            for n, price in zip(frame.n, frame.price, strict=True):
                before = self.total.get() or (0, 0.0)
                self.total.update((before[0] + n, before[1] + price))
                self.last.put([*list(self.last.get())[-2:], (n,)])
                odd = (bool(n % 2),)
                self.seen.updateValue(odd, ((self.seen.getValue(odd) or (0,))[0] + 1,))
                given.append(
                    (key[0], n, self.total.get()[0], sum(v[0] for v in self.last.get()), len(list(self.seen.keys())))
                )
        yield pd.DataFrame(given, columns=["sym", "n", "total", "last", "kinds"])

    def close(self) -> None:
        """Nothing is open."""


RUNNING = "rstring sym, int64 n, int64 total, int64 last, int64 kinds"


def by_hand(given: list[tuple[str, float, int]]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for sym, _, n in given:
        mine = found.setdefault(sym, [])
        numbers = [row[1] for row in mine] + [n]
        kinds = len({number % 2 for number in numbers})
        mine.append((sym, n, sum(numbers), sum(numbers[-3:]), kinds))
    return found


def by_key(found: list[Any]) -> dict[str, list[tuple[Any, ...]]]:
    keys: dict[str, list[tuple[Any, ...]]] = {}
    for row in found:
        keys.setdefault(row.sym, []).append(tuple(row))
    return keys


@pytest.mark.parametrize("stateless", [False, True])
def test_a_function_for_map_in_pandas_gives_what_it_gives_in_pyspark(stateless: bool) -> None:
    given = rows(500)
    app = App()
    stream = app.from_spark("trades", TRADES).map_in_pandas(both_ways, TRADES, stateless=stateless)
    wanted = [(s, p * 2, n) for s, p, n in given if p > 50 for _ in range(1 + n % 2)]
    assert [tuple(r) for r in stream.collect(engine="reference", inputs={"trades": given})] == wanted
    for channels, batch in ((1, 70), (3, 70), (2, 10_000)):
        found = stream.collect(inputs={"trades": given}, channels=channels, batch=batch, fusion="all")
        assert [tuple(r) for r in found] == wanted


@pytest.mark.parametrize("fusion", ["all", "none"])
def test_a_processor_keeps_its_state_by_key(fusion: str) -> None:
    given = rows(900)
    app = App()
    trades = app.from_rows(given, TRADES).filter(col.price >= 0.0)
    stream = trades.transform_with_state(Running(), RUNNING, by="sym").with_columns(n=col.n)
    wanted = by_hand(given)
    assert by_key(stream.collect(engine="reference")) == wanted
    orders = []
    for channels in (1, 2, 5):
        found = stream.collect(channels=channels, batch=100, fusion=fusion)
        assert by_key(found) == wanted
        orders.append(found)
    assert orders[0] == orders[1] == orders[2]


def test_what_stands_behind_sees_the_same_order_on_any_number_of_channels() -> None:
    given = rows(400)
    app = App()
    running = app.from_rows(given, TRADES).transform_with_state(Running(), RUNNING, by="sym")
    sums = running.aggregate(tumbling(count(7)), first=agg.first(col.sym), total=agg.sum(col.total))
    assert sums.collect(channels=1, batch=90) == sums.collect(channels=4, batch=90)


def test_a_function_behind_a_key_keeps_the_order_of_one_channel() -> None:
    def doubled(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield frame.loc[frame.index.repeat(frame.n % 3)]

    app = App()
    running = app.from_rows(rows(300), TRADES).transform_with_state(Running(), RUNNING, by="sym")
    stream = running.map_in_pandas(doubled, RUNNING, stateless=True)
    assert stream.collect(channels=3, batch=80) == stream.collect(channels=1, batch=80)


def test_points_of_time_are_those_of_pyspark() -> None:
    def later(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            assert str(frame.t.dtype).startswith("datetime64")
            yield frame.assign(t=frame.t + pd.Timedelta(hours=1), v=float("nan"))

    app = App()
    noon = 1_700_000_000_000_001_000
    stream = app.from_rows([(noon, None)], "timestamp t, optional<float64> v")
    (row,) = stream.map_in_pandas(later, "timestamp t, optional<float64> v").collect()
    assert tuple(row) == (noon + 3600 * 10**9, None)


NESTED = "map<rstring, int32> m, tuple<int32 a, timestamp t> s, list<timestamp> ts, optional<tuple<int32 a>> o"
NOON = 1_700_000_000_000_001_000
NESTED_ROWS = [({"k": 1}, (7, NOON), [NOON], (3,)), ({}, (8, NOON), [], None)]


def test_values_with_parts_are_those_of_pyspark() -> None:
    seen: list[Any] = []

    def see(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            seen.extend(frame.itertuples(index=False, name=None))
            yield frame

    app = App()
    stream = app.from_rows(NESTED_ROWS, NESTED).map_in_pandas(see, NESTED)
    assert [tuple(row) for row in stream.collect(engine="reference")] == NESTED_ROWS
    at = pd.Timestamp("2023-11-14 22:13:20.000001")
    first, second = seen
    assert first[0] == {"k": 1}
    assert first[1] == {"a": 7, "t": at}
    assert first[1]["t"].tz is None
    assert list(first[2]) == [at]
    assert (first[3], second[3]) == ({"a": 3}, None)


def test_lists_of_numbers_may_be_arrays_of_numpy_and_empty() -> None:
    def give(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for _ in frames:
            yield pd.DataFrame()
            yield pd.DataFrame({"v": [np.array([1, 2]), np.array([]), [3.0], (4,), {5}]})

    stream = App().from_rows([(0,)], "int32 x").map_in_pandas(give, "list<int32> v")
    assert [row.v for row in stream.collect()] == [[1, 2], [], [3], [4], [5]]


def test_points_of_time_are_in_nanoseconds_for_pandas() -> None:
    def seconds(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield pd.DataFrame({"n": frame.t.astype("int64") // 10**9})

    (row,) = App().from_rows([(NOON,)], "timestamp t").map_in_pandas(seconds, "int64 n").collect()
    assert row.n == 1_700_000_000


def test_udfs_take_and_give_values_with_parts() -> None:
    from pyspark.sql import functions, types

    inner = types.StructType(
        [types.StructField("a", types.IntegerType()), types.StructField("t", types.TimestampType())]
    )
    returns = types.StructType(
        [types.StructField("m", types.MapType(types.StringType(), types.IntegerType())), types.StructField("s", inner)]
    )

    def more(m: Any, s: Any, ts: Any) -> Any:
        assert all(t.tzinfo is None for t in [s.t, *ts])
        return types.Row(m={**m, "n": s.a}, s=types.Row(a=s.a + 1, t=s.t))

    def plus(s: Any) -> Any:
        return s.assign(a=s["a"] + 1)

    single = functions.udf(more, returns)
    series = functions.pandas_udf(plus, inner, 200)
    stream = App().from_rows(NESTED_ROWS, NESTED).with_udf("u", single, "m", "s", "ts").with_udf("p", series, "s")
    first, second = stream.collect(engine="reference")
    assert (first.u, first.p) == (({"k": 1, "n": 7}, (8, NOON)), (8, NOON))
    assert (second.u, second.p) == (({"n": 8}, (9, NOON)), (9, NOON))


def test_udfs_of_all_kinds_give_a_column() -> None:
    from pyspark.sql import functions, types

    # Without annotations, which would be text here.
    single = functions.udf(eval("lambda sym, n: None if n == 2 else f'{sym}{n}'"), types.StringType())
    series = functions.pandas_udf(eval("lambda price: price * 2"), types.DoubleType(), 200)
    app = App()
    given = rows(50)
    stream = app.from_rows(given, TRADES).with_udf("name", single, "sym", "n").with_udf("twice", series, "price")
    wanted = [(s, p, n, None if n == 2 else f"{s}{n}", p * 2) for s, p, n in given]
    for engine in ("reference", "local"):
        assert [tuple(row) for row in stream.collect(engine=engine)] == wanted


def test_a_udf_travels_without_the_objects_of_java_that_pyspark_gives_it() -> None:
    from pyspark.sql.types import LongType

    # As `udf` makes them, and with something that cannot be pickled, which they have once they were used in a query.
    double = SimpleNamespace(func=lambda x: 2 * x, evalType=100, returnType=LongType(), java=threading.Lock())
    app = App()
    app.from_spark("trades", TRADES).with_udf("twice", double, "n").to_spark("out")
    job = compile(app.program(), Options())
    assert pickle_job(job.program, job.plan, Environment(), job.build)


def failure(call: Any) -> str:
    with pytest.raises(UserError) as caught:
        call()
    return str(caught.value)


def test_what_is_wrong_is_said() -> None:
    app = App()
    trades = app.from_rows(rows(5), TRADES)
    assert "no attribute `smy`" in failure(lambda: trades.transform_with_state(Running(), RUNNING, by="smy"))
    assert "a StatefulProcessor is wanted" in failure(lambda: trades.transform_with_state(both_ways, RUNNING, by="sym"))
    assert "a scalar UDF of PySpark is wanted" in failure(lambda: trades.with_udf("x", lambda x: x, "n"))
    wrong = trades.map_in_pandas(lambda frames: (frame[["sym"]] for frame in frames), TRADES)
    assert "gives no column `price`" in failure(lambda: wrong.collect())
    nothing = trades.map_in_pandas(lambda frames: None, TRADES)
    assert "gives an iterator of batches, got NoneType" in failure(lambda: nothing.collect())
    batches = trades.map_in_arrow(lambda batches: (pa.table({"x": [1]}) for _ in batches), "int64 x")
    assert "gives a pyarrow RecordBatch, got Table" in failure(lambda: batches.collect())


def test_keys_and_state_of_a_processor_are_those_of_pyspark() -> None:
    class Seen(Running):
        def init(self, handle: Any) -> None:
            self.seen = handle.getValueState("seen", "xs array<long>")

        def handleInputRows(self, key: Any, frames: Any, timers: Any) -> Iterator[pd.DataFrame]:
            xs = self.seen.get()[0] if self.seen.exists() else []
            for frame in frames:
                self.seen.update(([*xs, len(frame)],))
                # Nobody is told of this.
                self.seen.get()[0].append(100)
            yield pd.DataFrame({"at": [key[0].isoformat()], "xs": [self.seen.get()[0]]})

    stream = App().from_rows([(NOON, 1)] * 4, "timestamp t, int32 x")
    found = stream.transform_with_state(Seen(), "rstring at, list<int64> xs", by="t").collect(batch=2)
    at = "2023-11-14T22:13:20.000001"
    assert [tuple(row) for row in found] == [(at, [2]), (at, [2, 2])]


def test_a_processor_that_asks_for_a_clock_is_refused() -> None:
    class Timed(Running):
        def init(self, handle: Any) -> None:
            handle.getValueState("total", "n long", 1000)

    app = App()
    stream = app.from_rows(rows(5), TRADES).transform_with_state(Timed(), RUNNING, by="sym")
    assert "a time to live needs a clock" in failure(lambda: stream.collect())
