"""The memory that the processes of an experiment use: of this process and its descendants, from /proc.

A job on Spark is the driver in Python, the JVM below it and the Python workers below that. Where there is no /proc,
nothing is reported.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.base.process_tree import PROC, family


def kind_of(pid: int, root: int | None = None) -> str:
    """`driver`, `jvm` or `workers`: which part of a job a process is; the job is that of `root`, or of this one."""
    if pid == (os.getpid() if root is None else root):
        return "driver"
    try:
        command = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return "workers"
    return "jvm" if b"java" in command.split(b"\0")[0] else "workers"


def memory_mib(root: int | None = None) -> dict[str, float]:
    """The memory in use by each part of a job; pages that workers share are counted once, in equal shares."""
    used = {"driver": 0.0, "jvm": 0.0, "workers": 0.0}
    for pid in family(root):
        used[kind_of(pid, root)] += _memory_of(pid)
    return used


def _memory_of(pid: int) -> float:
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


@contextmanager
def peak_memory(every_seconds: float = 0.25) -> Iterator[dict[str, float]]:
    """Watch memory while a block runs; the largest use of each part, in MiB, is in the dict when it ends."""
    peak = dict.fromkeys(("driver", "jvm", "workers"), 0.0)
    done = threading.Event()

    def watch() -> None:
        while not done.wait(every_seconds):
            for part, used in memory_mib().items():
                peak[part] = max(peak[part], used)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()
