"""Starts and stops a standalone cluster of Spark's on loopback addresses: a master and workers, each its own process.

The master is on 127.0.0.1, worker n on 127.0.0.(n + 1), so that Spark takes the workers for different hosts: what one
executor reads from another goes through a socket and is counted as remote. Each process leads a session of its own.
What it starts, executors and their Python workers, belongs to that session, so nothing is left when the cluster is
taken down.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.base.process_tree import PROC, stat_of
from penstock.spark.cluster.cluster_record import (
    ClusterProcess,
    ClusterRecord,
    WorkerRecord,
    process_of,
    read_cluster,
    write_cluster,
)
from penstock.spark.cluster.cluster_status import read_master
from penstock.spark.cluster.limited_network import GATEWAY, Site

MASTER_HOST = "127.0.0.1"
_PAGE = 8081
"""The port of a worker's page where each has an address space of its own."""

_START_SECONDS = 120.0
_STOP_SECONDS = 10.0
_LOOK_SECONDS = 0.1
_SESSION = 3
"""The field of /proc/PID/stat behind the name that names its session."""
_CLASSES = {"master": "org.apache.spark.deploy.master.Master", "worker": "org.apache.spark.deploy.worker.Worker"}


def start_cluster(
    folder: Path,
    hosts: int,
    *,
    racks: int = 1,
    cores: int = 1,
    memory_mib: int = 1024,
    tags: Mapping[str, Sequence[str]] | None = None,
    sites: Sequence[Site] = (),
    notice: Callable[[str], None] = lambda text: None,
) -> ClusterRecord:
    """Start a cluster, and wait until the master knows all workers.

    Args:
        folder: Its folder, for the record, logs, and what executors need.
        hosts: How many workers it has.
        racks: Over how many racks they are dealt.
        cores: Of each worker.
        memory_mib: Of each worker.
        tags: By address of a worker, what it offers.
        sites: Where workers are, one each, if not on loopback addresses (`limited_network`).
        notice: Is told what happens.

    Raises:
        UserError: There is a cluster already, an address cannot be used, or a process does not start.
    """
    if racks > hosts:
        raise UserError(f"{hosts} hosts cannot stand in {racks} racks", hint="ask for at most as many racks as hosts")
    present = read_cluster(folder)
    if present is not None and any(process.is_running for process in present.processes):
        raise UserError(
            f"there is a cluster already, with its master at {present.master}",
            hint="`penstock cluster down` ends it; --folder DIR has another one beside it",
        )
    at = list(sites) or [Site(host=f"127.0.0.{number + 2}") for number in range(hosts)]
    addresses = [site.host for site in at]
    master_host = GATEWAY if sites else MASTER_HOST
    _check_tags(tags or {}, addresses)
    for address in (MASTER_HOST, *(() if sites else addresses)):
        _check_address(address)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "logs").mkdir(parents=True)
    started: list[ClusterProcess] = []
    try:
        port, web_port = _free_port(master_host), _free_port(master_host)
        where: tuple[str, ...] = ("--host", master_host, "--port", str(port), "--webui-port", str(web_port))
        started.append(_start(folder, "master", Site(host=master_host), where))
        master = f"spark://{master_host}:{port}"
        workers = []
        for number, site in enumerate(at):
            host = site.host
            page = _PAGE if sites else _free_port(host)
            more = ("--cores", str(cores), "--memory", f"{memory_mib}M", "--work-dir", str(folder / "work" / host))
            where = ("--host", host, "--webui-port", str(page), *more, master)
            started.append(_start(folder, "worker", site, where))
            rack = f"rack{number * racks // hosts + 1}"
            offers = tuple((tags or {}).get(host, ()))
            workers.append(WorkerRecord(host=host, rack=rack, web_port=page, process=started[-1], tags=offers))
        record = ClusterRecord(
            master=master,
            web_port=web_port,
            process=started[0],
            cores=cores,
            memory_mib=memory_mib,
            workers=tuple(workers),
        )
        write_cluster(folder, record)
        notice(f"the master is at {master}; waiting for {hosts} workers")
        _wait_for_workers(folder, record)
    except BaseException:
        _end(started)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return record


