"""Every experiment runs with `--quick`, as `bench all --quick` runs them, and reports what the design asks for."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from penstock.bench import EXPERIMENTS
from penstock.bench.pages.results import page


def bench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock.cli", "bench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def experiment(name: str) -> pytest.ParameterSet:
    """Those that start Spark share a worker with the other tests that start a Spark of their own."""
    spec = find_spec(f"penstock.bench.{name.replace('-', '_')}")
    assert spec is not None
    assert spec.origin is not None
    on_spark = "spark" in Path(spec.origin).read_text()
    return pytest.param(name, marks=[pytest.mark.xdist_group("spark-commands")] if on_spark else [])


@pytest.mark.parametrize("name", [experiment(name) for name in EXPERIMENTS])
def test_an_experiment_reports_figures_checks_and_plots(name, tmp_path):
    done = bench(name, "--quick", "--json", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["name"] == name
    assert {"cores", "memory_gib", "python"} <= result["machine"].keys()
    assert result["results"]
    assert result["checks"]
    assert all({"name", "value", "bar", "holds"} <= check.keys() for check in result["checks"])
    assert result["plots"]
    assert all((tmp_path / plot["file"]).stat().st_size > 0 for plot in result["plots"])
    with (tmp_path / f"{name}.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(result["results"])
    assert f"# {name}\n" in page(json.loads((tmp_path / f"{name}.json").read_text()))


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
