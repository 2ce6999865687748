"""Options of `run`: when the clock starts, and where absolute file names are written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from penstock.cli import cli


def run(folder: Path, file: str, *options: str) -> Result:
    (folder / "app.spl").write_text(f"""
        composite Main {{ graph
          stream<timestamp t> A = Beacon() {{ param iterations: 2; period: 0.5; output A: t = getTimestamp(); }}
          () as S = FileSink(A) {{ param file: "{file}"; }} }}""")
    command = ["run", str(folder / "app.spl"), "--engine", "reference", "--out", str(folder / "out"), *options]
    return CliRunner().invoke(cli, command)


@pytest.mark.parametrize("time", ["2026-01-31T12:00:00", "2026-01-31T13:00:00+01:00", "1769860800", "1769860800.0"])
def test_the_clock_starts_when_the_user_says(tmp_path: Path, time: str) -> None:
    done = run(tmp_path, "o.csv", "--start-time", time)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "o.csv").read_text() == "(1769860800,0,0)\n(1769860800,500000000,0)\n"


def test_the_clock_starts_now(tmp_path: Path) -> None:
    assert run(tmp_path, "o.csv").exit_code == 0
    first, second = (int(line[1:11]) for line in (tmp_path / "out" / "o.csv").read_text().splitlines())
    assert 0 <= second - first <= 1
    assert first > 1_700_000_000


def test_what_is_not_a_time_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "o.csv", "--start-time", "noon")
    assert (done.exit_code, "`noon` is not a time" in done.output) == (2, True)


def test_absolute_names_are_written_where_a_map_says(tmp_path: Path) -> None:
    away = tmp_path / "away"
    options = ("--map", f"{away}=.", "--map", f"{away}/deep=inner")
    assert run(tmp_path, f"{away}/o.csv", *options).exit_code == 0
    assert run(tmp_path, f"{away}/deep/o.csv", *options).exit_code == 0
    assert run(tmp_path, f"{away}er.csv", *options).exit_code == 0
    assert not away.exists()
    written = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.csv"))
    assert written == ["awayer.csv", "out/inner/o.csv", "out/o.csv"]


def test_a_map_of_a_relative_folder_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "o.csv", "--map", "a=b")
    assert (done.exit_code, "is not FOLDER=DIR with an absolute FOLDER" in done.output) == (2, True)


def test_a_report_has_the_counts_behind_the_last_batch(tmp_path: Path) -> None:
    program = "composite Main { graph stream<int32 n> A = Beacon() { param iterations: 5u; } () as S = Discard(A) {} }"
    (tmp_path / "app.spl").write_text(program)
    report = tmp_path / "there" / "report.json"
    command = ["run", str(tmp_path / "app.spl"), "--out", str(tmp_path / "out"), "--report", str(report)]
    done = CliRunner().invoke(cli, [*command, "--engine", "local"])
    assert done.exit_code == 0, done.output
    found = json.loads(report.read_text())["applications"]["Main"]
    assert (found["submitted"], found["received"], found["batches"] > 0) == ({"A": [5]}, {"S": [5]}, True)
    assert list(report.parent.iterdir()) == [report]
    refused = CliRunner().invoke(cli, [*command, "--engine", "reference"])
    assert (refused.exit_code, "--report is for Spark and the local engine" in refused.output) == (2, True)