def stop_cluster(folder: Path) -> bool:
    """End a cluster with all that runs on it, and remove its folder; tells whether there was one."""
    cluster = read_cluster(folder)
    if cluster is None:
        return False
    _end(cluster.processes)
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _check_tags(tags: Mapping[str, Sequence[str]], hosts: Sequence[str]) -> None:
    for host in tags:
        if host not in hosts:
            raise UserError(f"there is no worker `{host}` to have a tag", hint=f"workers are {', '.join(hosts)}")


def _check_address(address: str) -> None:
    try:
        with socket.socket() as probe:
            probe.bind((address, 0))
    except OSError as error:
        raise UserError(
            f"this machine has no address {address}: {error.strerror}",
            hint="Linux has all of 127.0.0.0/8; macOS gets one by `sudo ifconfig lo0 alias ADDRESS`",
        ) from None


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _start(folder: Path, kind: str, site: Site, arguments: Sequence[str]) -> ClusterProcess:
    """Start a process of the cluster, which leads a session of its own."""
    import pyspark

    home = Path(pyspark.__file__).parent
    with (folder / "logs" / f"{kind}-{site.host}.log").open("wb") as log:
        process = subprocess.Popen(
            [*site.enter, home / "bin" / "spark-class", _CLASSES[kind], *arguments],
            env=_environment(home, site.host, folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return process_of(process.pid)


def _environment(home: Path, host: str, folder: Path) -> Mapping[str, str]:
    given = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    local = folder / "local" / host
    local.mkdir(parents=True, exist_ok=True)
    return {
        **given,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": host,
        "SPARK_LOCAL_DIRS": str(local),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "PYSPARK_PYTHON": sys.executable,
    }


def _wait_for_workers(folder: Path, cluster: ClusterRecord) -> None:
    until = time.monotonic() + _START_SECONDS
    wanted = {worker.host for worker in cluster.workers}
    while True:
        page = read_master(cluster)
        if page is not None and wanted <= {w["host"] for w in page["workers"] if w["state"] == "ALIVE"}:
            return
        ended = next((process for process in cluster.processes if not process.is_running), None)
        if ended is not None or time.monotonic() > until:
            raise UserError(f"the cluster does not start: {_last_words(folder)}", hint="it needs Java 17 or newer")
        time.sleep(_LOOK_SECONDS)


def _last_words(folder: Path) -> str:
    """The first line of the logs that says what went wrong."""
    lines = [
        line for log in sorted((folder / "logs").iterdir()) for line in log.read_text(errors="replace").splitlines()
    ]
    wrong = [line for line in lines if re.search("ERROR|Exception|JAVA_HOME|No such file", line)]
    return (wrong or lines or ["it printed nothing"])[0].strip()


def _end(processes: Sequence[ClusterProcess]) -> None:
    """End processes and all that belongs to their sessions."""
    running = [process for process in processes if process.is_running]
    members = {pid for process in processes for pid in _session(process)}
    for process in running:
        _signal(process.pid, signal.SIGTERM)
    until = time.monotonic() + _STOP_SECONDS
    while any(process.is_running for process in running) and time.monotonic() < until:
        _reap(running)
        time.sleep(_LOOK_SECONDS)
    members |= {pid for process in processes for pid in _session(process)}
    for pid in members:
        _signal(pid, signal.SIGKILL)
    while any(_session(process) for process in processes) and time.monotonic() < until + _STOP_SECONDS:
        _reap(running)
        time.sleep(_LOOK_SECONDS)


def _session(leader: ClusterProcess) -> list[int]:
    """The processes of the session of a process that have not ended, whether it has or not.

    While there is one, the system gives the leader's number to no other process.
    """
    found = []
    for entry in PROC.iterdir() if PROC.is_dir() else ():
        stat = stat_of(int(entry.name)) if entry.name.isdigit() else None
        if stat is None or int(stat[_SESSION]) != leader.pid or stat[0] == "Z":
            continue
        if int(entry.name) == leader.pid and not leader.is_running:
            return []
        found.append(int(entry.name))
    return found


def _reap(processes: Sequence[ClusterProcess]) -> None:
    """Take note of the end of those that are our own children."""
    for process in processes:
        try:
            os.waitpid(process.pid, os.WNOHANG)
        except ChildProcessError:
            continue


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
