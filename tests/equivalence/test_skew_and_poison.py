"""Channels under bad conditions: one key with half of all tuples, and tuples that cannot be processed."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import physical_plan
from penstock.lang import compile_text
from penstock.reference import run
from penstock.reference.failure import OperatorFailed
from penstock.spark.checkpoint.plan_record import claim
from plan_runner import run_plan
from spark_session import environment, everything_fused, files, nothing_fused, run_reference

SKEWED = """composite Main { graph
    stream<int32 k, int32 x> A = Beacon() { param iterations: 2000u;
      output A: k = (int32) IterationCount() % 2 == 0 ? 7 : (int32) IterationCount() % 101,
                x = (int32) IterationCount(); }
    stream<int32 k, int32 n, int32 total> B = Aggregate(A) {
      window A: sliding, count(5), count(2), partitioned;
      param partitionBy: k;
      output B: k = Any(k), n = Count(), total = Sum(x); }
    () as Sink = FileSink(B) { param file: "out.csv"; } }"""

POISONED = """composite Main { graph
    stream<int32 k, int32 x> A = FileSource() { param file: "in.csv"; format: csv; parsing: permissive; }
    stream<int32 k, int32 total> B = Aggregate(A) {
      window A: tumbling, count(3), partitioned;
      param partitionBy: k;
      output B: k = Any(k), total = Sum(x); }
    %s stream<int32 k, int32 share> C = Functor(B) { output C: share = 1000 / (total %% 4); }
    () as Sink = FileSink(C) { param file: "out.csv"; } }"""


@pytest.mark.parametrize("channels", [2, 8])
@pytest.mark.parametrize("fusion", [everything_fused, nothing_fused])
def test_a_key_with_half_of_all_tuples_changes_nothing(channels, fusion, tmp_path):
    program = compile_text(SKEWED)
    plan = physical_plan(program.application, fusion(program.application), channels)
    assert max(pe.channels for pe in plan.pes) == channels
    run_plan(program, plan, environment(tmp_path, tmp_path), turns_per_batch=300)
    assert files(tmp_path) == run_reference(program, tmp_path)


def poison(folder: Path) -> None:
    lines = (f"{n % 5},{n}\n" if n % 7 else f"{n},bad\n" for n in range(1, 301))
    (folder / "in.csv").write_text("".join(lines))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("fusion", [everything_fused, nothing_fused])
def test_what_is_skipped_behind_state_on_channels_is_counted_once(channels, fusion, tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    for folder in (data, out):
        folder.mkdir()
    poison(data)
    program = compile_text(POISONED % "@catch(exception=all)")
    plan = physical_plan(program.application, fusion(program.application), channels)
    letters = run_plan(program, plan, environment(data, out), turns_per_batch=40)
    wanted = run(program, environment=environment(data, tmp_path))
    rejected = {id_: sum(letter.operator == id_ for letter in letters) for id_ in ("A", "C")}
    assert rejected == {id_: wanted.rejected[id_] for id_ in ("A", "C")}
    assert min(rejected.values()) > 0
    written = (out / "out.csv").read_bytes()
    assert written == (tmp_path / "out.csv").read_bytes()
    assert len(written.splitlines()) + rejected["C"] == wanted.submitted["B"][0]


@pytest.mark.parametrize("channels", [1, 3])
def test_what_fails_behind_state_on_channels_names_the_operator_and_the_cause(channels, tmp_path):
    poison(tmp_path)
    program = compile_text(POISONED % "")
    plan = physical_plan(program.application, nothing_fused(program.application), channels)
    with pytest.raises(OperatorFailed, match=r"operator `C` \(Functor\) failed on \{k=.*\}: division by zero"):
        run_plan(program, plan, environment(tmp_path, tmp_path), turns_per_batch=40)


def test_a_checkpoint_is_refused_to_another_number_of_channels(tmp_path):
    application = compile_text(SKEWED).application
    two, three = (physical_plan(application, everything_fused(application), channels) for channels in (2, 3))
    assert not claim(tmp_path, two)
    assert claim(tmp_path, two)
    with pytest.raises(UserError, match=r"cannot be resumed: .*channels"):
        claim(tmp_path, three)
