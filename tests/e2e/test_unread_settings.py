"""A name of `--set` that nothing asks for gets a warning."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from penstock.cli import cli

PROGRAM = """
composite Main {
  param expression<int32> $size: (int32) getCompileTimeValue("size", "3");
  graph
    stream<int32 x> A = Beacon() { param iterations: (uint32) getSubmissionTimeValue("rows", "2"); }
    stream<int32 x> B = Aggregate(A) {
      window A: tumbling, count((int32) getSubmissionTimeValue("window", "2")); output B: x = Max(x); }
    stream<int32 x> C = Functor(B) { output C: x = x + $size; }
    () as Sink = FileSink(C) { param file: "out.csv"; }
}
"""


def warnings(folder: Path, *settings: str, program: str = PROGRAM) -> str:
    (folder / "app.spl").write_text(program)
    options = [option for setting in settings for option in ("--set", setting)]
    done = CliRunner().invoke(cli, ["check", str(folder / "app.spl"), *options])
    assert done.exit_code == 0, done.output
    return done.stderr


def test_a_misspelt_name_is_told_with_the_right_one(tmp_path):
    assert "nothing asks for `--set row`; did you mean `rows`?" in warnings(tmp_path, "row=7")


def test_names_that_are_asked_for_anywhere_are_no_reason_to_warn(tmp_path):
    assert "warning" not in warnings(tmp_path, "rows=7", "size=4", "window=3")


def test_where_the_name_is_computed_nobody_can_tell(tmp_path):
    program = PROGRAM.replace('"rows"', '"ro" + "ws"')
    assert "warning" not in warnings(tmp_path, "other=7", program=program)
