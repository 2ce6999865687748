"""The command line where files, folders and the user's own code are not as they should be: a message, never a bug."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_command_line import penstock

SPL = """\
composite Main {
  graph
    stream<int32 x> A = Beacon() { param iterations: 3u; output A: x = (int32) IterationCount(); }
    () as S = FileSink(A) { param file: "out.csv"; }
}
"""
PYTHON = """\
from penstock import App

def app(rows: int, loud: bool = False):
    if loud:
        raise ValueError("too loud")
    app = App("Made")
    app.beacon("int32 x", iterations=rows).write_file("out.csv")
    return app

number = 5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ok.spl").write_text(SPL)
    (tmp_path / "made.py").write_text(PYTHON)
    (tmp_path / "broken.py").write_text("import penstock\n1 / 0\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "open.py").write_text("App(\n")
    (tmp_path / "typo.py").write_text("import penstock\npenstock.App('T').sorce\n")
    (tmp_path / "file").touch()
    (tmp_path / "folder.spl").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("check none.spl", "error: there is no file `none.spl`"),
        ("check folder.spl", "error: `folder.spl` is a folder, not a file"),
        ("check none:app", "error: `none` cannot be imported: there is no module `none`"),
        (
            "check broken:app",
            "broken.py:2:1: error: `broken` cannot be imported: ZeroDivisionError: division by zero\n",
        ),
        ("check leaves.py:app", "leaves.py:1:1: error: `leaves.py` cannot be imported: SystemExit: 3\n"),
        (
            "check open.py:app",
            "open.py:1:4: error: `open.py` cannot be imported: SyntaxError: '(' was never closed\n"
            "    1 | App(\n      |    ^",
        ),
        (
            "check typo.py:app",
            "typo.py:2:1: error: `typo.py` cannot be imported: AttributeError: "
            "'App' object has no attribute 'sorce'; did you mean `source`?\n    2 | penstock.App('T').sorce\n",
        ),
        ("check made.py:apq", "error: `made.py` has no `apq`; did you mean `app`?"),
        ("check made.py:app", "error: `made.py:app` needs a value for `rows`; add --set rows=VALUE"),
        ("check made.py:app --set rosw=1", "error: `made.py:app` has no parameter `rosw`; did you mean `rows`?"),
        ("check made.py:app --set rows=x", "error: `--set rows=x`: `x` is not int"),
        ("check made.py:app --set rows=1 --set loud=maybe", "error: `--set loud=maybe`: `maybe` is not bool"),
        (
            "check made.py:app --set rows=1 --set loud=true",
            "made.py:5:9: error: `made.py:app` fails: ValueError: too loud\n",
        ),
        ("check made.py:number", "error: `made.py:number` is `5`, not a penstock.App"),
        ("run ok.spl --out file/below", "error: cannot use `file/below`: Not a directory"),
        ("explain ok.spl --html file/page.html", "error: cannot use `file/page.html`: Not a directory"),
        ("run ok.spl --data none", "error: there is no data folder `none`"),
    ],
)
def test_what_is_wrong_around_a_program_is_explained(folder, arguments, message):
    done = penstock(*arguments.split(), cwd=folder)
    assert done.stderr.startswith(message)
    assert done.returncode == 1


