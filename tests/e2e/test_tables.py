"""Delta and PostgreSQL tables: every row once, over crashes, and wrong settings refused at once.

Delta is there on versions of Spark that have it: `make test-spark VERSION=4.2`. What takes minutes is run there alone,
too.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import random
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from compiling import compile_fused
from penstock import App
from penstock.base.diagnostics import UserError
from penstock.bench.crashes import crash_jobs, expected
from penstock.lang import compile_text
from penstock.spark.job.run import run_on_spark
from penstock.spark.sources.admission import HAS_ADMISSION
from penstock.testing import feed
from servers.postgres_server import server
from sink_runner import Sinks, batches_of
from spark_session import environment, everything_fused, session

pytestmark = pytest.mark.xdist_group("spark")

JARS = os.environ.get("PENSTOCK_JARS", "")
HAS_DELTA = "/delta-" in JARS
delta = pytest.mark.skipif(not HAS_DELTA, reason="make test-spark VERSION=4.2 has Delta")
jobs = pytest.mark.skipif(not HAS_ADMISSION, reason="Spark 4.1 runs no jobs of ours")

ROWS = [(f"S{n % 3}", n) for n in range(60)]


def program_of(params: str):
    return compile_text(
        f"""composite Main {{ graph
        stream<rstring name, int64 n> A = Beacon() {{ param iterations: 1u; }}
        () as Out = SparkSink(A) {{ param {params} }} }}"""
    )


@pytest.fixture(autouse=True)
def few_tasks():
    """Delta takes 50 tasks to read its log, whatever its size."""
    if HAS_DELTA:
        session().conf.set("spark.databricks.delta.snapshotPartitions", "1")


def found_in(format_: str, place: str) -> list[tuple[str, int]]:
    frame = session().read.format(format_).load(place)
    return sorted((row.name, row.n) for row in frame.collect())


def crash_at_random(sinks: Sinks, rng: random.Random) -> int:
    """Write all rows in batches; crash before the format commits, behind it, or behind our note. How many crashes."""
    crashes = 0
    for number, batch in enumerate(batches_of(ROWS, 12, "A")):
        for moment in rng.sample(["commit", "note", "store"], rng.randrange(4)):
            (sink,) = sinks.sinks._writer._sinks.values()
            if moment == "commit":
                sink._save = _lights_out(lambda writer: None)
            elif moment == "note":
                sink._save = _lights_out(sink._save)
            else:
                sinks.sinks._store = lambda batch: None
            with contextlib.suppress(OSError, UserError):
                sinks.write(number, batch, spread=lambda n: n % 3)
            sinks.crash()
            crashes += 1
        sinks.write(number, batch, spread=lambda n: n % 3)
    return crashes


def _lights_out(do):
    def fail(writer):
        do(writer)
        raise OSError("the lights are out")

    return fail


@delta
def test_rows_in_delta_are_there_once_after_crashes_at_any_moment(tmp_path):
    session()
    crashes = 0
    for seed in range(4):
        folder = tmp_path / f"{seed} [a] %20"
        folder.mkdir()
        sinks = Sinks(program_of('format: "delta"; path: "table"; partitionBy: name;'), folder, in_tasks=True)
        crashes += crash_at_random(sinks, random.Random(seed))
        sinks.sinks.close()
        assert found_in("delta", str(folder / "out" / "table")) == sorted(ROWS), seed
    assert crashes >= 20


@delta
def test_rows_in_a_delta_table_of_the_catalog_are_there_once(tmp_path):
    session().sql(f"CREATE TABLE once (name STRING, n BIGINT) USING delta LOCATION 'file://{tmp_path}/once'")
    try:
        sinks = Sinks(program_of('format: "delta"; table: "once";'), tmp_path, in_tasks=True)
        assert crash_at_random(sinks, random.Random(1))
        sinks.sinks.close()
        assert sorted((row.name, row.n) for row in session().table("once").collect()) == sorted(ROWS)
    finally:
        session().sql("DROP TABLE once")


@delta
@jobs
def test_a_job_writes_two_tables_that_other_jobs_look_up(tmp_path):
    app = App("Main")
    numbers = app.source(feed(ROWS), "rstring name, int64 n", name="A")
    numbers.write_spark("delta", "plain", name="Plain")
    numbers.write_spark("delta", "parts", partition_by="name", name="Parts")
    made = app.program()
    (tmp_path / "out").mkdir()
    job = compile_fused(
        made, everything_fused(made.application), environment=environment(tmp_path, tmp_path / "out"), batch=25
    )
    outcome = run_on_spark(job, session(), checkpoint=tmp_path / "job")
    assert outcome.totals.received == {"Plain": [60], "Parts": [60]}
    for name in ("plain", "parts"):
        assert found_in("delta", str(tmp_path / "out" / name)) == sorted(ROWS)
    versions = session().sql(f"DESCRIBE HISTORY delta.`{tmp_path / 'out' / 'plain'}`").count()
    assert versions == outcome.batches or versions == 3  # 25, 25 and 10 tuples; a batch without tuples leaves none


@delta
@pytest.mark.parametrize(
    ("columns", "params", "message"),
    [
        ("name STRING, n BIGINT", 'format: "delta"; path: "t";', None),
        ("name STRING, n BIGINT, more DOUBLE", 'format: "delta"; path: "t";', None),
        ("name STRING", 'format: "delta"; path: "t";', "SparkSink `Out` cannot write delta to "),
        ("name STRING", 'format: "delta"; path: "t"; options: {"mergeSchema": "true"};', None),
        ("name STRING, n DATE", 'format: "delta"; path: "t";', "SparkSink `Out` cannot write delta to "),
        ("name STRING, n BIGINT", 'format: "delta"; path: "t"; partitionBy: name;', "cannot write delta to "),
        ("name STRING, n BIGINT", 'format: "delta";', "writes delta, but not where to"),
    ],
)
def test_a_delta_table_that_does_not_fit_is_refused_before_the_first_batch(columns, params, message, tmp_path):
    place = tmp_path / "out" / "t"
    session().sql(f"CREATE TABLE delta.`{place}` ({columns}) USING delta")
    context = pytest.raises(UserError) if message else contextlib.nullcontext()
    with context as caught:
        Sinks(program_of(params), tmp_path)
    assert message is None or message in str(caught.value)
    assert message is None or "\n" not in str(caught.value)
    assert session().sql(f"DESCRIBE HISTORY delta.`{place}`").count() == 1, "nothing was written"


def rows_of_the_reference() -> Counter[tuple[str, ...]]:
    return Counter(tuple(row) for row in csv.reader(io.StringIO(expected()["sums.csv"].decode())))


@jobs
@pytest.mark.skipif("PENSTOCK_LONG" not in os.environ, reason="make test-spark has it; it takes minutes")
@pytest.mark.timeout(3000)
def test_every_row_is_once_in_every_table_after_twenty_kills(tmp_path):
    """The driver, or a worker, is killed with SIGKILL at random moments; each job goes on from its checkpoint."""
    wanted, kills = rows_of_the_reference(), 0
    sinks = f'() as InPostgres = PostgresSink(B) {{ param url: "{server()}"; table: "sums_SEED"; createTable: true; }}'
    if HAS_DELTA:
        sinks += f'() as InDelta = SparkSink(B) {{ param format: "delta"; path: "{tmp_path}/SEED"; }}'
    for victim, seeds, each in (("driver", range(3), 4), ("worker", range(10, 12), 4)):
        for crash in crash_jobs(victim, seeds, kills=each, sinks=sinks):
            kills += len(crash.kills)
            assert crash.is_equal, (victim, crash)
            with psycopg.connect(server(), autocommit=True) as connection:
                rows = connection.execute(f"SELECT k, total FROM sums_{crash.seed}").fetchall()
            assert Counter((str(k), str(total)) for k, total in rows) == wanted, (victim, crash)
            if HAS_DELTA:
                table = session().read.format("delta").load(str(tmp_path / str(crash.seed)))
                assert Counter((str(row.k), str(row.total)) for row in table.collect()) == wanted, (victim, crash)
    assert kills >= 20


def test_what_cannot_be_written_by_jdbc_is_refused_before_the_first_batch(tmp_path):
    session()
    for options, message in (
        ("", "`Out` writes by JDBC without `url`"),
        ('options: {"url": "jdbc:postgresql://127.0.0.1:1/market"};', "`Out` writes by JDBC without `dbtable`"),
        (
            'options: {"url": "jdbc:nothing:x", "dbtable": "t"};',
            "cannot write jdbc to `t`: java.sql.SQLException: No suitable driver",
        ),
    ):
        with pytest.raises(UserError) as caught:
            Sinks(program_of(f'format: "jdbc"; {options}'), tmp_path)
        assert message in str(caught.value)


def test_a_file_format_without_a_place_is_refused(tmp_path: Path):
    session()
    with pytest.raises(UserError, match="`Out` writes json, but not where to"):
        Sinks(program_of('format: "json";'), tmp_path)
