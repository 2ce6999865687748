"""Kafka: messages become tuples and tuples messages, each exactly once, in the order of their partition."""

from __future__ import annotations

import itertools
import json
import runpy
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from compiling import compile_fused
from penstock import App, col
from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.expr.values import batch_from_rows
from penstock.ir.types import parse_schema
from penstock.lang import compile_file, compile_text
from penstock.reference import run
from penstock.reference.failure import OperatorFailed
from penstock.runtime.sinks.order import Chunk
from penstock.runtime.sources.stored_items import file_rows, file_schema
from penstock.spark.job.connectors import connector_settings
from penstock.spark.job.run import run_on_spark
from penstock.spark.kafka import topic as kafka_topic
from penstock.spark.kafka.connector import check_connector
from penstock.spark.kafka.kafka_streams import OFFER, _encoded, kafka_streams, wanted_messages
from penstock.spark.kafka.messages import tuples_of
from penstock.spark.streams.stream_tables import described
from penstock.testing import feed
from penstock.toolkit.adapters.import_ import Offer, Wanted
from penstock.toolkit.adapters.kafka_consumer import message_form
from servers.kafka_broker import broker
from sink_runner import Sinks
from spark_session import environment, everything_fused, session

ROOT = Path(__file__).parents[3]
numbers = itertools.count()


def new_topic() -> str:
    return f"topic-{next(numbers)}"


def consumer(schema: str, params: str = ""):
    text = f"""composite Main {{ graph
        stream<{schema}> A = KafkaConsumer() {{ param topic: "t"; bootstrapServers: "nowhere:1"; {params} }}
        () as Sink = FileSink(A) {{ param file: "out.csv"; }} }}"""
    return compile_text(text).application.operator["A"]


def tuples(schema: str, messages: list[tuple[int, int, int, bytes]], params: str = ""):
    """What a consumer makes of (partition, offset, microseconds, value)."""
    partition, offset, micros, value = zip(*messages, strict=True)
    count = len(messages)
    table = pa.table(
        {
            "key": pa.array([b"k"] * count, pa.binary()),
            "value": pa.array(value, pa.binary()),
            "topic": pa.array(["t"] * count),
            "partition": pa.array(partition, pa.int32()),
            "offset": pa.array(offset, pa.int64()),
            "micros": pa.array(micros, pa.int64()),
        }
    )
    return tuples_of(table, message_form(consumer(schema, params), Evaluator(environment=Environment())), "A")


def test_a_partition_keeps_its_order_and_partitions_are_merged_by_time():
    messages = [(0, 5, 300, b"c"), (0, 4, 100, b"b"), (1, 0, 200, b"x"), (0, 6, 250, b"d"), (1, 1, 300, b"y")]
    items, _ = tuples("rstring message", messages)
    assert items.tuples.column("message").to_pylist() == ["b", "x", "y", "c", "d"]
    assert items.time_ns.tolist() == [100_000, 200_000, 300_000, 300_000, 300_000]


