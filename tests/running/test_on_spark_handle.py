"""An application on Spark from Python: in a session of the user's, whose settings stay as they are."""

from __future__ import annotations

import time

import pytest

from penstock import App, KeyedOperator, Stream, UserError, agg, col
from penstock import windows as w
from spark_session import session

pytestmark = pytest.mark.xdist_group("spark")
SCHEMA = "int32 time, rstring name, int64 count, rstring format"
ROWS = [(i % 5, f"n{i}", i, "x") for i in range(200)]
SETTINGS = {
    "spark.sql.shuffle.partitions": "7",
    "spark.sql.session.timeZone": "Asia/Tokyo",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "3",
}


class Numbered(KeyedOperator):
    partition_by = "time"

    def __init__(self):
        self.count = 0

    def process(self, t):
        self.count += 1
        yield {"time": t.time, "name": t.name, "count": self.count, "format": t.format}


def totals(app: App) -> Stream:
    numbered = app.from_rows(ROWS, SCHEMA).apply(Numbered).with_columns({"name": col.name + "!"})
    columns = {"count": agg.sum(col.count), "name": agg.last(col.name)}
    return numbered.aggregate(w.tumbling(w.count(4)), columns, by="time").named("Totals")


@pytest.fixture(scope="module")
def own():
    """A session that was not made for us."""
    spark = session().newSession()
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    return spark


def settings(spark) -> dict[str, str]:
    return {row.key: row.value for row in spark.sql("SET").collect()}


def test_a_session_of_the_user_runs_a_job_and_keeps_its_settings(own, tmp_path):
    before = settings(own)
    app = App("Own")
    made = totals(app)
    made.write_csv("totals.csv", name="Sink")
    collected = made.collect(engine="spark", spark=own, channels=2, batch=60)
    assert collected == made.collect()
    run = app.run(spark=own, channels=2, fusion="all", out=tmp_path, checkpoint=tmp_path / "checkpoint").wait()
    assert (run.status, run.totals["Sink"].received) == ("done", len(collected))
    assert len((tmp_path / "totals.csv").read_text().splitlines()) == len(collected)
    assert settings(own) == before


def test_a_session_whose_workers_cannot_run_a_job_is_refused(own, monkeypatch):
    app = App("Other")
    app.from_rows([(1,)], "int32 x").print()
    for python in ("false", "no-such-python"):
        monkeypatch.setattr(own.sparkContext, "pythonExec", python)
        with pytest.raises(UserError, match=f"the workers of this session run `{python}`, in which there is no Pen"):
            app.run(spark=own)


def test_a_run_on_spark_is_stopped_and_failures_are_in_the_users_terms(own):
    endless = App("Endless")
    endless.beacon("uint64 n", n=agg.iteration_count()).for_each(lambda t: None, name="Sink")
    run = endless.run(spark=own, batch=500)
    while run.progress.batches < 2 and run.status == "running":
        time.sleep(0.1)
    run.stop()
    assert run.wait().status == "interrupted"
    run.stop()
    assert run.totals["Sink"].received >= 1000
    failing = App("Failing")
    failing.from_rows([(0,)], "int32 x").map(lambda t: (1 // t.x,)).for_each(lambda t: None)
    with pytest.raises(UserError) as caught:
        failing.run(spark=own).wait()
    assert "error: operator `function` (function) failed on {x=0}: ZeroDivisionError" in str(caught.value)
    assert "test_on_spark_handle.py" in str(caught.value)
    assert not any(word in str(caught.value) for word in ("java", "Py4J", "org.apache"))


class Renamed(KeyedOperator):
    """`Numbered` under another name, with a field more."""

    partition_by = "time"

    def __init__(self):
        self.count, self.more = 0, 0

    def process(self, t):
        self.count += 1
        yield {"time": t.time, "name": t.name, "count": self.count + self.more, "format": t.format}

    @classmethod
    def upgrade(cls, old):
        return {"count": old["count"], "more": 1000}


def numbers(kind: type) -> App:
    app = App("Numbers")
    rows = [(i % 5, f"n{i}", i, "x") for i in range(3000)]
    app.from_rows(rows, SCHEMA, name="Rows").apply(kind, name="N").write_csv("out.csv", name="Out")
    return app


def test_a_run_is_rescaled_and_goes_on_with_a_renamed_class_that_upgrades(tmp_path):
    where = {"spark": session(), "out": tmp_path, "checkpoint": tmp_path / "c", "batch": 40}
    run = numbers(Numbered).run(**where, channels=1)
    seconds = run.rescale(2)
    assert list(seconds) == ["stop", "savepoint", "deal out", "start", "pause"]
    with pytest.raises(UserError, match="721 channels cannot share 720 key groups") as caught:
        run.rescale(721)
    assert "the run goes on as it was" in str(caught.value)
    run.stop()
    assert run.wait().status == "interrupted"
    with pytest.raises(UserError, match="the run was over before it was rescaled"):
        run.rescale(3)
    with pytest.raises(UserError, match="the Python code of `N` has changed"):
        numbers(Renamed).run(**where).wait()
    # What the first class had begun it has finished by now.
    before = len((tmp_path / "out.csv").read_text().splitlines())
    numbers(Renamed).run(**{**where, "batch": 3000}, accept_changed_code=True).wait()
    found = [int(line.split(",")[2]) for line in (tmp_path / "out.csv").read_text().splitlines()]
    assert found == [i // 5 + 1 + (1000 if i >= before else 0) for i in range(3000)]
