"""Every experiment runs with `--quick` and reports what the design asks for."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from quick_run import GROUPS, quick_results

from penstock.bench.pages.results import page


def bench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock.cli", "bench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.parametrize(
    ("name", "names"),
    [
        pytest.param(name, names, id=name, marks=pytest.mark.xdist_group(group))
        for names, group in GROUPS.items()
        for name in names
    ],
)
def test_an_experiment_reports_figures_checks_and_plots(name, names):
    folder = quick_results(names)
    error = folder / f"{name}.error"
    assert not error.exists(), error.read_text()
    result = json.loads((folder / f"{name}.json").read_text())
    assert result["name"] == name
    assert {"cores", "memory_gib", "python"} <= result["machine"].keys()
    assert result["results"]
    assert result["checks"]
    assert all({"name", "value", "bar", "holds"} <= check.keys() for check in result["checks"])
    # What the machine's speed has a say in is no matter for a test.
    assert [check for check in result["checks"] if not check["holds"] and not check["timed"]] == []
    assert result["plots"]
    assert all((folder / plot["file"]).stat().st_size > 0 for plot in result["plots"])
    with (folder / f"{name}.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(result["results"])
    assert f"# {name}\n" in page(result)


def test_several_experiments_run_one_after_the_other_and_are_summed_up(tmp_path):
    done = bench("soda", "epochs", "--quick", "--json", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [result["name"] for result in summary["results"]] == ["soda", "epochs"]
    assert {check["name"].split(":")[0] for check in summary["checks"]} == {"soda", "epochs"}
    assert "epochs, 2 of 2" in done.stderr
    assert (tmp_path / "soda.json").exists()


def test_an_unknown_experiment_is_named_with_a_suggestion(tmp_path):
    done = bench("sodo", "-o", tmp_path)
    assert (done.returncode, "there is no experiment `sodo`; did you mean `soda`?" in done.stderr) == (1, True)
