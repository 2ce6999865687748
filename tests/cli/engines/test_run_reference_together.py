"""Applications that exchange streams on the reference: run together, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli.run import command

FIRST = """composite First { graph
    stream<int32 x> Numbers = Beacon() { param iterations: 6u; output Numbers: x = (int32) IterationCount(); }
    () as Out = Export(Numbers) { param properties: {kind = "numbers", level = 3}; } }"""
SECOND = """composite Second { graph
    stream<int32 x> Numbers = Import() { param subscription: kind == "numbers" && level > 2; }
    () as Sink = FileSink(Numbers) { param file: "numbers.csv"; } }"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "first.spl").write_text(FIRST)
    (tmp_path / "second.spl").write_text(SECOND)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PENSTOCK_STREAMS", raising=False)
    return tmp_path


def penstock_run(*arguments: str) -> object:
    return CliRunner().invoke(command, [*arguments, "--engine", "reference", "--out", "out"], standalone_mode=False)


def test_applications_that_run_together_exchange_streams(folder: Path) -> None:
    assert penstock_run("second.spl", "--with", "first.spl").return_value == 0
    assert (folder / "out" / "numbers.csv").read_text() == "0\n1\n2\n3\n4\n5\n"


def test_an_import_that_nobody_feeds_is_refused(folder: Path) -> None:
    (folder / "other.spl").write_text(FIRST.replace("level = 3", "level = 1"))
    for alone in (("second.spl",), ("second.spl", "--with", "other.spl")):
        error = penstock_run(*alone).exception
        assert "Import `Numbers` takes none of the streams that this run exports" in str(error)


@pytest.mark.parametrize("application", ["first.spl", "second.spl"])
def test_streams_in_a_folder_are_refused(folder: Path, application: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_STREAMS", "")
    error = penstock_run(application, "--streams", "kept").exception
    assert "the reference interpreter does not use the streams in `kept`" in str(error)


def test_a_filter_lets_only_some_tuples_in_if_the_exporter_allows_it(folder: Path) -> None:
    (folder / "some.spl").write_text(SECOND.replace("level > 2;", "level > 2; filter: (x & 1) == 1 && x * 2 < 10;"))
    assert penstock_run("some.spl", "--with", "first.spl").return_value == 0
    assert (folder / "out" / "numbers.csv").read_text() == "1\n3\n"
    (folder / "whole.spl").write_text(FIRST.replace("level = 3};", "level = 3}; allowFilter: false;"))
    assert penstock_run("second.spl", "--with", "whole.spl").return_value == 0
    error = penstock_run("some.spl", "--with", "whole.spl").exception
    assert "Import `Numbers` takes none of the streams that this run exports" in str(error)
