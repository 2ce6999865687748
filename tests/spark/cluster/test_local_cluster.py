"""A cluster on loopback addresses: it starts, tells what runs, and leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.base.process_tree import PROC, stat_of
from penstock.spark.cluster.cluster_record import ClusterProcess, ClusterRecord, process_of, read_cluster, write_cluster
from penstock.spark.cluster.local_cluster import start_cluster, stop_cluster

pytestmark = pytest.mark.xdist_group("spark-commands")


def sessions(leaders: set[int]) -> list[int]:
    """The processes of sessions."""
    stats = ((int(e.name), stat_of(int(e.name))) for e in PROC.iterdir() if e.name.isdigit())
    return [pid for pid, stat in stats if stat is not None and int(stat[3]) in leaders and stat[0] != "Z"]


def penstock(*given: str) -> dict[str, object]:
    command = [sys.executable, "-m", "penstock.cli", "cluster", *given, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_cluster_comes_up_shows_its_workers_and_leaves_nothing(tmp_path: Path) -> None:
    place = tmp_path / "cluster"
    up = penstock("up", "--hosts", "2", "--racks", "2", "--tag", "127.0.0.3=gpu", "--folder", str(place))
    record = read_cluster(place)
    assert record is not None
    leaders = {process.pid for process in record.processes}
    try:
        assert record.racks == {"127.0.0.2": "rack1", "127.0.0.3": "rack2"}
        assert record.tags == {"127.0.0.2": frozenset(), "127.0.0.3": frozenset(["gpu"])}
        with pytest.raises(UserError, match="there is a cluster already"):
            start_cluster(place, 1)
        shown = penstock("status", "--folder", str(place))
        assert (shown["master"], shown["is_running"]) == (up["master"], True)
        workers = shown["workers"]
        assert isinstance(workers, list)
        assert [(w["host"], w["is_alive"], w["cores_used"], w["executors"]) for w in workers] == [
            ("127.0.0.2", True, 0, []),
            ("127.0.0.3", True, 0, []),
        ]
    finally:
        ended = penstock("down", "--folder", str(place))
    assert ended == {"ended": True}
    assert sessions(leaders) == []
    assert not place.exists()
    assert penstock("down", "--folder", str(place)) == {"ended": False}


def test_a_process_that_has_the_number_of_one_that_ended_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
        began = process_of(other.pid).began
        gone = ClusterProcess(pid=other.pid, began=began - 1)
        record = ClusterRecord(master="spark://127.0.0.1:1", web_port=1, process=gone, cores=1, memory_mib=512)
        write_cluster(tmp_path, record)
        assert stop_cluster(tmp_path)
        assert other.poll() is None
        other.kill()


def test_a_tag_is_of_a_worker_that_there_is(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no worker `127.0.0.9` to have a tag"):
        start_cluster(tmp_path / "cluster", 2, tags={"127.0.0.9": ["gpu"]})


def test_there_are_at_most_as_many_racks_as_hosts(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="2 hosts cannot stand in 3 racks"):
        start_cluster(tmp_path / "cluster", 2, racks=3)


def test_a_cluster_that_does_not_start_says_why_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    with pytest.raises(UserError, match=r"the cluster does not start: .*no-java"):
        start_cluster(tmp_path / "cluster", 1)
    assert not (tmp_path / "cluster").exists()
