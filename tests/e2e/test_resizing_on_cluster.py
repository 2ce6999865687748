"""A job on a real cluster gets fewer cores and more again while it runs, and gives what it would have given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.base.process_tree import PROC, family
from penstock.running.run_report import read_report
from penstock.runtime.ingest.cores_limit import write_cores
from penstock.service.jobs.process import environment_of
from penstock.spark.cluster.cluster_record import ClusterRecord
from penstock.spark.cluster.local_cluster import start_cluster, stop_cluster

pytestmark = pytest.mark.xdist_group("spark-commands")

PROGRAM = """composite Main { graph
    stream<int32 k, int32 x> A = Beacon() {
      output A: k = (int32) IterationCount() * 7 % 11, x = (int32) IterationCount(); }
    stream<int32 k, int32 total> B = Aggregate(A) { window A: sliding, count(5), count(1), partitioned;
      param partitionBy: k; output B: k = Any(k), total = Sum(x); }
    () as Sink = FileSink(B) { param file: "out.csv"; }
}"""
PATIENCE_SECONDS = 200.0


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterRecord]:
    place = tmp_path / "cluster"
    yield start_cluster(place, 2)
    stop_cluster(place)


def test_cores_come_and_go_while_a_job_runs(tmp_path: Path, cluster: ClusterRecord) -> None:
    (tmp_path / "main.spl").write_text(PROGRAM)
    checkpoint = tmp_path / "c"
    checkpoint.mkdir()
    write_cores(checkpoint, 2)
    command = [sys.executable, "-m", "penstock.cli", "run", "main.spl", "--master", cluster.master, "--out", "found"]
    command += ["--checkpoint", "c", "--channels", "2", "--batch", "50", "--report", "report.json"]
    environment = environment_of(tmp_path / "streams", cluster.master, 2)
    log = tmp_path / "log"
    with log.open("wb") as out:
        job = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **environment}, stderr=out, stdout=out)
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        for cores in (2, 1, 2):
            write_cores(checkpoint, cores)
            before = batches(tmp_path)
            while executors(cluster) != cores or batches(tmp_path) < before + 2:
                assert job.poll() is None, log.read_text()
                assert time.monotonic() < deadline, (cores, executors(cluster), log.read_text())
                time.sleep(0.2)
    finally:
        job.send_signal(signal.SIGTERM)
        job.wait(60)
    assert job.returncode == 0, log.read_text()
    found = (tmp_path / "found" / "out.csv").read_text().splitlines()
    assert found == wanted(len(found))
    assert len(found) >= 300


def batches(folder: Path) -> int:
    return sum(int(report["batches"]) for report in read_report(folder / "report.json").values())


def executors(cluster: ClusterRecord) -> int:
    found = (pid for worker in cluster.workers for pid in family(worker.process.pid))
    return sum(executes(pid) for pid in found)


def executes(pid: int) -> bool:
    try:
        return b"CoarseGrainedExecutorBackend" in (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def wanted(count: int) -> list[str]:
    """The first lines, computed by hand."""
    last: dict[int, list[int]] = {}
    lines = []
    for x in range(count):
        window = last.setdefault(x * 7 % 11, [])
        window.append(x)
        del window[:-5]
        lines.append(f"{x * 7 % 11},{sum(window)}")
    return lines
