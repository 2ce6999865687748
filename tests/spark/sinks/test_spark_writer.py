"""SparkSink: what Spark's writers have written is there once, and what Spark has no writer for is refused at once."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pytest

from compiling import compile_fused
from penstock import App
from penstock.base.diagnostics import UserError
from penstock.lang import compile_text
from penstock.local.local_sinks import check_operators
from penstock.spark.job.run import run_on_spark
from penstock.testing import feed
from sink_runner import Sinks, batches_of
from spark_session import environment, everything_fused, session

pytestmark = pytest.mark.xdist_group("spark")

ROWS = [(f"S{n % 2}", n) for n in range(40)]


def program_of(params: str):
    return compile_text(
        f"""composite Main {{ graph
        stream<rstring name, int64 n> A = Beacon() {{ param iterations: 1u; }}
        () as Out = SparkSink(A) {{ param {params} }} }}"""
    )


def rows_of(folder: Path, format_: str = "json") -> list[tuple]:
    return sorted((row.name, row.n) for row in session().read.format(format_).load(str(folder)).collect())


def test_a_job_writes_by_spark_what_it_was_fed(tmp_path):
    app = App("Main")
    numbers = app.source(feed(ROWS), "rstring name, int64 n", name="A")
    numbers.write_spark("json", "lines", partition_by="name", name="Lines")
    numbers.write_spark("orc", "rows", options={"compression": "zlib"}, name="Rows")
    made = app.program()
    (tmp_path / "out").mkdir()
    settings = environment(tmp_path, tmp_path / "out")
    job = compile_fused(made, everything_fused(made.application), environment=settings, batch=25)
    # Spark's part of a checkpoint lies in it, whatever its name.
    checkpoint = tmp_path / "my checkpoint [1] %20"
    outcome = run_on_spark(job, session(), checkpoint=checkpoint)
    assert {path.name for path in tmp_path.iterdir()} == {"out", checkpoint.name}
    assert (checkpoint / "spark" / "commits").is_dir()
    assert outcome.totals.received == {"Lines": [40], "Rows": [40]}
    assert rows_of(tmp_path / "out" / "lines") == rows_of(tmp_path / "out" / "rows", "orc") == sorted(ROWS)
    assert {p.name for p in (tmp_path / "out" / "lines").iterdir()} == {"name=S0", "name=S1"}
    assert all(".zlib" in p.name for p in (tmp_path / "out" / "rows").glob("part-*"))


def test_files_of_a_batch_that_comes_again_are_there_once(tmp_path):
    session()
    # Names that are no URIs, and that would be patterns.
    tmp_path = tmp_path / "[a] {b} *" / "50%20 ü"
    tmp_path.mkdir(parents=True)
    sinks = Sinks(program_of('format: "json"; path: "my lines";'), tmp_path, in_tasks=True)
    for number, batch in enumerate(batches_of(ROWS, 20, "A")):
        for crash in ("in the middle", "before it is stored", None):
            (sink,) = sinks.sinks._writer._sinks.values()
            if crash == "in the middle":
                sink.commit = _half(sink.commit)
            if crash == "before it is stored":
                sinks.sinks._store = lambda batch: None
            with contextlib.suppress(OSError):
                sinks.write(number, batch, spread=lambda n: n % 3)
            if crash:
                sinks.crash()
    sinks.sinks.close()
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"my lines"}
    lines = [json.loads(text) for path in (tmp_path / "out" / "my lines").iterdir() for text in path.open()]
    assert sorted((line["name"], line["n"]) for line in lines) == sorted(ROWS)
    assert not list((tmp_path / "sinks").glob("spark-Out/.staging/*"))


def _half(commit):
    def fail(*, has_ended):
        commit(has_ended=has_ended)
        raise OSError("the lights are out")

    return fail


def test_a_table_is_told_of_a_batch_once_when_it_was_done(tmp_path):
    spark = session()
    spark.sql("DROP TABLE IF EXISTS spark_sink_rows")
    spark.sql(f"CREATE TABLE spark_sink_rows (name STRING, n BIGINT) USING json LOCATION '{tmp_path / 'table'}'")
    sinks = Sinks(program_of('format: "json"; table: "spark_sink_rows";'), tmp_path, in_tasks=True)
    try:
        sinks.sinks._store = lambda batch: None
        sinks.write(0, {"A": ROWS})
        sinks.crash()
        sinks.write(0, {"A": ROWS})
        assert sorted((row.name, row.n) for row in spark.table("spark_sink_rows").collect()) == sorted(ROWS)
        note = json.loads((tmp_path / "sinks" / "spark-Out.json").read_text())
        assert note == {"batch": 0, "is_done": True}
    finally:
        sinks.sinks.close()
        spark.sql("DROP TABLE spark_sink_rows")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        pytest.param(
            'format: "delta"; path: "d";',
            "writes `delta`, which Spark has no data source for; add the jar with",
            marks=pytest.mark.skipif("/delta-" in os.environ.get("PENSTOCK_JARS", ""), reason="there is Delta"),
        ),
        ('format: "jsno"; path: "d";', "writes `jsno`, which Spark has no data source for; check the name"),
        ('format: "json"; path: "s3a://bucket/d";', "SparkSink `Out` cannot write json to `s3a://bucket/d`: "),
        ('format: "text"; path: "d";', "SparkSink `Out` cannot write text to "),
        ('format: "json"; path: "taken";', "writes a folder, but "),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_first_batch(params, message, tmp_path):
    session()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "taken").touch()
    with pytest.raises(UserError) as caught:
        Sinks(program_of(params), tmp_path)
    assert message in str(caught.value)


def test_a_path_and_a_table_are_too_much_and_other_engines_say_that_they_cannot():
    with pytest.raises(UserError, match="to a `path` or to a `table`, found both"):
        program_of('format: "json"; path: "d"; table: "t";')
    with pytest.raises(UserError, match=r"`Out` \(SparkSink\) does not run on the local engine"):
        check_operators(program_of('format: "json"; path: "d";').application)