def test_messages_stand_in_the_same_places_whether_a_task_reads_all_partitions_or_one():
    messages = [(n % 3, n // 3, 100 * (n // 7), f"{n}".encode()) for n in range(40)]
    together, _ = tuples("rstring message", messages)
    alone = [tuples("rstring message", [m for m in messages if m[0] == partition])[0] for partition in range(3)]
    places = [places_of(items) for items in (together, *alone)]
    assert places[0] == sorted(itertools.chain(*places[1:]))
    assert len({place[:2] for place in places[0]}) == 40


def places_of(items) -> list[tuple[int, int, str]]:
    return list(zip(items.time_ns, items.number, items.tuples.column("message").to_pylist(), strict=True))


def test_a_raw_message_tells_where_it_comes_from():
    schema = "rstring message, blob key, rstring topic, int32 partition, int64 offset, int64 messageTimestamp"
    items, _ = tuples(schema, [(2, 7, 5_000_000, b"hi")])
    (row,) = items.tuples.to_pylist()
    assert list(row.values()) == ["hi", b"k", "t", 2, 7, 5000]


def test_a_message_holds_a_tuple_as_json_or_csv():
    found, _ = tuples("rstring s, int32 n", [(0, 0, 0, b'{"n": 3, "s": "a"}')], "format: json;")
    assert found.tuples.to_pylist() == [{"s": "a", "n": 3}]
    params = 'format: csv; separator: ";"; outputOffsetAttributeName: "at";'
    found, _ = tuples("rstring s, int32 n, int64 at", [(0, 9, 0, b'"a;b";3')], params)
    assert found.tuples.to_pylist() == [{"s": "a;b", "n": 3, "at": 9}]


def test_a_message_that_does_not_fit_fails_or_is_set_aside():
    messages = [(0, 0, 0, b"1"), (0, 1, 1, b"one"), (0, 2, 2, b"2")]
    with pytest.raises(UserError, match=r"`A` \(KafkaConsumer\) failed on the message of t/0 at offset 1: "):
        tuples("int32 n", messages, "format: csv;")
    items, letters = tuples("int32 n", messages, "format: csv; parsing: permissive;")
    assert items.tuples.to_pylist() == [{"n": 1}, {"n": 2}]
    assert [(letter.record, letter.reason.split(":")[0]) for letter in letters] == [("one", "t/0 at offset 1")]


@pytest.mark.parametrize(
    ("schema", "params", "message"),
    [
        ("int32 n", "", "a raw message has no attribute `n`"),
        ("int32 message", "", "`message` of `outputMessageAttributeName` is text or a blob, found int32"),
        ("rstring message, int32 offset", "", "is of type int64, found int32"),
        ("rstring message", 'separator: ";";', "`separator` goes with the format csv"),
    ],
)
def test_a_consumer_that_cannot_work_is_refused(schema, params, message):
    with pytest.raises(UserError) as caught:
        consumer(schema, params)
    assert message in str(caught.value)


def test_the_reference_says_that_kafka_needs_spark():
    text = """composite Main { graph
        stream<rstring message> A = KafkaConsumer() { param topic: "t"; bootstrapServers: "nowhere:1"; } }"""
    with pytest.raises(OperatorFailed, match="it runs on Spark only"):
        run(compile_text(text))


def test_a_missing_connector_is_explained():
    spark = SimpleNamespace(_jvm=None, version="4.3.0")
    with pytest.raises(UserError, match="Spark has no Kafka connector") as caught:
        check_connector(spark)
    assert "spark-sql-kafka-0-10_2.13:4.3.0" in str(caught.value)


def test_jars_that_are_not_there_are_named(tmp_path):
    with pytest.raises(UserError, match="there is no jar"):
        connector_settings({"PENSTOCK_JARS": str(tmp_path)})
    (tmp_path / "a.jar").touch()
    assert connector_settings({"PENSTOCK_JARS": str(tmp_path)}) == {"spark.jars": str(tmp_path / "a.jar")}


def test_a_task_that_is_tried_again_writes_nothing(monkeypatch):
    import pyspark

    context = SimpleNamespace(attemptNumber=lambda: 1)
    monkeypatch.setattr(pyspark, "TaskContext", SimpleNamespace(get=lambda: context))
    with pytest.raises(RuntimeError, match="the task before this one may have written"):
        list(kafka_topic._first_attempt_only(iter([])))


def producer(topic: str):
    return compile_text(f"""composite Main {{ graph
        stream<rstring key, int32 n> A = Beacon() {{ param iterations: 1u; }}
        () as Out = KafkaProducer(A) {{
            param topic: "{topic}"; bootstrapServers: "{broker()}"; format: csv; keyAttribute: key; }} }}""")


def held(topic: str) -> dict[str, list[int]]:
    """What a topic holds: the numbers of each key, in the order of its partition."""
    found: dict[str, list[int]] = {}
    for _, value in sorted(messages_in(topic)):
        key, number = value.split(",")
        found.setdefault(key.strip('"'), []).append(int(number))
    return found


ROWS = [(f"k{n % 5}", n) for n in range(40)]
BATCHES = [{"A": ROWS[:15]}, {"A": ROWS[15:30]}, {"A": ROWS[30:]}]
WANTED = {f"k{k}": list(range(k, 40, 5)) for k in range(5)}


@pytest.mark.xdist_group("spark")
def test_messages_are_written_exactly_once_whatever_comes_again(tmp_path, monkeypatch):
    topic = new_topic()
    sinks = Sinks(producer(topic), tmp_path)
    session()
    sinks.write(0, BATCHES[0])
    sinks.sinks._batch = None
    sinks.write(0, BATCHES[0])
    _fail_after_half(monkeypatch, times=1)
    sinks.write(1, BATCHES[1])
    _fail_after_half(monkeypatch, times=kafka_topic.ATTEMPTS)
    with pytest.raises(OSError, match="cable"):
        sinks.write(2, BATCHES[2])
    monkeypatch.undo()
    sinks.crash()
    sinks.write(2, BATCHES[2])
    assert held(topic) == WANTED


@pytest.mark.xdist_group("spark")
def test_messages_of_tasks_are_written_exactly_once_whatever_comes_again(tmp_path, monkeypatch):
    topic = new_topic()
    session()
    sinks = Sinks(producer(topic), tmp_path, in_tasks=True)
    write = kafka_topic.TopicWriter._save
    sinks.write(0, BATCHES[0], spread=lambda n: n % 3)
    sinks.sinks._batch = None
    sinks.write(0, BATCHES[0], spread=lambda n: n // 4)
    failures = [1]

    def failing(self, frame):
        """Write the first messages of every task only, so many times."""
        if not failures[0]:
            return write(self, frame)
        failures[0] -= 1
        write(self, frame.limit(4))
        raise OSError("the cable is out")

    monkeypatch.setattr(kafka_topic.TopicWriter, "_save", failing)
    sinks.write(1, BATCHES[1], spread=lambda n: n % 3)
    failures[0] = kafka_topic.ATTEMPTS
    with pytest.raises(OSError, match="cable"):
        sinks.write(2, BATCHES[2], spread=lambda n: n % 2)
    sinks.crash()
    sinks.write(2, BATCHES[2], spread=lambda n: n % 3)
    assert held(topic) == WANTED
    assert sinks.sinks.totals.received == {"Out": [40]}


def _fail_after_half(monkeypatch, times: int) -> None:
    """Let so many writes fail when some messages are out."""
    monkeypatch.undo()
    write, left = kafka_topic.TopicWriter._write, [times]

    def failing(self, table):
        if not left[0]:
            return write(self, table)
        left[0] -= 1
        write(self, table.slice(0, min(4, table.num_rows)))
        raise OSError("the cable is out")

    monkeypatch.setattr(kafka_topic.TopicWriter, "_write", failing)


@pytest.mark.xdist_group("spark")
def test_what_one_job_writes_to_kafka_another_reads(tmp_path):
    topic = new_topic()
    first, second = App("First"), App("Second")
    made = first.source(feed(ROWS), "rstring key, int32 n", name="A").filter(col.n % 3 != 0, name="F")
    made.write_kafka(topic, servers=broker(), key="key", name="Out")
    got = second.kafka_source(topic, "rstring key, int32 n", servers=broker(), name="B")
    got.with_columns(n=col.n * 2, name="D").write_file("got.csv")
    outcomes = [job(app, tmp_path / app.name) for app in (first, second)]
    lines = (tmp_path / "Second" / "out" / "got.csv").read_text().splitlines()
    wanted = [f'"{key}",{2 * n}' for key, n in ROWS if n % 3]
    assert sorted(lines) == sorted(wanted)
    for key in WANTED:
        assert [line for line in lines if key in line] == [line for line in wanted if key in line]
    assert outcomes[1].totals.submitted["B"] == [len(wanted)]


@pytest.mark.xdist_group("spark")
def test_the_example_averages_every_four_trades_and_goes_on_where_it_stopped(tmp_path):
    program = compile_file(ROOT / "examples/kafka_pipeline/kafka_pipeline.spl")
    settings = {"servers": [broker()], "from": [new_topic()], "to": [new_topic()]}
    (tmp_path / "out").mkdir()
    for first in (0, 30):
        send(
            settings["from"][0],
            [f'{{"symbol":"S{n % 3}","price":{n},"volume":{n % 2}}}' for n in range(first, first + 30)],
        )
        send(settings["from"][0], ["no trade"])
        outcome = started(program, tmp_path, settings)
    found = [json.loads(value) for _, value in sorted(messages_in(settings["to"][0]))]
    for symbol in range(3):
        prices = [n for n in range(60) if n % 3 == symbol and n % 2]
        wanted = [sum(prices[i : i + 4]) / 4 for i in range(0, len(prices) - 3, 4)]
        assert [row["average"] for row in found if row["symbol"] == f"S{symbol}"] == wanted
    assert outcome.resumed
    assert outcome.totals.rejected == {"Trades": 2}


def test_the_example_is_the_same_application_in_python():
    folder = ROOT / "examples/kafka_pipeline"
    in_python = runpy.run_path(str(folder / "kafka_pipeline.py"))["app"].program().application
    in_spl = compile_file(folder / "kafka_pipeline.spl").application
    assert [(o.id, o.kind) for o in in_python.operators] == [(o.id, o.kind) for o in in_spl.operators]


def test_streams_are_in_a_folder_or_at_kafka():
    assert kafka_streams("/some/folder") is None
    with pytest.raises(UserError, match="found PENSTOCK_STREAMS=ftp://x"):
        kafka_streams("ftp://x")


def test_exported_rows_are_cut_into_messages_that_a_broker_takes():
    schema = parse_schema("rstring s")
    rows = batch_from_rows([("x" * 300,)] * 9000, schema)
    chunk = Chunk(time_ns=np.arange(9000), kind=np.zeros(9000, np.uint8), tuples=rows)
    offer = Offer(application="A", schema=schema, stream_id="s", properties={})
    stated = file_schema(schema).with_metadata({OFFER: described(offer).encode()})
    values = list(_encoded(file_rows(chunk, stated)))
    assert max(map(len, values)) < 1_000_000
    found = wanted_messages(values, Wanted(schema=schema, stream_id="s"))
    assert sum(batch.num_rows for batch in found) == 9000
    assert wanted_messages(values, Wanted(schema=schema, stream_id="other")) == []


@pytest.mark.xdist_group("spark")
def test_streams_between_jobs_go_over_kafka_where_that_is_configured(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_STREAMS", f"kafka://{broker()}/{new_topic()}")
    first, second = App("First"), App("Second")
    made = first.source(feed(ROWS), "rstring key, int32 n", name="A").filter(col.n % 3 != 0, name="F")
    made.export(streamId="numbers", name="Out")
    made.filter(col.n < 0, name="G").export(streamId="others", name="Others")
    second.import_("rstring key, int32 n", streamId="numbers", name="B").write_file("got.csv")
    for app in (first, second):
        job(app, tmp_path / app.name)
    found = (tmp_path / "Second" / "out" / "got.csv").read_text().splitlines()
    assert found == [f'"{key}",{n}' for key, n in ROWS if n % 3]


WINDOWS = """composite Main {{ graph
    stream<rstring message, int32 partition> A = KafkaConsumer() {{
        param topic: "{topic}"; bootstrapServers: "{servers}"; idleTime: 1.0; }}
    stream<int32 n, rstring last> B = Aggregate(A) {{
        window A: tumbling, time({seconds}); output B: n = Count(), last = Last(message); }}
    () as Sink = FileSink(B) {{ param file: "out.csv"; flush: 1u; }} }}"""


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("per_batch", [8, 1000])
def test_a_partition_that_is_read_more_slowly_falls_into_no_later_window(tmp_path, per_batch):
    # Not long ago: brokers forget what is older than a week.
    topic, start = new_topic(), round(time.time() * 1000) - 60_000
    # As many messages in each, but the time in one of them goes ten times as fast.
    sent = [(p, start + n * (100, 1000, 500)[p], f"{p}/{n}") for p in range(3) for n in range(20)]
    send_at(topic, sent)
    (tmp_path / "out").mkdir()
    program = compile_text(WINDOWS.format(topic=topic, servers=broker(), seconds=3))
    outcome = started(program, tmp_path, {}, batch=per_batch)
    # Of equal times those of smaller offsets come first, then of smaller partitions.
    ordered = sorted(sent, key=lambda m: (m[1], int(m[2][2:]), m[0]))
    wanted = []
    for window in range(start, start + 18_000, 3000):
        inside = [text for _, ms, text in ordered if window <= ms < window + 3000]
        wanted.append(f'{len(inside)},"{inside[-1]}"')
    assert (tmp_path / "out" / "out.csv").read_text().splitlines() == wanted
    assert not outcome.totals.late


@pytest.mark.xdist_group("spark")
def test_windows_close_although_no_message_comes(tmp_path):
    topic = new_topic()
    now = round(time.time() * 1000)
    send_at(topic, [(0, now, "a"), (1, now + 1, "b"), (0, now + 100, "c")])
    (tmp_path / "out").mkdir()
    program = compile_text(WINDOWS.format(topic=topic, servers=broker(), seconds=1))
    outcome = started(program, tmp_path, {}, continuous=True, seconds=8)
    assert outcome.stopped == "time"
    assert (tmp_path / "out" / "out.csv").read_text().splitlines()[0] == '3,"c"'


def send_at(topic: str, sent: list[tuple[int, int, str]]) -> None:
    """Send messages to partitions, with time stamps in milliseconds."""
    jvm = session()._jvm
    settings = jvm.java.util.Properties()
    settings.put("bootstrap.servers", broker())
    for name in ("key.serializer", "value.serializer"):
        settings.put(name, "org.apache.kafka.common.serialization.StringSerializer")
    producer = jvm.org.apache.kafka.clients.producer.KafkaProducer(settings)
    record = jvm.org.apache.kafka.clients.producer.ProducerRecord
    for partition, ms, value in sent:
        producer.send(record(topic, partition, ms, None, value))
    producer.close()


def send(topic: str, values: list[str]) -> None:
    rows = [(json.loads(v)["symbol"] if v[0] == "{" else None, v) for v in values]
    frame = session().createDataFrame(rows, "key string, value string").coalesce(1)
    frame.write.format("kafka").option("kafka.bootstrap.servers", broker()).option("topic", topic).save()


def messages_in(topic: str) -> list[tuple[tuple[int, int], str]]:
    """What a topic holds, with the partition and the offset of each message."""
    frame = session().read.format("kafka").option("kafka.bootstrap.servers", broker()).option("subscribe", topic).load()
    return [((row["partition"], row["offset"]), row["value"].decode()) for row in frame.collect()]


def job(app: App, folder):
    (folder / "out").mkdir(parents=True)
    return started(app.program(), folder, {})


def started(program, folder, settings, **more):
    options = {"batch": 16, **{name: more.pop(name) for name in ("batch", "channels", "continuous") if name in more}}
    given = environment(folder, folder / "out", settings)
    job = compile_fused(program, everything_fused(program.application), environment=given, **options)
    return run_on_spark(job, session(), checkpoint=folder / "checkpoint", **more)
