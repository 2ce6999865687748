"""`--log-format json`: every line of standard error is JSON."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from penstock.cli.output.json_log import JsonLog

PROGRAM = """composite Main {{ graph
  stream<int64 i> Numbers = Beacon() {{ param iterations: {count}u; output Numbers: i = (int64) IterationCount(); }}
  stream<Numbers> Checked = Custom(Numbers) {{ logic onTuple Numbers: {{
    assert(i < 50l); submit(Numbers, Checked); }} }}
  () as Sink = FileSink(Checked) {{ param file: "out.csv"; }} }}"""


def run(tmp_path, *options, count=10, variable=""):
    (tmp_path / "app.spl").write_text(PROGRAM.format(count=count))
    command = [sys.executable, "-m", "penstock.cli", "run", "app.spl", "--engine", "local", "--out", "out", *options]
    import os

    environment = {**os.environ, "PENSTOCK_LOG_FORMAT": variable}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    return done, [json.loads(line) for line in done.stderr.splitlines() if options or variable]


@pytest.mark.parametrize(("options", "variable"), [(("--log-format", "json"), ""), ((), "json")])
def test_progress_is_a_line_of_figures(tmp_path, options, variable):
    done, lines = run(tmp_path, *options, variable=variable)
    assert done.returncode == 0
    (batch,) = [line for line in lines if "batch" in line]
    assert (batch["level"], batch["application"], batch["batch"], batch["tuples_in"]) == ("info", "Main", 0, 10)
    assert batch["tuples_out"] == 10
    assert batch["message"].startswith("batch 0: ")
    assert {"time", "level", "message"} <= set(lines[0])


def test_an_error_is_one_line_with_its_level(tmp_path):
    done, lines = run(tmp_path, "--log-format", "json", count=60)
    assert done.returncode == 1
    assert lines[-1]["level"] == "error"
    assert "`Checked`" in lines[-1]["message"]
    assert "^" in lines[-1]["message"]


def test_without_it_messages_are_text(tmp_path):
    done, _ = run(tmp_path)
    assert done.stderr.startswith("batch 0: ")


def test_pieces_of_a_line_are_put_together():
    out = io.StringIO()
    log = JsonLog(out)
    for piece in ("a ", "b", "\n", "\n", "warning: c\n  d\n", "rest"):
        log.write(piece)
    assert [(line["level"], line["message"]) for line in map(json.loads, out.getvalue().splitlines())] == [
        ("info", "a b"),
        ("warning", "warning: c\n  d"),
    ]
