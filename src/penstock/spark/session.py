"""The Spark session that Penstock's jobs run in."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from penstock.diagnostics import UserError
from penstock.spark.connectors import connector_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
    "spark.sql.pyspark.jvmStacktrace.enabled": "false",
    "spark.python.daemon.module": "penstock.spark.daemon",
    # The daemon is forked after imports, so libraries must not have started threads.
    "spark.executorEnv.OMP_NUM_THREADS": "1",
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def open_session(master: str = "local[*]", **settings: str) -> SparkSession:
    """Open a session with the settings that our plans rely on.

    Raises:
        UserError: There is no Java.
    """
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise UserError(
            "Spark needs Java 17 or newer, and there is none on this machine",
            hint="install one (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17)",
        )
    # Workers run the interpreter that has our packages, not whatever `python3` means.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    if master.startswith("local"):
        # One machine talks to itself; nothing is offered to the network.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("penstock").master(master)
    for name, value in {**SETTINGS, **connector_settings(), **settings}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
