"""CPU time of the JVM that a Spark session runs in, and of its Python workers.

In local mode the JVM's is everything Spark does beside the workers: tasks, exchanges, planning, and its own garbage.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.diagnostics import UserError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PARENT, _UTIME, _STIME = 1, 11, 12
"""Where `stat` has the parent and the times, counted behind the name of the program."""


def jvm_seconds(spark: SparkSession) -> float:
    """CPU time so far, in seconds, of all threads.

    Raises:
        UserError: This system does not tell.
    """
    fields = _stat(_jvm(spark))
    if fields is None:
        raise UserError(
            "the CPU time of Spark's JVM cannot be read here",
            hint="calibrate on Linux, with a local master, and take the file along",
        )
    return _seconds(fields)


def worker_seconds(spark: SparkSession) -> float:
    """CPU time so far, in seconds, of the processes below the JVM that are alive."""
    known = {int(p.name): fields for p in Path("/proc").glob("[0-9]*") if (fields := _stat(int(p.name)))}
    children: dict[int, list[int]] = {}
    for pid, fields in known.items():
        children.setdefault(int(fields[_PARENT]), []).append(pid)
    below = list(children.get(_jvm(spark), ()))
    for pid in below:
        below += children.get(pid, ())
    return sum(_seconds(known[pid]) for pid in below)


def _jvm(spark: SparkSession) -> int:
    jvm: Any = spark._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def _stat(pid: int) -> list[str] | None:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _seconds(fields: list[str]) -> float:
    return (int(fields[_UTIME]) + int(fields[_STIME])) / os.sysconf("SC_CLK_TCK")
