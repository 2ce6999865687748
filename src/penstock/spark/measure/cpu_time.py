"""CPU time of the JVM that a Spark session runs in, and of its Python workers.

In local mode the JVM's is everything Spark does beside the workers: tasks, exchanges, planning, and its own garbage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.base.process_tree import family, seconds_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def jvm_seconds(spark: SparkSession) -> float:
    """CPU time so far, in seconds, of all threads.

    Raises:
        UserError: This system does not tell.
    """
    seconds = seconds_of(_jvm(spark))
    if seconds is None:
        raise UserError(
            "the CPU time of Spark's JVM cannot be read here",
            hint="calibrate on Linux, with a local master, and take the file along",
        )
    return seconds


def worker_seconds(spark: SparkSession) -> float:
    """CPU time so far, in seconds, of the processes below the JVM that are alive."""
    return sum(seconds_of(pid) or 0.0 for pid in family(_jvm(spark))[1:])


def _jvm(spark: SparkSession) -> int:
    jvm: Any = spark._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())
