"""A measured run that the user does not wait for: nothing is made of the part that was measured."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.compiler import Options, compile
from penstock.compiler.job import Draft
from penstock.compiler.short_profile import find_profile
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.model import Profile
from penstock.running.options import RunOptions
from penstock.spark.measure import measured_runs, profiling
from penstock.spark.measure.measured_runs import Measuring
from penstock.spark.measure.profiling import ProfileRun, measure_shortly
from penstock.toolkit.core.program import Program

PROGRAM = """
composite Main {
  graph
    stream<int32 a> In = Beacon() { param iterations: 9u; output In: a = (int32) IterationCount(); }
    () as Out = FileSink(In) { param file: "out.csv"; }
}
"""


@dataclass(frozen=True)
class Interrupted:
    stopped: str = "interrupted"


def interrupted_run(*given: object, **options: object) -> ProfileRun:
    return ProfileRun(profile=None, run=Interrupted(), python_metrics={})  # type: ignore[arg-type] # only how it ended


def measuring() -> Measuring:
    return Measuring(program=compile_text(PROGRAM), environment=Environment(), spark=None, mips=1000.0)  # type: ignore[arg-type]


def test_ctrl_c_ends_the_loop_and_not_only_the_run(monkeypatch):
    monkeypatch.setattr(measured_runs, "profile_on_spark", interrupted_run)
    with pytest.raises(KeyboardInterrupt):
        measuring().run([["In"], ["Out"]], 1)


def test_every_run_has_its_own_channels(monkeypatch):
    asked = []

    def watched(program: Program, how: Options, *given: object, **options: object) -> ProfileRun:
        asked.append(compile(program, how).choice.channels)
        return interrupted_run()

    monkeypatch.setattr(measured_runs, "profile_on_spark", watched)
    for channels in (None, 4):
        with pytest.raises(KeyboardInterrupt):
            measuring().run([["In"], ["Out"]], channels)
    assert asked == [None, 4]


def test_ctrl_c_in_a_short_profile_ends_the_command(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    monkeypatch.setattr(profiling, "profile_on_spark", interrupted_run)

    def measure(program: Program, options: Options) -> Profile:
        return measure_shortly(program, options, None)  # type: ignore[arg-type] # nothing is run

    with pytest.raises(KeyboardInterrupt):
        find_profile(Draft(program=compile_text(PROGRAM), options=Options(measure=measure)), 1)


def run_of(batches: list[tuple[int, float]], asked: list[int]):
    """A run that shows some batches: the tuples so far, and milliseconds."""

    def run(program: Program, how: Options, *given: object, on_progress: Any, **options: object) -> ProfileRun:
        asked.append(how.batch)
        for total, milliseconds in batches:
            on_progress({"totals": SimpleNamespace(submitted={"In": [total]}), "batchDuration": milliseconds})
        return ProfileRun(profile=Profile(mips=1.0), run=SimpleNamespace(stopped="ended"), python_metrics={})  # type: ignore[arg-type]

    return run


@pytest.mark.parametrize(
    ("batches", "runs", "rate"),
    [
        ([(9, 5000.0)], 2, 1.8),
        ([(9, 30_000.0)], 1, 0.3),
        ([(9, 5000.0), (29, 1000.0)], 1, 20.0),
    ],
)
def test_runs_have_the_batches_of_a_real_run_and_one_short_batch_is_not_enough(monkeypatch, batches, runs, rate):
    asked: list[int] = []
    monkeypatch.setattr(measured_runs, "profile_on_spark", run_of(batches, asked))
    assert measuring().run([["In"], ["Out"]], 1)[1] == pytest.approx(rate)
    assert asked == [RunOptions().batch] * runs
