"""Applications that exchange streams on Spark, run by one command."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from penstock.cli import cli
from penstock.cli.engines.exchanged_streams import Exchange
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from spark_session import session

pytestmark = pytest.mark.xdist_group("spark")

FIRST = """composite First { graph
    stream<int32 x> Numbers = Beacon() { param iterations: 6u; output Numbers: x = (int32) IterationCount(); }
    stream<int32 x> Kept = Custom(Numbers) { logic onTuple Numbers: {
        if (x == 3) setOutputPortExportProperties({kind = "numbers", level = 1}, 0u);
        submit(Numbers, Kept); } }
    () as Out = Export(Kept) { param properties: {kind = "numbers", level = 3}; } }"""
SECOND = """composite Second { graph
    stream<int32 x> Numbers = Import() { param subscription: kind == "numbers" && level > 2; }
    stream<int32 x> More = Functor(Numbers) { output More: x = 10 / (x - 1); config restartable: false; }
    () as Out = Export(More) { param streamId: "more"; } }"""
THIRD = """composite Third { graph
    stream<int32 x> Numbers = Import() { param streamId: "more"; }
    () as Sink = FileSink(Numbers) { param file: "more.csv"; } }"""
CHANGING = """composite Changing { graph
    stream<int32 x> Numbers = Import() { param subscription: kind == "numbers" && level > 2; }
    stream<int32 x> Seen = Custom(Numbers) { logic onTuple Numbers: {
        submit(Numbers, Seen);
        if (x == 1) setInputPortImportSubscription("level == 1", 0u); } }
    () as Sink = FileSink(Seen) { param file: "changing.csv"; } }"""
ENDLESS = FIRST.replace("iterations: 6u; ", "period: 0.5; ")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "first.spl").write_text(FIRST)
    (tmp_path / "second.spl").write_text(SECOND.replace("10 / (x - 1)", "10 * x"))
    (tmp_path / "third.spl").write_text(THIRD)
    (tmp_path / "changing.spl").write_text(CHANGING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PENSTOCK_STREAMS", raising=False)
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    session()
    return tmp_path


def penstock_run(*arguments: str, out: str = "out") -> Result:
    return CliRunner().invoke(
        cli, ["run", *arguments, "--master", "local[2]", "--out", out, "--json"], standalone_mode=False
    )


def test_an_importer_runs_behind_those_that_feed_it_and_gets_what_the_reference_gives(folder: Path) -> None:
    together = ("third.spl", "--with", "second.spl", "--with", "first.spl")
    found = penstock_run(*together)
    assert found.exception is None, found.output
    read = json.loads(found.stdout)
    assert read["application"] == "Third, Second, First"
    assert read["stopped"] == "done"
    assert read["operators"]["Second.More"]["received"] == [3]
    assert penstock_run(*together, "--engine", "reference", out="expected").exception is None
    assert (folder / "out" / "more.csv").read_text() == (folder / "expected" / "more.csv").read_text() == "0\n10\n20\n"


def interrupt_when(files: dict[Path, str], seconds: float = 240.0) -> threading.Thread:
    """Press Ctrl-C once each of the files begins as it should, or has not for a long time."""

    def watch() -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if all(path.exists() and path.read_text().startswith(text) for path, text in files.items()):
                break
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    return watcher


def test_applications_without_an_end_run_at_once(folder: Path) -> None:
    (folder / "first.spl").write_text(ENDLESS)
    others = ("--with", "second.spl", "--with", "first.spl", "--with", "changing.spl")
    more, changing = folder / "out" / "more.csv", folder / "out" / "changing.csv"
    # The exporter changes what it says of 3 and what follows, and the importer asks for that when it has seen 1.
    watcher = interrupt_when({more: "0\n10\n20\n", changing: "0\n1\n3\n"})
    found = penstock_run("third.spl", *others, "--batch", "5", "--checkpoint", "kept")
    watcher.join()
    assert found.exception is None, found.output
    assert json.loads(found.stdout)["stopped"] == "interrupted"
    assert more.read_text() == "0\n10\n20\n"
    assert changing.read_text().startswith("0\n1\n3\n")
    assert sorted(p.name for p in (folder / "kept").iterdir()) == ["Changing", "First", "Second", "Third"]


def test_the_failure_of_one_stops_the_others(folder: Path) -> None:
    (folder / "first.spl").write_text(ENDLESS)
    (folder / "second.spl").write_text(SECOND)
    found = penstock_run("second.spl", "--with", "first.spl", "--batch", "5")
    assert "operator `More`" in str(found.exception)


def test_what_was_set_aside_has_a_file_for_each_application(folder: Path) -> None:
    (folder / "second.spl").write_text(
        SECOND.replace("stream<int32 x> More", "@catch(exception=all) stream<int32 x> More")
    )
    found = penstock_run("third.spl", "--with", "second.spl", "--with", "first.spl")
    assert found.exception is None, found.output
    assert json.loads(found.stdout)["operators"]["Second.More"]["rejected"] == 1
    (letter,) = (folder / "out" / "dead_letters.Second.jsonl").read_text().splitlines()
    assert json.loads(letter)["operator"] == "More"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("first.spl", "--with", "first.spl"), "two applications of this run are called `First`"),
        (("first.spl", "--with", "second.spl", "--engine", "local"), "--with is for Spark and the reference"),
        (("first.spl", "--with", "second.spl", "--from", "saved"), "--from is of one application"),
    ],
)
def test_what_cannot_run_together_is_refused(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in str(penstock_run(*arguments).exception)


def test_applications_that_feed_each_other_have_no_order() -> None:
    first, second = compile_text(FIRST), compile_text(SECOND)
    assert Exchange([second, first], Environment()).order == [1, 0]
    assert [o.id for o in Exchange([second], Environment()).unfed] == ["Numbers"]
    back = compile_text(
        FIRST.replace(
            "= Beacon() { param iterations: 6u; output Numbers: x = (int32) IterationCount(); }",
            '= Import() { param streamId: "more"; }',
        )
    )
    assert Exchange([second, back], Environment()).order is None
