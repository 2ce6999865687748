"""`penstock run --engine local`: its options, its summary, and how fast it starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from penstock.base.diagnostics import UserError
from penstock.cli import cli
from penstock.lang import compile_file
from penstock.optimizer import PlanFile, fingerprint, write_plan

PROGRAM = """composite Main { graph
  stream<int32 k, int32 x> A = Beacon() {
    param iterations: 90u; output A: k = (int32) IterationCount() % 3, x = (int32) IterationCount() % 10;
  }
  @catch(exception=all)
  stream<int32 k, int32 x> B = Functor(A) { output B: x = 90 / x; }
  stream<int32 k, int32 t> C = Aggregate(B) {
    window B: tumbling, count(5), partitioned; param partitionBy: k; output C: t = Sum(x);
  }
  () as S = FileSink(C) { param file: "out.csv"; }
}"""


@pytest.fixture
def app(tmp_path: Path) -> str:
    path = tmp_path / "app.spl"
    path.write_text(PROGRAM)
    return str(path)


def run(app: str, *more: str) -> Result:
    arguments = ["run", app, "--engine", "local", "--json", *more]
    return CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=False)


def test_the_summary_tells_batches_pes_and_dead_letters(app, tmp_path):
    summary = json.loads(run(app, "--out", str(tmp_path / "out"), "--batch", "40", "--fusion", "none").stdout)
    assert (summary["engine"], summary["stopped"], summary["batches"]) == ("local", "done", 3)
    assert summary["pes"] == [["A"], ["B"], ["C"], ["S"]]
    assert list(summary["operators"]) == ["A", "B", "C", "S"]
    assert summary["operators"]["B"] == {"received": [90], "submitted": [81], "rejected": 9, "late": 0, "expired": 0}
    assert Path(summary["dead_letters_file"]).read_bytes().count(b"\n") == 9


@pytest.mark.parametrize("more", [["--channels", "3"], ["--channels", "auto"], ["--fusion", "all"], ["--until-done"]])
def test_options_of_a_plan_change_nothing(more, app, tmp_path):
    run(app, "--out", str(tmp_path / "one"))
    run(app, "--out", str(tmp_path / "two"), *more)
    assert (tmp_path / "one" / "out.csv").read_bytes() == (tmp_path / "two" / "out.csv").read_bytes()


@pytest.mark.parametrize(
    "more",
    [
        ["--checkpoint", "c"],
        ["--master", "local[2]"],
        ["--take-over"],
        ["--accept-changed-code"],
        ["--profile", "p.json"],
    ],
    ids=lambda more: more[0],
)
def test_options_of_spark_are_refused(more, app):
    with pytest.raises(click.UsageError, match=rf"{more[0]} is for Spark: the local engine"):
        run(app, *more)


def test_a_fusion_that_weighs_costs_is_refused(app):
    with pytest.raises(UserError, match="`--fusion cola` weighs the costs of a cluster"):
        run(app, "--fusion", "cola")


def test_a_plan_by_optimize_is_taken(app, tmp_path):

    path, made = tmp_path / "plan.json", fingerprint(compile_file(Path(app)).application)
    write_plan(PlanFile(application="Main", fingerprint=made, fusion=(("B",), ("C",)), channels=2), path)
    summary = json.loads(run(app, "--out", str(tmp_path / "out"), "--plan", str(path)).stdout)
    assert ["B"] in summary["pes"]


def test_a_loop_may_lead_through_batches(tmp_path):
    app = tmp_path / "loop.spl"
    app.write_text(
        """composite Main { graph
        stream<int32 n> A = Beacon() { param iterations: 3u; output A: n = (int32) IterationCount() + 3; }
        stream<int32 n> L = Custom(A, B as I) { logic onTuple I: { if (n > 0) submit({n = n - 1}, L); } }
        stream<int32 n> B = Functor(L) { }
        () as S = FileSink(B) { param file: "out.csv"; } }"""
    )
    inside = json.loads(run(str(app), "--out", str(tmp_path / "one")).stdout)
    batches = json.loads(run(str(app), "--out", str(tmp_path / "two"), "--loops", "batches").stdout)
    assert (tmp_path / "one" / "out.csv").read_bytes() == (tmp_path / "two" / "out.csv").read_bytes()
    assert inside["batches"] < batches["batches"]


def test_it_imports_nothing_of_spark_and_no_solver(app, tmp_path):
    code = """
import sys
from penstock.cli import cli
cli.main(sys.argv[1:], standalone_mode=False)
heavy = {"pyspark", "py4j", "scipy", "networkx", "matplotlib"} & set(sys.modules)
sys.exit(f"imported: {heavy}" if heavy else 0)
"""
    command = [sys.executable, "-c", code, "run", app, "--engine", "local", "--out", str(tmp_path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
