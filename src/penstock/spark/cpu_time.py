"""CPU time of the JVM that a Spark session runs in.

In local mode that is everything Spark does beside the Python workers: tasks, exchanges, planning, and its own garbage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NS = 1e-9


def jvm_seconds(spark: SparkSession) -> float:
    """CPU time so far, in seconds, of all threads."""
    jvm: Any = spark._jvm
    bean = jvm.java.lang.management.ManagementFactory.getPlatformMXBean(
        jvm.java.lang.Class.forName("com.sun.management.OperatingSystemMXBean")
    )
    return float(bean.getProcessCpuTime()) * _NS
