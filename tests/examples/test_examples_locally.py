"""Every example gives the same on the local engine as on the reference, as the command runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli import cli

MADE = {
    "bargains/bargains.spl": ("ticks.csv", {"ticks": 3000, "symbols": 9}),
    "bargains/bargains.py:app": ("ticks.csv", {"ticks": 2000, "symbols": 9}),
    "finance/finance.spl": ("", {"ticks": 800, "symbols": 6}),
    "network_monitoring/network_monitoring.spl": ("", {"seconds": 8}),
    "opengov/opengov.spl": ("", {"companies": 60, "days": 60}),
    "opengov/opengov.py:app": ("", {"companies": 60, "days": 60}),
    "pagerank/pagerank.spl": ("", {"pages": 40}),
    "radio_astronomy/radio_astronomy.py:app": ("samples.csv", {"samples": 3000, "antennas": 2, "rare": 500}),
    "templates/templates.spl": ("readings.csv", {"readings": 3000}),
    "twitter_cep/twitter_cep.spl": ("", {"tweets": 300, "authors": 8}),
    "twitter_nlp/twitter_nlp.spl": ("", {"tweets": 120}),
}
"""Applications, where the data goes that `generate.py` makes, and how much of it."""

MORE = {"templates/templates.spl": ["--main", "Basic"], "pagerank/pagerank.spl": ["--set", "rounds=4"]}


def run(app: Path | str, data: Path, out: Path, *more: str) -> dict[str, object]:
    arguments = ["run", str(app), "--data", str(data), "--out", str(out), "--json", *more]
    found = CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=False)
    summary = json.loads(found.stdout)
    files = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    return {"operators": summary["operators"], "stopped": summary["stopped"], "files": files}


def assert_same(app: str, data: Path, tmp_path: Path, *more: str) -> None:
    wanted = run(app, data, tmp_path / "reference", "--engine", "reference", *more)
    assert any(wanted["files"].values())
    for i, options in enumerate([[], ["--channels", "3", "--fusion", "none", "--batch", "500"]]):
        assert run(app, data, tmp_path / f"local-{i}", "--engine", "local", *options, *more) == wanted


@pytest.mark.parametrize("app", MADE)
def test_an_example_gives_the_same(app, example, examples, tmp_path):
    folder, _, _ = app.partition("/")
    data, (file, sizes) = tmp_path / "data", MADE[app]
    data.mkdir()
    example(f"{folder}/generate.py").generate(data / file, **sizes)
    assert_same(str(examples / app), data, tmp_path, *MORE.get(app, ()))


@pytest.mark.parametrize("app", ["sessions/sessions.spl", "sessions/sessions.py:app"])
def test_sessions_give_the_same(app, examples, tmp_path):
    assert_same(str(examples / app), examples / "sessions", tmp_path)
