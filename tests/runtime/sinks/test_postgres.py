"""PostgreSQL: the rows of a batch and its id are committed together."""

from __future__ import annotations

import contextlib
import itertools
import random
from decimal import Decimal

import pytest

from compiling import compile_fused
from penstock import App, col
from penstock.base.diagnostics import UserError
from penstock.base.durable_files import read_sealed
from penstock.lang import compile_text
from penstock.reference import run
from penstock.reference.failure import OperatorFailed
from penstock.spark.job.run import run_on_spark
from penstock.testing import feed
from servers.postgres_server import server
from sink_runner import Sinks, batches_of
from spark_session import environment, everything_fused, session

numbers = itertools.count()


@pytest.fixture
def table() -> str:
    return f"rows_{next(numbers)}"


def query(statement: str) -> list[tuple[object, ...]]:
    import psycopg

    with psycopg.connect(server(), autocommit=True) as connection:
        cursor = connection.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def program(table: str, schema: str = "rstring s, int32 n", params: str = "createTable: true;"):
    return compile_text(f"""composite Main {{ graph
        stream<{schema}> A = Beacon() {{ param iterations: 1u; }}
        () as Out = PostgresSink(A) {{ param url: "{server()}"; table: "{table}"; {params} }} }}""")


BATCHES = [{"A": [("a", 1), ("b", 2)]}, {"A": []}, {"A": [("c", 3)]}, {"A": ["final"]}]
WANTED = [("a", 1), ("b", 2), ("c", 3)]


def test_a_batch_that_comes_again_changes_nothing(table, tmp_path):
    sinks = Sinks(program(table), tmp_path)
    for number, batch in enumerate(BATCHES):
        sinks.write(number, batch)
        sinks.sinks._batch = None
        sinks.write(number, batch)
    assert query(f"SELECT * FROM {table}") == WANTED


def test_a_crash_between_writing_and_storing_changes_nothing(table, tmp_path):
    sinks = Sinks(program(table), tmp_path)
    for number, batch in enumerate(BATCHES):
        sinks.sinks._store = lambda batch: None
        sinks.write(number, batch)
        sinks.crash()
        sinks.write(number, batch)
    assert query(f"SELECT * FROM {table}") == WANTED
    assert query(f"SELECT count(*) FROM penstock_batches WHERE job = '{job_of(tmp_path)}'") == [(2,)]


