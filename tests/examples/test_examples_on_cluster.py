"""Every example on a real cluster of three workers: equal to the reference, all workers busy, some of them killed.

Workers see the data and the checkpoint, as on a shared file system, and none of the program: where a process may have
mounts of its own, the folder of the programs is an empty one to them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_examples_locally import MADE, MORE, run

from penstock.base.process_tree import PROC, family
from penstock.spark.cluster.cluster_record import ClusterRecord, read_cluster
from penstock.spark.cluster.local_cluster import stop_cluster

pytestmark = [
    pytest.mark.skipif("PENSTOCK_LONG" not in os.environ, reason="make test-spark has it; it takes minutes"),
    pytest.mark.timeout(3000),
]

TESTS = Path(__file__).parents[1]
HOSTS = {"127.0.0.2", "127.0.0.3", "127.0.0.4"}


@pytest.fixture
def programs(examples: Path, tmp_path: Path) -> Path:
    """A copy of the examples."""
    return Path(shutil.copytree(examples, tmp_path / "programs"))


@pytest.fixture
def cluster(programs: Path, tmp_path: Path) -> Iterator[ClusterRecord]:
    """Three workers, from which the programs are hidden."""
    place = tmp_path / "cluster"
    up = [sys.executable, "-m", "penstock.cli", "cluster", "up", "--hosts", "3", "--folder", str(place)]
    hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(programs)]
    if subprocess.run([*hide, "true"], capture_output=True, check=False).returncode:
        hide = []
    subprocess.run([*hide, *up], check=True, capture_output=True)
    try:
        record = read_cluster(place)
        assert record is not None
        yield record
    finally:
        stop_cluster(place)


def data_of(app: str, example, examples: Path, tmp_path: Path) -> Path:
    folder, _, _ = app.partition("/")
    if app not in MADE:
        return examples / folder
    file, sizes = MADE[app]
    data = tmp_path / "data" / app.replace("/", "-")
    data.mkdir(parents=True)
    example(f"{folder}/generate.py").generate(data / file, **sizes)
    return data


def test_every_example_gives_the_same_on_three_workers(cluster, programs, example, examples, tmp_path):
    apps = [*MADE, "sessions/sessions.spl", "sessions/sessions.py:app"]
    wanted, commands = {}, []
    for app in apps:
        data, out = data_of(app, example, examples, tmp_path), tmp_path / "found" / app.replace("/", "-")
        more = MORE.get(app, [])
        reference = tmp_path / "wanted" / app.replace("/", "-")
        wanted[app] = run(str(examples / app), data, reference, "--engine", "reference", *more)["files"]
        placed = ["--channels", "3", "--placement", "even", "--batch", "1000", *more]
        commands.append([str(programs / app), "--data", str(data), "--out", str(out), *placed])
    done = subprocess.run(
        [sys.executable, str(TESTS / "cluster_runs.py"), cluster.master],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        timeout=2400,
        check=False,
        cwd=tmp_path,
    )
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"error"')]
    assert len(told) == len(apps), done.stderr[-3000:]
    busy = set()
    for app, result in zip(apps, told, strict=True):
        assert result["error"] is None, (app, result)
        out = tmp_path / "found" / app.replace("/", "-")
        assert {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()} == wanted[app], app
        busy |= {app} if {host for host, tasks in result["tasks"].items() if tasks} >= HOSTS else set()
    assert busy == set(apps), [(app, result["tasks"]) for app, result in zip(apps, told, strict=True)]


def executors_of(cluster: ClusterRecord, host: str) -> list[int]:
    (worker,) = [worker for worker in cluster.workers if worker.host == host]
    return [pid for pid in family(worker.process.pid) if b"CoarseGrainedExecutorBackend" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_job_survives_the_loss_of_an_executor_and_of_a_worker_without_its_program(
    cluster, programs, example, examples, tmp_path
):
    app = "bargains/bargains.py:app"
    data = data_of(app, example, examples, tmp_path)
    wanted = run(str(examples / app), data, tmp_path / "wanted", "--engine", "reference")["files"]
    command = ["run", programs / app, "--data", data, "--out", tmp_path / "out", "--batch", "60"]
    command += ["--checkpoint", tmp_path / "c", "--channels", "3", "--placement", "even"]
    command += ["--master", cluster.master]
    given = [sys.executable, "-m", "penstock.cli", *map(str, command)]
    with subprocess.Popen(given, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as job:
        _wait_for_batch(job, tmp_path / "c", 3)
        # From here on the driver, too, has only what it has read.
        programs.rename(tmp_path / "gone")
        (executor, *_) = executors_of(cluster, "127.0.0.3")
        os.kill(executor, signal.SIGKILL)
        _wait_for_batch(job, tmp_path / "c", 10)
        os.kill(cluster.workers[2].process.pid, signal.SIGKILL)
        _, told = job.communicate(timeout=900)
    assert job.returncode == 0, told[-3000:]
    out = tmp_path / "out"
    assert {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()} == wanted


def _wait_for_batch(job: subprocess.Popen[str], checkpoint: Path, batch: int) -> None:
    for _ in range(6000):
        if (checkpoint / "spark" / "commits" / str(batch)).exists():
            return
        assert job.poll() is None, "the job ended too early"
        time.sleep(0.05)
    raise AssertionError(f"batch {batch} did not come")
