"""`penstock optimize` and `run --plan` on Spark, as a user gives them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from penstock.cli import cli
from penstock.lang import compile_file
from spark_session import files, run_reference, session

pytestmark = pytest.mark.xdist_group("spark")

PROGRAM = """
composite Main {
  graph
    stream<int32 a, float64 b> In = FileSource() { param file: "in.csv"; format: csv; }
    stream<In> Half = Filter(In) { param filter: a % 2 == 0; }
    stream<float64 total> Sums = Aggregate(Half) { window Half: sliding, count(3); output Sums: total = Sum(b); }
    stream<Sums> Scaled = Functor(Sums) { output Scaled: total = total * 2.0; }
    () as Out = FileSink(Scaled) { param file: "out.csv"; format: csv; }
}
"""


@pytest.fixture
def application(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "in.csv").write_text("".join(f"{i},{i * 0.5}\n" for i in range(400)))
    (tmp_path / "main.spl").write_text(PROGRAM)
    session()
    return tmp_path


def penstock(*arguments: object) -> dict[str, object]:
    result = CliRunner().invoke(cli, [*map(str, arguments), "--json"], standalone_mode=False)
    assert result.exception is None, result.output
    return json.loads(result.stdout)


def test_the_best_plan_is_written_and_runs_as_the_reference_does(application):
    program, plan = application / "main.spl", application / "plan.json"
    command = ("optimize", program, "--master", "local[2]", "--iterations", 1, "--confirm", 0, "-o", plan)
    found = penstock(*command)
    first = found["iterations"][0]
    assert sorted(first["pes"]) == [["Half"], ["Scaled"], ["Sums"]]
    assert {run["channels"] for run in found["iterations"]} == {None, 2}
    assert first["channels"] is None
    assert all(run["throughput_tps"] > 0 for run in found["iterations"])
    assert json.loads(plan.read_text()) == found["plan"]
    again = penstock(*command)
    assert again["iterations"] == found["iterations"], "kept runs are not run again"
    assert " channels " in table(*command)

    out = application / "out"
    summary = penstock("run", program, "--master", "local[2]", "--plan", plan, "--out", out)
    assert sorted(map(sorted, summary["pes"][1:-1])) == sorted(map(sorted, found["plan"]["fusion"]))
    assert files(out) == run_reference(compile_file(program), application / "data")


def test_a_given_number_of_channels_is_the_only_one(application):
    program, plan = application / "main.spl", application / "plan.json"
    command = ("optimize", program, "--master", "local[2]", "--iterations", 1, "--confirm", 0, "--channels", 1, "-o")
    found = penstock(*command, plan)
    assert {run["channels"] for run in found["iterations"]} == {found["plan"]["channels"]} == {1}
    assert " channels " not in table(*command, plan)


def table(*arguments: object) -> str:
    result = CliRunner().invoke(cli, [*map(str, arguments)], standalone_mode=False)
    assert result.exception is None, result.output
    return result.stdout


def test_a_run_fuses_by_itself_and_leaves_a_profile_for_the_next(application):
    wanted = run_reference(compile_file(application / "main.spl"), application / "data")
    command = ("run", application / "main.spl", "--master", "local[2]")
    first = penstock(*command, "--out", application / "first")
    assert first["fusion"]["option"] == "auto"
    assert first["fusion"]["decided_by"] == "default"
    (kept,) = (application / "cache" / "profiles").iterdir()
    profile = json.loads(kept.read_text())
    assert {o["id"] for o in profile["operators"]} == {"In", "Half", "Sums", "Scaled", "Out"}
    again = penstock(*command, "--out", application / "again")
    assert again["fusion"]["decided_by"] == "profile"
    assert again["pes"] == first["pes"], "few tuples are not worth more PEs"
    assert files(application / "first") == files(application / "again") == wanted


def test_a_job_is_resumed_with_its_own_plan_whatever_it_was_chosen_by(application):
    command = ("run", application / "main.spl", "--master", "local[2]", "--checkpoint", application / "c")
    out = ("--out", application / "out")
    first = penstock(*command, *out, "--fusion", "none", "--channels", 2)
    resumed = penstock(*command, *out)
    assert resumed["resumed"]
    assert resumed["pes"] == first["pes"]
    assert resumed["fusion"]["decided_by"] == "checkpoint"
    assert files(application / "out") == run_reference(compile_file(application / "main.spl"), application / "data")


def test_an_algorithm_is_iterated_as_its_paper_does(application):
    plan = application / "plan.json"
    command = ("optimize", application / "main.spl", "--master", "local[2]", "--by", "cola", "--take", "first")
    found = penstock(*command, "--iterations", 3, "-o", plan)
    assert (found["by"], found["take"], found["chosen"]) == ("cola", "first", 1)
    assert [run["gamma"] for run in found["iterations"]] == [0.0, 0.5]
    assert json.loads(plan.read_text())["fusion"] == found["iterations"][1]["pes"]
