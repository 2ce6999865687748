"""A job on a real cluster of two workers: its channels run where they were placed, and move there while it runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.spark.cluster.cluster_record import ClusterRecord
from penstock.spark.cluster.local_cluster import start_cluster, stop_cluster

pytestmark = pytest.mark.xdist_group("spark-commands")

PROGRAM = """composite Main { graph
    stream<int32 k, int32 x> A = FileSource() { param file: "in.csv"; }
    stream<int32 k, int32 total> B = Aggregate(A) { window A: sliding, count(5), count(1), partitioned;
      param partitionBy: k; output B: k = Any(k), total = Sum(x); }
    stream<int32 k, int32 most> C = Aggregate(B) { window B: sliding, count(3), count(1), partitioned;
      param partitionBy: k; output C: k = Any(k), most = Max(total); }
    () as Sink = FileSink(C) { param file: "out.csv"; }
}"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterRecord]:
    place = tmp_path / "cluster"
    yield start_cluster(place, 2)
    stop_cluster(place)


def penstock(folder: Path, *given: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock.cli", *given]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return done


def test_channels_run_where_they_are_placed(tmp_path: Path, cluster: ClusterRecord) -> None:
    (tmp_path / "main.spl").write_text(PROGRAM)
    (tmp_path / "in.csv").write_text("".join(f"{n * 7 % 11},{n}\n" for n in range(2000)))
    penstock(tmp_path, "run", "main.spl", "--data", ".", "--engine", "reference", "--out", "wanted")
    placed = ["--fusion", "none", "--channels", "4", "--batch", "200", "--checkpoint", "c", "--placement", "metis"]
    run = penstock(tmp_path, "run", "main.spl", "--data", ".", "--out", "found", *placed, "--master", cluster.master)
    assert "warning" not in run.stderr
    assert (tmp_path / "found" / "out.csv").read_bytes() == (tmp_path / "wanted" / "out.csv").read_bytes()
    status: dict[str, Any] = json.loads(penstock(tmp_path, "status", "c", "--json").stdout)
    assert status["state"] == "done"
    assert status["moves"][0]["cause"] == "measured"
    assert {executor["host"] for executor in status["executors"]} == {"127.0.0.2", "127.0.0.3"}
    # Every chain of channels lies on one executor, and each executor has two.
    where = {(task["pe"], task["channel"]): task["executor"] for task in status["tasks"]}
    assert [where[1, channel] == where[2, channel] for channel in range(4)] == [True] * 4
    assert sorted(where[1, channel] for channel in range(4)) == ["0", "0", "1", "1"]
