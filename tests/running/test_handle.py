"""A run in the background: it tells how far it is, stops in order, and raises what went wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from penstock import App, Infeasible, Stream, UserError, agg, col, submission_value

ENDLESS = (
    'from penstock import App\napp = App("Endless")\napp.beacon("int32 x").for_each(lambda t: None, name="Sink")\n'
)


def endless() -> App:
    app = App("Endless")
    app.beacon("uint64 n", n=agg.iteration_count(), name="Numbers").for_each(lambda t: None, name="Sink")
    return app


def failing() -> App:
    app = App("Failing")
    app.from_rows([(1,), (0,)], "int32 x").map(lambda t: (1 // t.x,)).named("Inverse").for_each(lambda t: None)
    return app


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_run_goes_on_in_the_background_until_it_is_stopped(engine):
    run = endless().run(engine, batch=100)
    assert (run.status, repr(run)) == ("running", f"<Run of Endless on {engine}: running>")
    assert run.wait(0.05).status == "running"
    run.stop()
    assert run.wait().status == "interrupted"
    assert run.totals["Sink"].received == run.totals["Numbers"].submitted > 0
    run.stop()
    run.stop()
    assert run.wait().status == "interrupted"


def test_seconds_are_a_limit():
    app = App()
    app.beacon("int32 x", period=1.0).for_each(lambda t: None, name="Sink")
    run = app.run("reference", seconds=10).wait()
    assert (run.status, run.totals["Sink"].received) == ("time", 11)


def test_a_block_stops_what_it_started():
    with endless().run("reference") as run:
        assert run.status == "running"
    assert run.status == "interrupted"


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_what_went_wrong_is_raised_with_its_place_and_nothing_of_ours(engine):
    run = failing().run(engine)
    with pytest.raises(UserError) as caught:
        run.wait()
    text = str(caught.value)
    assert "error: operator `Inverse` (function) failed on {x=0}: ZeroDivisionError" in text
    assert text.startswith(("tests/running/test_handle.py:", str(Path(__file__))))
    assert "^~~" in text
    assert run.status == "failed"
    with pytest.raises(UserError):
        run.wait()


def test_a_failed_run_counts_what_it_cannot_know_as_nothing():
    run = failing().run("reference")
    with pytest.raises(UserError):
        run.wait()
    assert run.totals == {}


def test_progress_is_told_while_a_run_goes_on():
    with endless().run("local", batch=100) as run:
        while run.progress.batches < 3:
            run.wait(0.01)
        assert run.totals["Sink"].received >= 300


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_ctrl_c_stops_a_run_in_order(engine):
    run = endless().run(engine, batch=100)
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    assert run.wait().status == "interrupted"


def script(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "script.py").write_text(text)
    return subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )


def test_a_script_that_does_not_wait_runs_to_the_end(tmp_path):
    done = script(
        tmp_path,
        "from penstock import App, after, source\nimport time\n"
        "@source\ndef slow():\n    for n in range(3):\n        time.sleep(0.2)\n        yield n\n"
        'app = App("Slow")\napp.source(slow, "int32 n").print(format="csv")\napp.run("reference")\nprint("end")\n',
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n0\n1\n2\n", "")


def test_a_script_that_does_not_wait_is_told_what_went_wrong(tmp_path):
    done = script(
        tmp_path,
        'from penstock import App\napp = App("Bad")\n'
        'app.from_rows([0], "int32 x").map(lambda t: 1 // t.x).print()\napp.run("reference")\n',
    )
    assert "script.py:3:1: error: operator `function` (function) failed on {x=0}: ZeroDivisionError" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_script_is_stopped_by_ctrl_c_in_order(tmp_path):
    (tmp_path / "script.py").write_text(
        f'{ENDLESS}run = app.run("reference")\nprint("on", flush=True)\nprint(run.wait())\n'
    )
    process = subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "on\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "<Run of Endless on reference: interrupted>\n"
    assert process.returncode == 0


def numbers() -> Stream:
    return App().from_rows([(1,), (2,), (3,)], "int32 x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "sparc"}, "there is no engine `sparc`; did you mean `spark`?"),
        ({"chanels": 2}, "a run has no option `chanels`; did you mean `channels`?"),
        ({"channels": 0}, "`channels` is a number of at least 1, or 'auto', found 0"),
        ({"channels": True}, "`channels` is a number of at least 1, or 'auto', found True"),
        ({"fusion": "colla"}, "there is no way to fuse called `colla`; did you mean `cola`?"),
        ({"seconds": "5"}, "`seconds` is a number of seconds, found '5'"),
        ({"batch": 0}, "`batch` is a number of tuples of at least 1, found 0"),
        ({"set": "a=1"}, "`set` takes values by name, found 'a=1'"),
        ({"data": "/no/such/folder"}, "there is no data folder `/no/such/folder`"),
        ({"spark": 3, "engine": "spark"}, "`spark` is a SparkSession, found 3"),
        (
            {"engine": "local", "fusion": "cola"},
            "`fusion='cola'` weighs the costs of a cluster; the local engine takes",
        ),
        ({"engine": "local", "checkpoint": "c"}, "`checkpoint` is for Spark: the local engine keeps nothing"),
    ],
)
def test_a_wrong_option_is_explained_at_once(options, message):
    stream = numbers()
    stream.print()
    with pytest.raises(UserError) as caught:
        stream.app.run(**{"engine": "reference", **options})
    assert message in str(caught.value)


def test_submission_values_and_folders_are_given_to_a_run(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "n.csv").write_text("1\n5\n9\n")
    app = App("Folders")
    read = app.read_csv("n.csv", "int32 x").filter(col.x > submission_value("least", type="int32"))
    read.write_csv("out.csv")
    run = app.run("reference", data=tmp_path / "in", out=tmp_path / "made" / "here", set={"least": 4}).wait()
    assert run.status == "done"
    assert (tmp_path / "made" / "here" / "out.csv").read_text() == "5\n9\n"


def test_an_application_that_is_not_complete_is_refused_at_once():
    app = App()
    app.feedback("int32 x")
    for call in (app.check, app.explain, lambda: app.run("reference")):
        with pytest.raises((UserError, Infeasible), match="is never connected"):
            call()
