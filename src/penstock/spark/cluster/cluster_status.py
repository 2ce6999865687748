"""The present state of a standalone cluster, as its master and its workers tell it on their web pages."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from penstock.spark.cluster.cluster_record import ClusterRecord

_PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorStatus:
    """An executor that is running.

    Attributes:
        id: Its number in its application.
        host: Of its worker.
        rack: Of its worker.
        cores: How many tasks it runs at a time.
        memory_mib: Of its JVM.
        application: Spark's id of the application.
        name: Of the application.
    """

    id: str
    host: str
    rack: str
    cores: int
    memory_mib: int
    application: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """A worker.

    Attributes:
        host: Its address.
        rack: Where it stands.
        is_alive: Whether it answers.
        cores: How many it has.
        cores_used: How many of them executors have.
        executors: That run on it.
    """

    host: str
    rack: str
    is_alive: bool
    cores: int
    cores_used: int
    executors: tuple[ExecutorStatus, ...]


def read_master(cluster: ClusterRecord) -> dict[str, Any] | None:
    """What the master says of its cluster; None if it does not answer."""
    host = cluster.master.removeprefix("spark://").rpartition(":")[0]
    return _read(f"http://{host}:{cluster.web_port}/json/")


def find_workers(cluster: ClusterRecord) -> list[WorkerStatus]:
    """The workers of a cluster with their executors, in the order of their addresses."""
    page = read_master(cluster) or {"workers": []}
    alive = {worker["host"]: worker for worker in page["workers"] if worker["state"] == "ALIVE"}
    found = []
    for worker in cluster.workers:
        told, own = alive.get(worker.host), _read(f"http://{worker.host}:{worker.web_port}/json/")
        is_alive = told is not None and own is not None
        found.append(
            WorkerStatus(
                host=worker.host,
                rack=worker.rack,
                is_alive=is_alive,
                cores=cluster.cores,
                cores_used=told["coresused"] if told is not None else 0,
                executors=find_executors(own, worker.host, worker.rack) if own is not None else (),
            )
        )
    return found


def find_executors(page: dict[str, Any], host: str, rack: str) -> tuple[ExecutorStatus, ...]:
    """The executors that a worker tells of.

    Example:
        >>> app = {"id": "app-1", "name": "penstock"}
        >>> page = {"executors": [{"id": 3, "memory": 512, "app": app, "cores": 1}]}
        >>> [(e.id, e.name, e.host) for e in find_executors(page, "127.0.0.2", "rack1")]
        [('3', 'penstock', '127.0.0.2')]
    """
    return tuple(
        ExecutorStatus(
            id=str(executor["id"]),
            host=host,
            rack=rack,
            cores=int(executor.get("cores", 1)),
            memory_mib=int(executor["memory"]),
            application=executor["app"]["id"] if "app" in executor else executor["appid"],
            name=executor["app"]["name"] if "app" in executor else executor.get("appname", ""),
        )
        for executor in page["executors"]
    )


def _read(url: str) -> dict[str, Any] | None:
    # Never through a proxy: all of it is on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=_PATIENCE_SECONDS) as answer:
            read: dict[str, Any] = json.loads(answer.read())
    except (urllib.error.URLError, OSError, ValueError):
        return None
    return read
