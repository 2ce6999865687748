"""The Spark session that Penstock's jobs run in."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.spark.job.connectors import connector_settings
from penstock.spark.job.spark_home import installed, without_zipped_python
from penstock.spark.job.user_settings import (
    SUBMITTED,
    asked_settings,
    default_settings,
    has_own_logging,
    submitted_settings,
    with_theirs,
)

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

_MASTER = re.compile(r"local(\[.+\])?|local-cluster\[.+\]|spark://.+|k8s://.+|yarn")
_PATIENCE_SECONDS = 5.0
_LONGEST_FOLDER = 60
"""A socket's name may have some hundred bytes, of which Spark takes 43 for the file."""

QUIET = Path(__file__).with_name("log4j2.properties")

SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # A batch writes what it has changed, not the files of the store.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
    "spark.sql.pyspark.jvmStacktrace.enabled": "false",
    # Of a batch that is larger, the rows come by files (`collected_rows`), not through the driver's memory of 1 GiB.
    "spark.driver.maxResultSize": "256m",
    "spark.python.daemon.module": "penstock.spark.workers.daemon",
    # The daemon is forked after imports, so libraries must not have started threads.
    "spark.executorEnv.OMP_NUM_THREADS": "1",
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
    # Spark sets it for some workers, and keeps a daemon for each set of variables: all have it, and one daemon.
    "spark.executorEnv.SPARK_SIMPLIFIED_TRACEBACK": "1",
}

QUIETLY = {
    "spark.app.name": "penstock",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={QUIET.as_uri()}",
}
"""What a session has unless the user wants it otherwise."""

ON_ONE_MACHINE = {
    # Spark's usual manager of checkpoint files starts programs, and takes three times as long for a file.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


ON_PLACES = {
    # A task waits for the executor that it was placed on, as long as it is there.
    "spark.locality.wait.process": "60s",
}
"""The settings of a session whose jobs are placed."""


def job_settings(master: str) -> dict[str, str]:
    """The settings that jobs rely on and that a session can have of its own, whatever its context was made with."""
    wanted = {**SETTINGS, **(ON_ONE_MACHINE if master.startswith("local") else {})}
    return {name: value for name, value in wanted.items() if name.startswith("spark.sql.")}


def open_session(master: str = "local[*]", **settings: str) -> SparkSession:
    """Open a session with the settings that our plans rely on.

    In a program that `spark-submit` has started, the master is the one that was given there.

    Raises:
        UserError: There is no Java, no such master, or no such setting.
    """
    asked = asked_settings()
    is_submitted = SUBMITTED in os.environ
    if not is_submitted:
        _check_master(master)
    if not is_submitted and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise UserError(
            "Spark needs Java 17 or newer, and there is none on this machine",
            hint="install one (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17)",
        )
    # Workers run the interpreter that has our packages, not whatever `python3` means.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    gateway = _gateway(SparkConf()) if is_submitted and SparkContext._active_spark_context is None else None
    if gateway is not None:
        submitted = submitted_settings(gateway)
        master = submitted.get("spark.master", master)
        quiet = with_theirs(QUIETLY, submitted, has_logging=True)
    else:
        theirs = default_settings(os.environ, installed())
        quiet = with_theirs(QUIETLY, {**theirs, **asked}, has_logging=has_own_logging(os.environ, installed()))
    is_local = master.startswith("local")
    on_loopback = re.match(r"spark://(127\.|localhost)", master) is not None
    if is_local or on_loopback:
        # One machine talks to itself; nothing is offered to the network.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    local = ON_ONE_MACHINE if is_local or on_loopback else {}
    if is_local and SparkContext._active_spark_context is None:
        local = {**local, **_unix_sockets()}
    wanted = {**SETTINGS, **local, **connector_settings(), **settings, **asked, **quiet}
    conf = SparkConf().setMaster(master).setAll(list(wanted.items()))
    if SparkContext._active_spark_context is None:
        with without_zipped_python() if is_local else nullcontext():
            SparkContext(conf=conf, gateway=gateway or _gateway(conf))
    return SparkSession.builder.config(conf=conf).getOrCreate()


def _unix_sockets() -> dict[str, str]:
    """The settings by which Java and workers talk by Unix sockets, in a folder that nobody else can look into.

    Over TCP what a worker writes last waits for an acknowledgement, some 40 ms for each task. A socket has the name of
    a file, which must be short; where temporary folders have long names it stays TCP.
    """
    folder = tempfile.mkdtemp(prefix="penstock-")
    atexit.register(_remove, folder, os.getpid())
    if len(os.fsencode(folder)) > _LONGEST_FOLDER:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
    }


def _remove(folder: str, process: int) -> None:
    """Remove the folder of a process, unless a process that was forked from it ends."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _check_master(master: str) -> None:
    """Refuse what is no master at once; Spark itself would try for a minute, and then fail in another place."""
    if not _MASTER.fullmatch(master):
        hint = "write local[*] for this machine, or spark://HOST:7077, yarn or k8s://URL for a cluster"
        raise UserError(f"`{master}` is not the URL of a Spark master", hint=hint)
    if not master.startswith("spark://"):
        return
    masters = [name.rpartition(":") for name in master.removeprefix("spark://").split(",")]
    if not any(_answers(host, port) for host, _, port in masters):
        hint = "start one there, or write local[*] for this machine"
        raise UserError(f"no Spark master answers at `{master}`", hint=hint)


def _answers(host: str, port: str) -> bool:
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


def _gateway(conf: SparkConf) -> Any:
    """Start Java; what it and Spark's workers print is shown only if PENSTOCK_SPARK_LOG asks for it.

    Raises:
        UserError: It does not start.
    """
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    launch: Any = launch_gateway
    if "PENSTOCK_SPARK_LOG" in os.environ:
        return launch(conf)
    logging.getLogger().addFilter(_is_not_of_py4j)
    with tempfile.TemporaryFile() as printed:
        try:
            return launch(conf, {"stderr": printed})
        except PySparkRuntimeError:
            printed.seek(0)
            words = _without_stack(printed.read().decode(errors="replace"))
            raise UserError(
                f"Spark does not start: {words[-1] if words else 'it printed nothing'}",
                hint="PENSTOCK_SPARK_LOG=info shows all that it prints; it needs Java 17 or newer",
            ) from None


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Ctrl-C during a call of Java is logged by py4j with a traceback, and then raised all the same."""
    return "py4j" not in record.pathname


def _without_stack(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("\tat ", "\t..."))]


def active_session() -> SparkSession:
    """The session that a batch is processed in, or else that of this process."""
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def cores_of(spark: SparkSession) -> int:
    """How many tasks run at a time."""
    return max(1, int(spark.sparkContext.defaultParallelism))
