"""The command line, as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def penstock(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, timeout=120)


WRONG = """\
composite Main {
  graph
    stream<int32 id, float64 price> Bids = FileSource() { param file: "bids.csv"; format: cvs; }
    stream<int32 id> High = Filter(Bids) { param filter: prise > 10.0; }
    stream<rstring note> Notes = Functor(Bids) { output Notes: note = price; }
}
"""

GOOD = """\
composite Main {
  graph
    stream<int32 id, float64 price> Bids = FileSource() { param file: "bids.csv"; format: csv; parsing: permissive; }
    () as Sink = FileSink(Bids) { param file: "out.csv"; format: csv; }
}
"""


def test_three_mistakes_get_three_messages_with_carets(tmp_path):
    (tmp_path / "wrong.spl").write_text(WRONG)
    done = penstock("check", "wrong.spl", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count(": error: ") == 3
    assert done.stderr.count("^") == 3
    assert "wrong.spl:3:" in done.stderr
    assert "did you mean `csv`?" in done.stderr
    assert "wrong.spl:4:" in done.stderr
    assert "did you mean `price`?" in done.stderr
    assert "wrong.spl:5:" in done.stderr
    assert "Traceback" not in done.stderr


def test_errors_are_json_when_asked_for(tmp_path):
    (tmp_path / "wrong.spl").write_text(WRONG)
    done = penstock("check", "wrong.spl", "--json", cwd=tmp_path)
    errors = json.loads(done.stdout)["errors"]
    assert done.returncode == 1
    assert [(e["file"], e["line"]) for e in errors] == [("wrong.spl", 3), ("wrong.spl", 4), ("wrong.spl", 5)]


def test_a_good_program_is_checked_explained_and_drawn(tmp_path):
    (tmp_path / "good.spl").write_text(GOOD)
    assert (
        penstock("check", "good.spl", cwd=tmp_path).stdout
        == "Main: 2 operators, 1 streams, 1 subscriptions, no errors\n"
    )
    text = penstock("explain", "good.spl", cwd=tmp_path).stdout
    assert "FileSource" in text
    assert "Bids" in text
    graph = json.loads(penstock("explain", "good.spl", "--json", cwd=tmp_path).stdout)
    assert [o["id"] for o in graph["operators"]] == ["Bids", "Sink"]
    assert penstock("explain", "good.spl", "--html", "graph.html", cwd=tmp_path).returncode == 0
    page = (tmp_path / "graph.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


def test_the_generated_stage_shows_pes_edges_and_code(tmp_path):
    app = EXAMPLES / "bargains/bargains.spl"
    text = penstock("explain", app, "--stage", "generated").stdout
    assert "PE 0, source: Ticks" in text
    assert "edge 0: Ticks to PE 1" in text
    assert "# Group0.Trades: Functor" in text
    assert "PE 2, sink: Sink" in text
    plan = json.loads(penstock("explain", app, "--stage", "generated", "--fusion", "none", "--json").stdout)
    assert len(plan["pes"]) == 32
    assert all(pe["code"] for pe in plan["pes"] if pe["role"] not in ("source", "sink"))


def test_the_fused_stage_shows_the_pes_of_a_fusion_or_of_a_plan(tmp_path):
    app = EXAMPLES / "bargains/bargains.spl"
    text = penstock("explain", app, "--stage", "fused", "--channels", "2").stdout
    assert "PE 1, stateful on 2 channels: Group0.Trades, " in text
    assert "PE 2, stateful: Market, Report\n  edge 6: Report to PE 3\nPE 3, sink: Sink\n" in text
    parts = json.loads(penstock("explain", app, "--stage", "fused", "--fusion", "none", "--json").stdout)["pes"]
    graph = json.loads(penstock("explain", app, "--json").stdout)
    inner = [pe["operators"] for pe in parts if pe["role"] not in ("source", "sink")]
    assert len(inner) == 30
    (tmp_path / "other.json").write_text(
        json.dumps({"version": 1, "application": graph["name"], "fingerprint": "0", "fusion": inner, "channels": 1})
    )
    refused = penstock("explain", app, "--stage", "fused", "--plan", tmp_path / "other.json")
    assert (refused.returncode, "has changed since the plan was made" in refused.stderr) == (1, True), refused.stderr


def test_malformed_rows_are_set_aside_and_counted(tmp_path):
    (tmp_path / "good.spl").write_text(GOOD)
    (tmp_path / "bids.csv").write_text("1,2.5\nx,3.0\n2,4.5\n3\n")
    done = penstock("run", "good.spl", "--engine", "reference", "--json", cwd=tmp_path)
    summary = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.csv").read_text() == "1,2.5\n2,4.5\n"
    assert summary["dead_letters"] == 2
    assert summary["operators"]["Bids"] == {"received": [], "submitted": [2], "rejected": 2, "late": 0, "expired": 0}
    letters = [json.loads(line) for line in (tmp_path / "dead_letters.jsonl").read_text().splitlines()]
    assert [letter["operator"] for letter in letters] == ["Bids", "Bids"]
    assert [letter["record"] for letter in letters] == ["x,3.0", "3"]


def test_the_first_malformed_row_ends_a_strict_run(tmp_path):
    (tmp_path / "good.spl").write_text(GOOD.replace(" parsing: permissive;", ""))
    (tmp_path / "bids.csv").write_text("1,2.5\nx,3.0\n")
    done = penstock("run", "good.spl", "--engine", "reference", cwd=tmp_path)
    assert done.returncode == 1
    assert "operator `Bids` (FileSource) failed" in done.stderr
    assert "x,3.0" in done.stderr
    assert (tmp_path / "out.csv").read_text() == "1,2.5\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["check", "nothing.spl"], 1, "there is no file `nothing.spl`"),
        (["check", "nothing.py:app"], 1, "there is no file `nothing.py`"),
        (["check", "no_such_module:app"], 1, "there is no module `no_such_module`"),
        (["check", "app"], 1, "`app` is not an application"),
        (["check"], 2, "Missing argument"),
        (["run", "x.spl", "--engin", "reference"], 2, "--engine"),
        (["run", "x.spl", "--set", "novalue"], 2, "`novalue` is not NAME=VALUE"),
        (["chek"], 2, "there is no command `chek`"),
        (["explain", "x.spl", "--stage", "nowhere"], 2, "nowhere"),
    ],
)
def test_bad_calls_say_what_is_wrong(arguments, status, message, tmp_path):
    done = penstock(*arguments, cwd=tmp_path)
    assert done.returncode == status
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_python_applications_are_found_by_file_and_factory(tmp_path):
    app = EXAMPLES / "bargains/bargains.py"
    assert penstock("check", f"{app}:app").stdout == "Bargains: 32 operators, 31 streams, 43 subscriptions, no errors\n"
    assert (
        penstock("check", f"{app}:app", "--set", "groups=2").stdout
        == "Bargains: 18 operators, 17 streams, 23 subscriptions, no errors\n"
    )
    wrong = penstock("check", f"{app}:ap")
    assert (wrong.returncode, "did you mean `app`?" in wrong.stderr) == (1, True)
    wrong = penstock("check", f"{app}:app", "--set", "groups=two")
    assert (wrong.returncode, "`two` is not int" in wrong.stderr) == (1, True)


def test_a_mistake_in_python_is_located_in_the_users_file(tmp_path):
    (tmp_path / "app.py").write_text(
        "from penstock import App, col\n"
        "app = App('Wrong')\n"
        "bids = app.read_file('bids.csv', 'int32 id, float64 price')\n"
        "bids.filter(col.prise > 10.0)\n"
    )
    done = penstock("check", "app.py:app", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("app.py:4:1: error: there is no attribute `prise`")
    assert "did you mean `price`?" in done.stderr


def test_submission_values_reach_the_program(tmp_path):
    (tmp_path / "app.spl").write_text(
        "composite Main { graph\n"
        '  stream<rstring s> A = Beacon() { param iterations: 1u; output A: s = getSubmissionTimeValue("name"); }\n'
        '  () as Sink = FileSink(A) { param file: "out.csv"; }\n}\n'
    )
    done = penstock("run", "app.spl", "--engine", "reference", "--set", "name=x", "--out", "results", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results/out.csv").read_text() == '"x"\n'
    missing = penstock("run", "app.spl", "--engine", "reference", cwd=tmp_path)
    assert missing.returncode == 1
    assert "--set name=" in missing.stderr
