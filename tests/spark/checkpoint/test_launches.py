"""A job that is started again from its checkpoint knows it, and keeps the time at which it was first started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compiling import compile_fused
from penstock.cli.engines.relaunch import run_again
from penstock.expr.environment import Clock, Environment
from penstock.lang import compile_text
from penstock.spark.gate.gating import start_clock
from penstock.spark.job.run import run_on_spark
from spark_session import environment, files, session

pytestmark = pytest.mark.xdist_group("spark")

NOON = 1_769_860_800_000_000_000
PROGRAM = """
composite Main { graph
  stream<int32 i> A = Beacon() { param iterations: 40u; output A: i = (int32) IterationCount(); }
  stream<int32 i, int32 n, timestamp t> B = Custom(A) {
    logic
      state: mutable int32 n = 0;
      onTuple A: {
        n++;
        if (i == 25 && getRelaunchCount() < 2u) abort();
        submit({i = i, n = n, t = getTimestamp()}, B);
      }
  }
  () as S = FileSink(B) { param file: "s.csv"; }
}
"""


def test_a_job_that_aborted_gets_past_the_tuple_and_writes_every_tuple_once(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    told: list[str] = []

    def start(count: int) -> None:
        settings = replace(environment(tmp_path, tmp_path / "out"), clock=Clock(NOON + count))
        job = compile_fused(compile_text(PROGRAM), [["A"], ["B"], ["S"]], environment=settings, batch=10)
        run_on_spark(job, session(), checkpoint=tmp_path / "job", notice=lambda text: None)

    run_again(start, 2, told.append)
    assert ["abort() was called" in text for text in told] == [True, True]
    expected = "".join(f"{i},{i + 1},(1769860800,0,0)\n" for i in range(40))
    assert files(tmp_path / "out") == {"s.csv": expected.encode()}


def test_a_checkpoint_keeps_the_first_start_and_one_without_that_memory_started_at_zero(tmp_path: Path) -> None:
    def clock(folder: str, now_ns: int, resumed: bool) -> int:
        (tmp_path / folder).mkdir(exist_ok=True)
        given = Environment(clock=Clock(now_ns))
        return start_clock(given, tmp_path / folder, resumed=resumed, by_wall=False).clock.now_ns

    assert [clock("new", NOON, False), clock("new", NOON + 5, True)] == [NOON, NOON]
    assert clock("old", NOON, True) == 0
    assert clock("plain", 0, False) == 0
