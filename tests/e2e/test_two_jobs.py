"""Two jobs on one checkpoint, as two users start them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.base.process_tree import family

pytestmark = pytest.mark.xdist_group("spark-commands")

PROGRAM = """
composite Main { graph
  stream<int32 k, int32 x> A = Beacon() {
    param iterations: 200u; period: 0.1; output A: k = (int32) IterationCount() % 3, x = (int32) IterationCount();
  }
  stream<int32 k, int32 t> B = Aggregate(A) {
    window A: tumbling, count(4), partitioned; param partitionBy: k; output B: k = Any(k), t = Sum(x);
  }
  () as One = FileSink(B) { param file: "one.csv"; }
  () as Rolled = FileSink(B) { param file: "rolled-{id}.csv"; closeMode: count; tuplesPerFile: 20; }
  () as Parts = FileSink(B) { param file: "parts"; partitionBy: k; }
}
"""
COMMAND = [sys.executable, "-m", "penstock.cli", "run", "app.spl"]
ON_SPARK = [*COMMAND, "--master", "local[2]", "--checkpoint", "c", "--out", "out", "--batch", "10"]
PATIENCE_SECONDS = 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.spl").write_text(PROGRAM)
    return tmp_path


def _output(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.suffix == ".csv"}


def test_a_driver_that_wakes_up_after_its_successor_has_started_writes_nothing(folder):
    subprocess.run([*COMMAND, "--engine", "reference", "--out", "wanted"], cwd=folder, check=True)
    first = subprocess.Popen(ON_SPARK, cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True)
    stopped: list[int] = []
    try:
        _wait(lambda: (folder / "c" / "sinks" / f"{2:020d}.state").exists())
        stopped = _stop(first.pid)
        held = subprocess.run(ON_SPARK, cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
        assert held.returncode == 1
        assert f"the checkpoint `c` is in use by process {first.pid} (stopped) on" in held.stderr
        assert "starting Spark" not in held.stderr
        second = _take_over(folder, stopped)
        assert second.returncode == 0, second.stderr
        after = _output(folder / "out")
        _go_on(stopped)
        told = first.communicate(timeout=PATIENCE_SECONDS)[1]
    finally:
        _go_on(stopped)
        if first.poll() is None:
            os.killpg(first.pid, signal.SIGKILL)
    assert first.returncode == 1, told
    assert "this job has lost its checkpoint" in told
    assert _output(folder / "out") == after == _output(folder / "wanted")


def _take_over(folder: Path, stopped: list[int]) -> subprocess.CompletedProcess[str]:
    """Take over; if the first driver was stopped while it wrote a batch, let it go on a little and stop it again."""
    while True:
        done = subprocess.run([*ON_SPARK, "--take-over"], cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
        if "a batch is being written by" not in done.stderr:
            return done
        _go_on(stopped)
        time.sleep(0.3)
        stopped[:] = _stop(stopped[0])


def _stop(pid: int) -> list[int]:
    """Stop a process and all that it has started."""
    found = family(pid)
    for one in found:
        os.kill(one, signal.SIGSTOP)
    return found


def _go_on(stopped: list[int]) -> None:
    for one in stopped:
        try:
            os.kill(one, signal.SIGCONT)
        except ProcessLookupError:
            continue


def _wait(is_so) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)
