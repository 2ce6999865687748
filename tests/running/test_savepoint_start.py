"""A run in this process that goes on from a savepoint, from Python and by the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import App, KeyedOperator, UserError, agg, col, count, tumbling
from stopped_runs import run_some, save


class Numbers(KeyedOperator):
    partition_by = "k"

    def __init__(self):
        self.n = 0

    def process(self, t):
        self.n += 1
        yield t.k, self.n


def application(size: int = 4, name: str = "Resumed") -> App:
    app = App(name)
    rows = app.from_rows([(f"k{n % 3}", n) for n in range(40)], "rstring k, int32 x", name="Rows")
    rows.apply(Numbers, "rstring k, int64 n", name="Numbers").write_csv("numbers.csv", name="NumbersFile")
    rows.aggregate(tumbling(count(size)), by="k", s=agg.sum(col.x), name="Sums").write_csv("sums.csv", name="SumsFile")
    return app


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    made, out = application().program(), tmp_path / "out"
    out.mkdir()
    save(made, run_some(made, out, batches=5), tmp_path / "saved")
    application().run(engine="reference", out=tmp_path / "wanted").wait()
    return tmp_path


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("channels", [1, 3])
def test_a_local_run_goes_on_from_a_savepoint(saved, channels):
    assert files(saved / "out") != files(saved / "wanted")
    run = application().run(engine="local", out=saved / "out", start_from=saved / "saved", channels=channels).wait()
    assert run.status == "done"
    assert files(saved / "out") == files(saved / "wanted")
    assert run.totals["NumbersFile"].received == 40


def test_a_savepoint_behind_the_end_and_one_before_the_beginning(tmp_path):
    for batches in (0, 99):
        made, out, folder = application().program(), tmp_path / f"out{batches}", tmp_path / f"saved{batches}"
        out.mkdir()
        save(made, run_some(made, out, batches=batches), folder)
        application().run(engine="local", out=out, start_from=folder).wait()
        assert len((out / "numbers.csv").read_text().splitlines()) == 40


def test_what_does_not_fit_is_refused_before_anything_runs(saved):
    def run(app: App, **options: object) -> None:
        app.run(engine="local", out=saved / "out", start_from=saved / "saved", **options).wait()

    with pytest.raises(UserError, match="it belongs to the application `Resumed`, this is `Another`"):
        run(application(name="Another"))
    with pytest.raises(UserError, match=r"the savepoint `.*saved` cannot be resumed without dropping state: `Sums`"):
        run(application(size=5))
    run(application(size=5), allow_dropped_state=True)
    assert files(saved / "out")["numbers.csv"] == files(saved / "wanted")["numbers.csv"]
    with pytest.raises(UserError, match="is no savepoint"):
        application().run(engine="local", out=saved, start_from=saved)


def test_changed_code_of_an_operator_with_state_is_asked_for(saved, monkeypatch):
    def process(self, t):
        self.n += 100
        yield t.k, self.n

    monkeypatch.setattr(Numbers, "process", process)
    options = {"engine": "local", "out": saved / "out", "start_from": saved / "saved"}
    with pytest.raises(UserError, match="the Python code of `Numbers` has changed"):
        application().run(**options)
    application().run(**options, accept_changed_code=True).wait()
    assert files(saved / "out")["numbers.csv"].splitlines()[-1] == '"k0",905'


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_options_about_state_are_refused_where_there_is_none(engine, tmp_path):
    with pytest.raises(UserError, match=f"`key_groups` is not for the {engine} engine"):
        application().run(engine=engine, out=tmp_path, key_groups=12)
    with pytest.raises(UserError, match="`key_groups` is a number of at least 1, found 0"):
        application().run(out=tmp_path, key_groups=0)


def test_the_reference_begins_at_the_beginning(tmp_path):
    with pytest.raises(UserError, match="`start_from` is not for the reference engine, which begins at the beginning"):
        application().run(engine="reference", out=tmp_path, start_from=tmp_path)


PROGRAM = """composite Main { graph
    stream<int32 k, int32 x> A = Beacon() { param iterations: 30u;
      output A: k = (int32) (IterationCount() % 3ul), x = (int32) IterationCount(); }
    stream<int32 k, int32 total> B = Aggregate(A) { window A: sliding, count(5), count(1), partitioned;
      param partitionBy: k; output B: k = Any(k), total = Sum(x); }
    () as Sink = FileSink(B) { param file: "out.csv"; }
}"""


def test_the_command_goes_on_from_a_savepoint_on_the_local_engine(tmp_path):
    from penstock.lang import compile_file

    (tmp_path / "main.spl").write_text(PROGRAM)
    made = compile_file(tmp_path / "main.spl")
    for name in ("out", "wanted"):
        (tmp_path / name).mkdir()
    run_some(made, tmp_path / "wanted")
    save(made, run_some(made, tmp_path / "out", batches=4), tmp_path / "saved")
    command = ["run", "main.spl", "--engine", "local", "--data", ".", "--out", "out", "--from", "saved", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "penstock.cli", *command], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["stopped"] == "done"
    assert files(tmp_path / "out") == files(tmp_path / "wanted")
