"""A run that failed is started again, if the program or the user asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from penstock.base.diagnostics import UserError
from penstock.cli import cli
from penstock.cli.engines.relaunch import choose_relaunches, run_again
from penstock.lang import compile_text
from penstock.spark.checkpoint.launches import count_launches

PROGRAM = """
composite Main {
  graph
    stream<int32 i> A = Beacon() { param iterations: 9; output A: i = (int32) IterationCount(); }
    stream<int32 i, int32 n> B = Custom(A) {
      logic
        state: mutable int32 n = 0;
        onTuple A: { n++; if (i == 5 && getRelaunchCount() < 2u) abort(); submit({i = i, n = n}, B); }
      %s
    }
    () as S = FileSink(B) { param file: "out.csv"; }
}
"""


def run(folder: Path, config: str, *options: str, engine: str = "reference") -> Result:
    (folder / "app.spl").write_text(PROGRAM % config)
    command = ["run", str(folder / "app.spl"), "--engine", engine, "--out", str(folder), *options]
    return CliRunner().invoke(cli, command)


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize(("config", "options"), [("config restartable: true;", ()), ("", ("--relaunches", "2"))])
def test_a_run_that_aborts_gets_past_the_tuple_when_it_is_started_again(
    tmp_path: Path, config: str, options: tuple[str, ...], engine: str
) -> None:
    done = run(tmp_path, config, *options, engine=engine)
    assert done.exit_code == 0, done.output
    assert done.stderr.count("failed on {i=5}: abort() was called") == 2
    assert "starting again (2 of at most" in done.stderr
    assert (tmp_path / "out.csv").read_text() == "".join(f"{i},{i + 1}\n" for i in range(9))


@pytest.mark.parametrize(("config", "options"), [("", ()), ("config restartable: true;", ("--relaunches", "1"))])
def test_it_is_started_again_no_more_often_than_asked_for(
    tmp_path: Path, config: str, options: tuple[str, ...]
) -> None:
    assert "abort() was called" in str(run(tmp_path, config, *options).exception)


def test_only_a_failed_operator_is_a_reason_to_start_again() -> None:
    calls = []

    def fail(count: int) -> None:
        calls.append(count)
        raise UserError("there is no file `a`")

    with pytest.raises(UserError, match="there is no file"):
        run_again(fail, 3, print)
    assert calls == [0]


@pytest.mark.parametrize(
    ("before", "config", "count"),
    [("", "", 0), ("", "config restartable: true;", 5), ("", "config restartable: false;", 0), ("@consistent", "", 5)],
)
def test_the_program_may_ask_for_relaunches(before: str, config: str, count: int) -> None:
    text = f"composite Main {{ graph {before} stream<int32 x> A = Beacon() {{ param iterations: 1; {config} }} }}"
    application = compile_text(text).application
    assert choose_relaunches(application, None) == count
    assert choose_relaunches(application, 3) == 3


def test_a_checkpoint_counts_its_launches(tmp_path: Path) -> None:
    assert [count_launches(tmp_path) for _ in range(3)] == [0, 1, 2]
