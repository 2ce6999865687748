"""What is accepted without an effect is said once, by `check` and by `run`; runs without an end say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli import cli
from penstock.cli.output.notices import describe_end
from penstock.ir.graph import Application
from penstock.lang import compile_text

PROGRAM = """
composite Main {
  graph
    @view(name="n", port=N) stream<int32 x> N = Beacon() {
      param iterations: 2; config threadedPort: queue(N, Sys.Wait); }
    @view(name="f", port=F) @threading(model=manual) stream<int32 x> F = Functor(N) {
      config placement: host(nodes[2]); restartable: true; }
    @parallel(width=2) stream<int32 x> S = Custom(F) {
      logic state: mutable int32 n = 0; onTuple F: { n++; submit({x = n}, S); } }
    () as Sink = FileSink(S) { param file: "out.csv"; config placement: host(nodes); }
  config
    hostPool: nodes = createPool({size = 5u}, Sys.Exclusive);
    logLevel: info;
    outputTransport: tcp;
}
"""


def said(folder: Path, *command: str) -> str:
    (folder / "app.spl").write_text(PROGRAM)
    done = CliRunner().invoke(cli, [command[0], str(folder / "app.spl"), *command[1:]])
    assert done.exit_code == 0, done.output
    return done.stderr


@pytest.mark.parametrize("command", [("check",), ("run", "--engine", "reference")])
def test_each_is_told_once_with_its_place(tmp_path: Path, command: tuple[str, ...]) -> None:
    if command[0] == "run":
        command = (*command, "--out", str(tmp_path))
    text = said(tmp_path, *command)
    for name in ("@view", "@threading", "threadedPort", "logLevel", "outputTransport"):
        assert text.count(f"warning: `{name}` has no effect") == 1, name
    assert "app.spl:4:" in text
    assert "restartable" not in text.replace("restartable: true", "")
    assert text.count("warning: the host pool `nodes` names no hosts: it takes those that there are") == 1
    assert text.count("warning: `@parallel` on `S` is not followed, because it changes the state `n`") == 1


def test_annotations_that_ask_for_what_every_job_does_are_not_told_of(tmp_path: Path) -> None:
    (tmp_path / "app.spl").write_text("""
        @consistent(trigger=periodic, period=5.0)
        composite Main { graph
          () as JCP = JobControlPlane() { }
          @consistent(trigger=operatorDriven) stream<int32 x> N = Beacon() { param iterations: 2; }
          @autonomous stream<int32 x> A = Functor(N) { }
          @catch stream<int32 x> C = Functor(A) { }
          () as Sink = FileSink(C) { param file: "out.csv"; }
        }""")
    done = CliRunner().invoke(cli, ["check", str(tmp_path / "app.spl")])
    assert (done.exit_code, done.stderr) == (0, "")


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


def run_endless(tmp_path: Path, *options: str) -> str:
    (tmp_path / "app.spl").write_text(
        "composite Main { graph stream<int32 i> A = Beacon() { param period: 1.0; }\n"
        '() as S = FileSink(A) { param file: "o.csv"; } }'
    )
    command = ["run", str(tmp_path / "app.spl"), "--engine", "reference", "--out", str(tmp_path), *options]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    return done.stderr


def test_a_run_with_an_end_says_nothing(tmp_path: Path) -> None:
    assert "no end" not in run_endless(tmp_path, "--for", "3")
    assert (tmp_path / "o.csv").read_text() == "0\n" * 4
