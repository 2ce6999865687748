"""The record of a running cluster: its processes and its addresses.

It lies in the cluster's folder, beside the logs and the folders that executors work in. A process is known by its
number and the time at which it began, so that a later process with the same number is not taken for it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from penstock.base.cache_folder import cache_folder
from penstock.base.durable_files import write_durably
from penstock.base.process_tree import stat_of

RECORD = "cluster.json"
_STARTED = 19
"""The field of /proc/PID/stat behind the name that says when a process began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterProcess:
    """A process of a cluster, the leader of a session of its own.

    Attributes:
        pid: Its number.
        began: When it began, in ticks since the machine was started.
    """

    pid: int
    began: int

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        stat = stat_of(self.pid)
        return stat is not None and stat[0] != "Z" and int(stat[_STARTED]) == self.began


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRecord:
    """A worker of a cluster.

    Attributes:
        host: Its address.
        rack: The rack that it stands in.
        web_port: Of its web page.
        process: That it runs in.
        tags: What it offers.
    """

    host: str
    rack: str
    web_port: int
    process: ClusterProcess
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRecord:
    """A cluster.

    Attributes:
        master: Its URL, for `--master`.
        web_port: Of the master's web page.
        process: The master's.
        cores: Of each worker.
        memory_mib: Of each worker, for executors.
        workers: The workers.
    """

    master: str
    web_port: int
    process: ClusterProcess
    cores: int
    memory_mib: int
    workers: tuple[WorkerRecord, ...] = field(default=())

    @property
    def racks(self) -> dict[str, str]:
        """From host to rack."""
        return {worker.host: worker.rack for worker in self.workers}

    @property
    def tags(self) -> dict[str, frozenset[str]]:
        """From host to what it offers."""
        return {worker.host: frozenset(worker.tags) for worker in self.workers}

    @property
    def processes(self) -> list[ClusterProcess]:
        """Of the workers, then of the master."""
        return [*(worker.process for worker in self.workers), self.process]


def default_folder() -> Path:
    """Where the cluster of a user lies unless a folder is given."""
    return cache_folder() / "cluster"


def process_of(pid: int) -> ClusterProcess:
    """A process that is running now.

    Example:
        >>> import os
        >>> process_of(os.getpid()).is_running
        True
    """
    stat = stat_of(pid)
    return ClusterProcess(pid=pid, began=int(stat[_STARTED]) if stat is not None else 0)


def write_cluster(folder: Path, cluster: ClusterRecord) -> None:
    """Write the record of a cluster."""
    write_durably(folder / RECORD, json.dumps(asdict(cluster), indent=2).encode() + b"\n")


def read_cluster(folder: Path) -> ClusterRecord | None:
    """The record of the cluster in a folder, which may have ended; None if there is none."""
    try:
        read = json.loads((folder / RECORD).read_bytes())
    except FileNotFoundError:
        return None
    workers = tuple(
        WorkerRecord(
            **{**worker, "process": ClusterProcess(**worker["process"]), "tags": tuple(worker.get("tags", ()))}
        )
        for worker in read["workers"]
    )
    return ClusterRecord(**{**read, "process": ClusterProcess(**read["process"]), "workers": workers})


def cluster_of(master: str) -> ClusterRecord | None:
    """The cluster with a master; None if it is not one of ours."""
    cluster = read_cluster(default_folder())
    return cluster if cluster is not None and cluster.master == master else None
