"""The wheel has what it needs, declares what it needs, and runs the demo without the clone."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INDIRECT = {
    "pandas": "Spark's transformWithState hands over pandas frames",
    "protobuf": "Spark's transformWithState talks to its Python worker by it",
}
"""What no module imports, but Spark needs for what we call."""

IF_INSTALLED = {"psycopg", "vega-datasets"}
"""Imported where a user asks for what only they can do; extras declare them."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-q", "-w", folder]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (made,) = folder.glob("*.whl")
    return made


def imported() -> set[str]:
    """The packages that some module of ours imports, by the names that they are installed by."""
    names: set[str] = set()
    for path in (ROOT / "src/penstock").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names.add(node.module.partition(".")[0])
    known = packages_distributions()
    others = names - set(sys.stdlib_module_names) - {"penstock"}
    return {_normal(known[name][0]) if name in known else name for name in others}


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {_normal(re.split(r"[\[<>=!~; ]", text)[0]) for text in project["dependencies"]}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_package_declares_exactly_what_it_needs():
    assert imported() - declared() - IF_INSTALLED == set()
    assert declared() - imported() == set(INDIRECT) - imported()


def test_everything_that_is_declared_is_locked():
    pins = re.findall(r"^([A-Za-z0-9._-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    lock = {_normal(name) for name in pins}
    assert declared() <= lock


def test_the_wheel_holds_every_file_of_the_package_and_those_of_the_demo(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    ours = {
        str(path.relative_to(source))
        for path in (source / "penstock").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert ours <= held
    assert "penstock/demo/bargains/bargains.spl" in held


@pytest.mark.xdist_group("spark-commands")
def test_the_demo_runs_from_the_installed_wheel(wheel, tmp_path):
    """The dependencies are those of this environment; penstock itself is found in the new one alone."""
    venv.create(tmp_path / "venv", symlinks=True)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    call = [tmp_path / "venv/bin/python", "-m", "penstock.cli", "demo", "--ticks", "3000", "--json", "--out", "results"]
    done = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["bargains"] > 10
    assert figures["unfused_pes"] == 32
    assert len(figures["optimized_pes"]) < 10
    assert "10 of 10" in done.stderr
    assert (tmp_path / "results/report.html").read_text().startswith("<!doctype html>")
    assert len((tmp_path / "results/bargains.csv").read_text().splitlines()) == figures["bargains"]
