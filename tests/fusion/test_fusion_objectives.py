"""Which objective an answer is judged by, and that nothing but the answer is printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from penstock.cli import cli
from penstock.fusion import Settings, fuse, fusion_problem

SIX = {
    "operators": [{"id": name, "cost": 4} for name in "abcdef"],
    "streams": [
        {"from": one, "to": other, "cost": cost}
        for one, other, cost in zip("abcde", "bcdef", (3, 1, 3, 1, 2), strict=True)
    ],
    "hosts": [{"id": f"h{cores}", "capacity": 10 * cores, "cores": cores} for cores in (3, 2, 1)],
}


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock.cli", "fuse", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_nothing_but_the_answer_goes_to_standard_output(tmp_path: Path) -> None:
    path = tmp_path / "six.json"
    path.write_text(json.dumps(SIX))
    done = _run(str(path), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["algorithm"] == "throughput"


def test_metis_is_silent_where_parts_stay_empty(capfd: pytest.CaptureFixture[str]) -> None:
    streams = [(0, 1, 3), (1, 2, 1), (2, 3, 3), (3, 4, 1), (4, 5, 2)]
    fuse(fusion_problem([4] * 6, streams, [30, 20, 10], cores=[3, 2, 1]), "throughput")
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("algorithm", "objective"),
    [("none", "throughput"), ("greedy", "cut"), ("cola", "cut"), ("advanced-cola", "balance"), ("exact", "throughput")],
)
def test_an_answer_names_what_its_algorithm_is_made_for(algorithm: str, objective: str) -> None:
    assert fuse(fusion_problem([4, 2], [(0, 1, 3)], [10, 10]), algorithm).objective == objective


def test_exact_proves_a_different_answer_for_each_objective() -> None:
    """Light ends and heavy middles on hosts of two cores: together, balanced, or apart."""
    problem = fusion_problem([9, 9, 9, 9], [(0, 1, 4), (1, 2, 1), (2, 3, 4)], [40, 30], cores=[2, 2])
    found = {goal: fuse(problem, "exact", Settings(objective=goal)) for goal in ("cut", "balance", "throughput")}
    assert all(answer.optimal and answer.feasible for answer in found.values())
    assert found["cut"].objective_value == found["cut"].cut == 0.0
    assert found["cut"].cut < found["balance"].cut <= found["throughput"].cut
    assert found["throughput"].objective_value == found["throughput"].throughput_scale
    assert found["throughput"].throughput_scale > found["balance"].throughput_scale > found["cut"].throughput_scale


def test_what_is_proven_for_one_objective_is_not_claimed_for_another() -> None:
    problem = fusion_problem([9, 9], [(0, 1, 1)], [40], cores=[2])
    assert fuse(problem, "throughput").optimal
    judged = fuse(problem, "throughput", Settings(objective="cut"))
    assert (judged.objective, judged.objective_value, judged.optimal) == ("cut", 1.0, False)


def test_the_command_takes_an_objective_and_chooses_what_pursues_it(tmp_path: Path) -> None:
    path = tmp_path / "six.json"
    path.write_text(json.dumps(SIX))

    def fuse_file(*options: str) -> Result:
        return CliRunner().invoke(cli, ["fuse", str(path), *options])

    for objective, algorithm in (("cut", "cola"), ("balance", "advanced-cola"), ("throughput", "throughput")):
        answer = json.loads(fuse_file("--objective", objective, "--json").stdout)
        assert (answer["algorithm"], answer["objective"]) == (algorithm, objective)
    judged = fuse_file("--algorithm", "cola", "--objective", "balance", "--json")
    assert json.loads(judged.stdout)["objective"] == "balance"
    assert "note: `cola` pursues cut, and is judged by balance" in judged.stderr
    assert fuse_file("--objective", "speed").exit_code == 2
