"""What `penstock bench` prints for people."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from penstock.bench import Bench
from penstock.cli.bench import print_tables


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The tables of an experiment with two kinds of rows, on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    bench = Bench("trial", quick=True, out=tmp_path)
    for size in (10, 20):
        many = {f"a_rather_long_measure_{i}": size * 1000.0 + i for i in range(12)}
        bench.row(part="first", size=size, **many)
        bench.row(part="second", case="[bold]a :smile:", ratio=size / 30)
    bench.check("a check", 2.0, at_least=1.0)
    bench.check("another", 2.0, at_most=1.0)
    bench.write()
    print_tables(bench)
    return capsys.readouterr().out.splitlines()


def test_nothing_is_wider_than_the_terminal_or_cut_off(printed: list[str]) -> None:
    assert max(len(line.rstrip()) for line in printed) <= 80
    assert not any("…" in line for line in printed)


def test_rows_of_one_part_stand_together_under_its_name(printed: list[str]) -> None:
    text = "\n".join(line.strip() for line in printed)
    assert text.count("first") == text.count("second") == 1
    assert "[bold]a :smile:   0.3333\n[bold]a :smile:   0.6667" in text


def test_columns_that_do_not_fit_are_in_the_csv_and_said_to_be(printed: list[str], tmp_path: Path) -> None:
    text = " ".join(" ".join(printed).split())
    assert "and in trial.csv:" in text
    assert "a_rather_long_measure_11" in text.split("and in trial.csv:")[1]
    with (tmp_path / "trial.csv").open() as file:
        assert next(csv.DictReader(file))["a_rather_long_measure_11"] == "10011.0"


def test_a_check_that_does_not_hold_is_easy_to_see(printed: list[str]) -> None:
    lines = [line.split() for line in printed]
    assert ["a", "check", "2", "1", "yes"] in lines
    assert ["another", "2", "1", "NO"] in lines