def test_ids_of_batches_are_forgotten_when_they_are_old(table, tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.toolkit.adapters.postgres_table.KEPT_BATCHES", 2)
    sinks = Sinks(program(table), tmp_path)
    for number in range(7):
        sinks.write(number, {"A": [("a", number)]})
        old = "written = now() - interval '40 days'"
        query(f"UPDATE penstock_batches SET {old} WHERE job = '{job_of(tmp_path)}' AND batch <> 1")
    kept = query(f"SELECT batch FROM penstock_batches WHERE job = '{job_of(tmp_path)}' ORDER BY batch")
    assert kept == [(1,), (4,), (5,), (6,)]


def job_of(folder) -> str:
    return read_sealed(folder / "sinks" / "job", "the name of the job").decode()


def test_a_crash_before_the_commit_leaves_nothing(table, tmp_path):
    sinks = Sinks(program(table), tmp_path)
    (sink,) = sinks.sinks._writer._sinks.values()
    sink.commit = lambda has_ended: (_ for _ in ()).throw(OSError("the lights are out"))
    with pytest.raises(OSError, match="lights"):
        sinks.write(0, BATCHES[0])
    sinks.crash()
    assert query(f"SELECT * FROM {table}") == []
    sinks.write(0, BATCHES[0])
    assert query(f"SELECT * FROM {table}") == WANTED[:2]


def parts() -> list[tuple[object, ...]]:
    return query("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'penstock\\_part\\_%'")


@pytest.mark.parametrize("seed", range(20))
def test_tasks_and_drivers_that_crash_write_every_row_once(seed, table, tmp_path):
    dice = random.Random(seed)
    rows = [(f"s{n % 3}", n) for n in range(60)]
    sinks = Sinks(program(table), tmp_path, in_tasks=True)
    for number, batch in enumerate([*batches_of(rows, 20, "A"), {"A": ["final"]}]):
        while True:
            sent = sinks.rows(number, batch, lambda n: n // 5)
            # A task that runs a second time, elsewhere; nobody takes what one of them has written.
            twice = [row for row in sent if dice.random() < 0.3]
            sinks.by_tasks(number, twice)
            going_on = sinks.by_tasks(number, sent)
            crash = dice.choice(["none", "none", "before writing", "before the commit", "after the commit"])
            if crash == "none":
                sinks.sinks.write_rows(going_on, number)
                break
            (sink,) = sinks.sinks._writer._sinks.values()
            if crash == "before the commit":
                sink._table.commit = lambda: (_ for _ in ()).throw(OSError("the lights are out"))
            if crash == "after the commit":
                sinks.sinks._store = lambda batch: (_ for _ in ()).throw(OSError("the lights are out"))
            if crash != "before writing":
                with contextlib.suppress(OSError):
                    sinks.sinks.write_rows(going_on, number)
            sinks.crash()
    sinks.sinks.close()
    assert sorted(query(f"SELECT * FROM {table}")) == sorted(rows)
    assert sinks.sinks.totals.received == {"Out": [60]}


def test_parts_that_nobody_takes_are_dropped_with_the_next_batch(table, tmp_path):
    sinks = Sinks(program(table), tmp_path, in_tasks=True)
    before = len(parts())
    sinks.by_tasks(0, sinks.rows(0, BATCHES[0], lambda n: n))
    assert len(parts()) == before + 2
    sinks.write(0, BATCHES[0])
    assert len(parts()) == before
    assert query(f"SELECT * FROM {table} ORDER BY n") == WANTED[:2]


def test_an_error_in_a_task_names_the_column_and_the_tuple(table, tmp_path):
    query(f"CREATE TABLE {table} (s text NOT NULL, n smallint, id serial, CHECK (n < 100))")
    sinks = Sinks(program(table, "optional<rstring> s, int32 n", params=""), tmp_path, in_tasks=True)
    for reason, rows in {
        "column `n`: .*70000": [("a", 1), ("b", 70000)],
        "column `s`: null value": [("a", 1), (None, 2)],
        "violates check constraint": [("a", 100)],
    }.items():
        with pytest.raises(UserError, match=rf"PostgresSink `Out` cannot write to `{table}`: .*{reason}.*in the tuple"):
            sinks.write(0, {"A": rows})
    sinks.write(0, {"A": [("a", 1)]})
    assert query(f"SELECT s, n FROM {table}") == [("a", 1)]


def test_a_new_job_adds_its_rows(table, tmp_path):
    for name in ("first", "second"):
        Sinks(program(table), tmp_path / name).write(0, BATCHES[0])
    assert query(f"SELECT * FROM {table}") == WANTED[:2] * 2


def test_every_type_that_has_a_column_comes_back(table, tmp_path):
    schema = (
        "boolean b, int8 i, uint8 j, uint32 u, uint64 v, float32 f, float64 d, decimal64 e, rstring s, blob x, "
        "timestamp t, list<int32> l, list<rstring> m, optional<int64> o, enum {red, green} c"
    )
    row = (True, -1, 255, 2**32 - 1, 2**64 - 1, 1.5, 0.1, Decimal("1.25"), 'q"\t\n\\é', b"\0\1", 7, [1, 2], ["a,b"])
    rows = [(*row, None, "red"), (*row, 2**63 - 1, "green")]
    Sinks(program(table, schema), tmp_path).write(0, {"A": rows})
    assert query(f"SELECT * FROM {table}") == [tuple(r) for r in rows]


def test_an_error_names_the_column_and_the_tuple(table, tmp_path):
    query(f"CREATE TABLE {table} (s text, n smallint)")
    sinks = Sinks(program(table, params=""), tmp_path)
    message = rf"PostgresSink `Out` cannot write to `{table}`: column `n`: .*70000.*in the tuple \{{s=\"b\",n=70000\}}"
    with pytest.raises(UserError, match=message):
        sinks.write(0, {"A": [("a", 1), ("b", 70000), ("c", 3)]})
    assert query(f"SELECT * FROM {table}") == []


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT 1", "does not exist; make the table, or write `createTable: true`"),
        ("CREATE TABLE {} (s text)", 'column "n" does not exist; the table needs a column for each attribute'),
    ],
)
def test_a_table_that_does_not_fit_is_explained_before_anything_runs(statement, message, table, tmp_path):
    query(statement.format(table))
    with pytest.raises(UserError) as caught:
        Sinks(program(table, params=""), tmp_path)
    assert message in str(caught.value)


def test_a_server_that_is_not_there_is_named():
    text = """composite Main { graph
        stream<int32 n> A = Beacon() { param iterations: 1u; }
        () as Out = PostgresSink(A) { param url: "postgresql://nobody@127.0.0.1:1/none"; table: "t"; } }"""
    with pytest.raises(OperatorFailed, match=r"cannot write to `t`: .*; check the url, and that the server runs"):
        run(compile_text(text))


def test_an_attribute_without_a_column_type_is_refused():
    text = """composite Main { graph
        stream<map<int32, int32> m> A = Beacon() { param iterations: 1u; }
        () as Out = PostgresSink(A) { param url: "postgresql:///x"; table: "t"; } }"""
    with pytest.raises(UserError, match="the attribute `m` of type map<int32, int32> has no column type"):
        compile_text(text)


def application(table: str) -> App:
    app = App("Main")
    app.source(feed(WANTED), "rstring s, int32 n", name="A").write_postgres(server(), table, create=True, name="Out")
    return app


def test_the_reference_writes_all_or_nothing(table):
    run(application(table).program())
    assert query(f"SELECT * FROM {table}") == WANTED
    app = App("Failing")
    made = app.source(feed([("d", 4), ("e", 0)]), "rstring s, int32 n", name="A").with_columns(n=12 / col.n, name="B")
    made.write_postgres(server(), table, name="Out")
    with pytest.raises(OperatorFailed, match="division by zero"):
        run(app.program())
    assert query(f"SELECT * FROM {table}") == WANTED


@pytest.mark.xdist_group("spark")
def test_a_job_on_spark_writes_what_the_reference_writes(table, tmp_path):
    (tmp_path / "out").mkdir()
    made = application(table).program()
    settings = environment(tmp_path, tmp_path / "out")
    job = compile_fused(made, everything_fused(made.application), environment=settings, batch=2)
    run_on_spark(job, session(), checkpoint=tmp_path / "checkpoint")
    assert query(f"SELECT * FROM {table}") == WANTED
