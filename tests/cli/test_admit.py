"""`penstock admit` as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penstock.base.diagnostics import Infeasible, UserError
from penstock.bench.workloads.soda_jobs import RANKS, published_importance, published_mips
from penstock.cli.admit import command


def published_document(percent: int) -> dict[str, Any]:
    """The paper's jobs in the documented format."""
    points: dict[str, dict[float, float]] = {name: {} for name in RANKS}
    for row, mips in published_mips().items():
        for name, amount in mips.items():
            points[name][amount] = max(points[name].get(amount, 0), published_importance()[row][name])
    jobs = []
    for name, rank in RANKS.items():
        table = sorted([x, y] for x, y in points[name].items())
        output = {"stream": f"{name}.s", "rate": {"table": table}, "value": {"linear": 1}}
        pe = {"id": f"{name}.pe", "min_mips": table[0][0], "max_mips": table[-1][0], "inputs": [], "outputs": [output]}
        template = {"id": "only", "pes": [pe]}
        jobs.append({"id": name, "rank": rank, "required": rank == 1, "templates": [template]})
    return {"mips": 11_000 * percent, "jobs": jobs}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_document(document: object) -> str:
        path = tmp_path / "jobs.json"
        path.write_text(json.dumps(document))
        return str(path)

    return write_document


def penstock(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; from penstock.cli import main; sys.argv[0] = 'penstock'; main()"
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)


def test_the_answer_has_the_documented_shape(write: Any) -> None:
    result = CliRunner().invoke(command, [write(published_document(60)), "--json"], catch_exceptions=False)
    answer = json.loads(result.stdout)
    assert answer["importance"] >= sum(published_importance()[60].values())
    assert set(answer) >= {"importance", "waterline", "mips_used", "granularity", "seconds", "jobs"}
    assert answer["mips_used"] <= 660_000
    a = answer["jobs"]["A"]
    assert a["admitted"]
    assert a["template"] == "only"
    assert a["pes"] == {"A.pe": a["mips"]}
    left_out = next(verdict for verdict in answer["jobs"].values() if not verdict["admitted"])
    assert left_out == {"admitted": False, "template": None, "mips": 0.0, "importance": 0.0, "pes": {}}


def test_a_person_gets_a_table_and_a_summary(write: Any) -> None:
    result = CliRunner().invoke(command, [write(published_document(100))], catch_exceptions=False)
    assert "1 required" in result.stdout
    assert "importance 5,042 with 19 of 19 jobs, waterline 3" in " ".join(result.stdout.split())


def test_names_are_printed_as_they_are(write: Any) -> None:
    document = published_document(100)
    document["jobs"][18]["id"] = "[/red] :smile:"
    result = CliRunner().invoke(command, [write(document)], catch_exceptions=False)
    assert "[/red] :smile:" in result.stdout


def test_an_infeasible_problem_exits_3_and_names_the_jobs(write: Any) -> None:
    done = penstock("admit", write(published_document(20)), "--json")
    assert done.returncode == 3
    answer = json.loads(done.stdout)
    assert answer["feasible"] is False
    assert "275000 mips" in answer["reason"]
    assert set(answer["conflicts"]) <= set("ABCDEFG")
    assert "no feasible solution" in done.stderr


def test_a_bad_file_exits_1_with_all_its_mistakes(write: Any) -> None:
    document = published_document(50)
    document["jobs"][0]["rank"] = 0
    document["jobs"][1]["templates"] = []
    done = penstock("admit", write(document), "--json")
    assert done.returncode == 1
    assert len(json.loads(done.stdout)["errors"]) == 2
    assert "the rank of job `A` is 0" in done.stderr


def test_the_example_of_the_help_text_runs(tmp_path: Path) -> None:
    help_text = CliRunner().invoke(command, ["--help"]).stdout
    document = help_text.split("$ cat jobs.json")[1].split("$ penstock admit")[0]
    path = tmp_path / "jobs.json"
    path.write_text(document)
    result = CliRunner().invoke(command, [str(path), "--deadline", "5", "--json"], catch_exceptions=False)
    assert json.loads(result.stdout)["importance"] == pytest.approx(54.0)


def test_mistakes_in_jobs_and_nodes_are_reported_together(write: Any) -> None:
    document = published_document(50) | {"nodes": [{"id": "n1", "mips": -1}]}
    document["jobs"][0]["rank"] = 0
    with pytest.raises(UserError) as caught:
        CliRunner().invoke(command, [write(document), "--place"], catch_exceptions=False)
    assert "the rank of job `A` is 0" in str(caught.value)
    assert "the mips of node `n1` is negative: -1" in str(caught.value)


def test_admitted_pes_are_placed_on_nodes(write: Any) -> None:
    document = published_document(100) | {"nodes": [{"id": f"n{i}", "mips": 110_000} for i in range(10)]}
    result = CliRunner().invoke(
        command, [write(document), "--place", "--deadline", "10", "--json"], catch_exceptions=False
    )
    placed = json.loads(result.stdout)["placement"]["pes"]
    assert set(placed) == {f"{name}.pe" for name in RANKS}
    assert set(placed["A.pe"]["mips"]) <= {f"n{i}" for i in range(10)}


def test_without_jobs_that_fit_the_command_raises_what_main_turns_into_3(write: Any) -> None:
    with pytest.raises(Infeasible):
        CliRunner().invoke(command, [write(published_document(20))], catch_exceptions=False)
