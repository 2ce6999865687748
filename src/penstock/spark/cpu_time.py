"""CPU time of the JVM that a Spark session runs in.

In local mode that is everything Spark does beside the Python workers: tasks, exchanges, planning, and its own garbage.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.diagnostics import UserError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UTIME, _STIME = 11, 12
"""Where `stat` has the times, counted behind the name of the program."""


def jvm_seconds(spark: SparkSession) -> float:
    """CPU time so far, in seconds, of all threads.

    Raises:
        UserError: This system does not tell.
    """
    jvm: Any = spark._jvm
    path = Path("/proc") / str(jvm.java.lang.ProcessHandle.current().pid()) / "stat"
    try:
        fields = path.read_text().rpartition(")")[2].split()
    except OSError as error:
        raise UserError(
            "the CPU time of Spark's JVM cannot be read here",
            hint="calibrate on Linux, with a local master, and take the file along",
        ) from error
    return (int(fields[_UTIME]) + int(fields[_STIME])) / os.sysconf("SC_CLK_TCK")
