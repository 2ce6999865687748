"""Runs without an end say so; batches of names are small."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli import cli
from penstock.cli.endless import choose_batch, describe_end
from penstock.ir.graph import Application
from penstock.lang import compile_text


def application(source: str, more: str = "") -> Application:
    return compile_text(f"composite Main {{ graph stream<rstring s> A = {source} {more} }}").application


@pytest.mark.parametrize(
    ("source", "is_endless"),
    [
        ("Beacon() { }", True),
        ("Beacon() { param iterations: 5; }", False),
        ('Custom() { logic onProcess: while (true) submit({s = ""}, A); }', True),
        ('Custom() { logic onProcess: { while (!isShutdown()) { submit({s = ""}, A); block(1.0); } } }', True),
        ('Custom() { logic onProcess: { mutable int32 i = 0; while (i++ < 5) submit({s = ""}, A); } }', False),
        ('FileSource() { param file: "a"; }', False),
    ],
)
def test_sources_that_make_tuples_for_ever_are_named(source: str, is_endless: bool) -> None:
    notice = describe_end(application(source), can_have_more=False)
    wanted = "this run has no end, because `A` makes tuples for ever; stop it with Ctrl-C, or give --for SECONDS"
    assert notice == (wanted if is_endless else None)


def test_sources_that_may_have_more_are_told_of() -> None:
    notice = describe_end(application('FileSource() { param file: "a"; hotFile: true; }'), can_have_more=True)
    assert notice is not None
    assert notice.startswith("this run goes on as long as its sources may have more; stop it with Ctrl-C")


def test_a_batch_of_names_is_small_unless_the_user_says_otherwise() -> None:
    reads = "stream<rstring line> B = FileSource(A) { param format: line; }"
    assert choose_batch(application("Beacon() { }", reads), None) == 100
    assert choose_batch(application("Beacon() { }", reads), 7) == 7
    assert choose_batch(application("Beacon() { }"), None) == 200_000


def run(tmp_path: Path, *options: str) -> str:
    (tmp_path / "app.spl").write_text(
        "composite Main { graph stream<int32 i> A = Beacon() { param period: 1.0; }\n"
        '() as S = FileSink(A) { param file: "o.csv"; } }'
    )
    command = ["run", str(tmp_path / "app.spl"), "--engine", "reference", "--out", str(tmp_path), *options]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    return done.stderr


def test_a_run_with_an_end_says_nothing(tmp_path: Path) -> None:
    assert "no end" not in run(tmp_path, "--for", "3")
    assert (tmp_path / "o.csv").read_text() == "0\n" * 4
