"""Savepoints and other channels, as a user calls for them; jobs are killed, or run on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.xdist_group("spark-commands")

PROGRAM = """composite Main { graph
    stream<int32 k, int32 x> A = FileSource() { param file: "in.csv"; }
    stream<int32 k, int32 total> B = Aggregate(A) { window A: sliding, count(5), count(1), partitioned;
      param partitionBy: k; output B: k = Any(k), total = Sum(x); }
    () as Sink = FileSink(B) { param file: "out.csv"; }
}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.spl").write_text(PROGRAM)
    (tmp_path / "in.csv").write_text("".join(f"{n * 7 % 11},{n}\n" for n in range(3000)))
    penstock(tmp_path, "run", "main.spl", "--data", ".", "--engine", "reference", "--out", "wanted")
    return tmp_path


def arguments(*given: str) -> list[str]:
    return [sys.executable, "-m", "penstock.cli", *given]


def penstock(folder: Path, *given: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(arguments(*given), cwd=folder, capture_output=True, text=True, timeout=400)
    assert done.returncode == status, done.stderr
    return done


def begin(folder: Path, *given: str) -> subprocess.Popen[str]:
    """A run in the background that has written some batches."""
    where = ("--data", ".", "--out", "found", "--master", "local[2]", "--json")
    running = subprocess.Popen(
        arguments("run", "main.spl", *where, *given),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stderr is not None
    told: list[str] = []
    # Fast batches are told of together.
    while sum(line.startswith("batch") for line in told) < 2:
        told.append(running.stderr.readline())
        assert told[-1], f"it ended too early: {told}"
    return running


def assert_complete(folder: Path) -> None:
    assert (folder / "found" / "out.csv").read_bytes() == (folder / "wanted" / "out.csv").read_bytes()


def test_a_killed_job_goes_on_from_its_savepoint_on_other_channels(folder):
    killed = begin(folder, "--batch", "30", "--checkpoint", "c")
    # Its own group: this process, Java and Spark's workers.
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait(timeout=60)
    time.sleep(1)
    penstock(folder, "savepoint", "c", "-o", "saved", "--master", "local[2]")
    shown = json.loads(penstock(folder, "state", "show", "saved", "--json").stdout)
    assert {row["operator"]: row["keys"] for row in shown["operators"]}["B"] == 11
    penstock(folder, "state", "export", "saved", "-o", "state", "--operator", "B")
    table = pq.read_table(folder / "state" / "B.parquet").to_pydict()
    assert sorted(table["k"]) == list(range(11))
    where = ("--data", ".", "--out", "found", "--master", "local[2]", "--from", "saved", "--checkpoint", "c2")
    penstock(folder, "run", "main.spl", *where, "--channels", "3", "--batch", "1000")
    assert_complete(folder)


def test_a_running_job_gets_other_channels_and_tells_how_long_it_paused(folder):
    running = begin(folder, "--batch", "60", "--checkpoint", "c", "--channels", "1")
    done = penstock(folder, "rescale", "c", "--channels", "3", "--json")
    answer = json.loads(done.stdout)
    assert max(answer["channels"]) == 3
    assert list(answer["seconds"]) == ["stop", "savepoint", "deal out", "start", "pause"]
    summary, _ = running.communicate(timeout=400)
    assert running.returncode == 0
    assert json.loads(summary)["stopped"] == "done"
    record = json.loads((folder / "c" / "plan.json").read_text())
    assert max(record["channels"]) == 3
    assert record["first_batch"] > 0
    assert_complete(folder)