def test_what_else_lies_beside_a_program_does_not_disturb_it(folder):
    done = penstock("check", "ok.spl", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_arguments_of_a_function_that_makes_an_application_come_from_set(folder):
    given = ("--set", "rows=2", "--set", "loud=false")
    done = penstock("run", "made.py:app", "--engine", "reference", *given, "--out", "o", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "o" / "out.csv").read_text() == "0\n0\n"


def test_a_file_may_start_with_a_byte_order_mark(folder):
    (folder / "marked.spl").write_text(SPL, encoding="utf-8-sig")
    assert penstock("check", "marked.spl", cwd=folder).returncode == 0


def test_the_toolkit_beside_a_program_may_be_named_too(folder):
    (folder / "toolkit").mkdir()
    (folder / "toolkit" / "twice.py").write_text(
        "from penstock import map_\n@map_\ndef Twice(t): return {'x': 2 * t.x}\n"
    )
    (folder / "tooled.spl").write_text(
        SPL.replace("FileSink(A)", "FileSink(B)").replace("() as", "stream<A> B = Twice(A) {}\n() as")
    )
    done = penstock("run", "tooled.spl", "--toolkit", "toolkit", "--engine", "reference", "--out", "o", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "o" / "out.csv").read_text() == "0\n2\n4\n"


def test_compile_time_values_come_from_set(folder):
    (folder / "compiled.spl").write_text(
        'composite Main { graph () as C = Custom() { logic onProcess: printStringLn(getCompileTimeValue("who")); } }'
    )
    done = penstock("run", "compiled.spl", "--engine", "reference", "--set", "who=Ann", cwd=folder)
    assert done.stdout.startswith("Ann\n"), done.stderr


@pytest.mark.parametrize(
    ("master", "message"),
    [
        ("lokal", "error: `lokal` is not the URL of a Spark master; write local[*] for this machine"),
        ("spark://127.0.0.1:1", "error: no Spark master answers at `spark://127.0.0.1:1`; start one there"),
    ],
)
def test_a_master_that_is_none_is_refused_at_once(folder, master, message):
    done = penstock("run", "ok.spl", "--master", master, cwd=folder)
    assert (done.returncode, message in done.stderr) == (1, True), done.stderr


def test_a_sink_may_write_to_a_device(folder):
    (folder / "device.spl").write_text(SPL.replace("out.csv", "/dev/null"))
    assert penstock("run", "device.spl", "--engine", "reference", cwd=folder).returncode == 0


def test_an_operator_that_cannot_start_is_shown_in_its_place(folder):
    source = 'stream<rstring s> A = DirectoryScan() { param directory: "none"; }'
    (folder / "scan.spl").write_text(f"composite Main {{\n  graph\n    {source}\n}}\n")
    done = penstock("run", "scan.spl", "--engine", "reference", cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("scan.spl:3:27: error: operator `A` (DirectoryScan) failed: it cannot start")


def test_an_interrupted_run_ends_with_130_and_whole_files(folder):
    (folder / "long.spl").write_text(SPL.replace("param iterations: 3u; ", ""))
    command = [sys.executable, "-m", "penstock.cli", "run", "long.spl", "--engine", "reference", "--out", "o"]
    running = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    written = folder / "o" / "out.csv"
    while running.poll() is None and not (written.exists() and written.stat().st_size):
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    lines = written.read_text().splitlines(keepends=True)
    assert lines == [f"{i}\n" for i in range(len(lines))]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("run ok.spl --checkpoint s3a://b/x", "--checkpoint `s3a://b/x`"),
        ("run ok.spl --out hdfs://h:9000/x", "--out `hdfs://h:9000/x`"),
        ("run ok.spl --data abfss://c@a/x", "--data `abfss://c@a/x`"),
        ("run remote.spl --engine reference", "the output `s3a://b/out.csv`"),
    ],
)
def test_a_place_that_is_not_local_is_refused_by_its_name(folder, arguments, named):
    (folder / "remote.spl").write_text(SPL.replace("out.csv", "s3a://b/out.csv"))
    before = {path.name for path in folder.iterdir()}
    done = penstock(*arguments.split(), cwd=folder)
    assert done.returncode == 1
    assert f"{named} is of the kind " in done.stderr
    assert {path.name for path in folder.iterdir()} == before


def test_a_file_uri_is_a_path(folder):
    options = ["--engine", "reference", "--out", f"file://{folder}/o"]
    (folder / "local.spl").write_text(SPL.replace("out.csv", f"file://{folder}/there/out.csv"))
    assert penstock("run", "local.spl", *options, cwd=folder).returncode == 0
    assert (folder / "there" / "out.csv").read_text() == "0\n1\n2\n"
    assert penstock("run", "ok.spl", *options, cwd=folder).returncode == 0
    assert (folder / "o" / "out.csv").read_text() == "0\n1\n2\n"
