"""The executor that a Python worker belongs to, which Spark does not tell its workers.

An executor's JVM is started with its number and its host as arguments, on every cluster manager. The worker, or the
daemon that it was forked from, is its child. Where that cannot be read, nothing is known.
"""

from __future__ import annotations

from functools import cache

from penstock.base.process_tree import PROC, stat_of

_MOST_GENERATIONS = 4
_PARENT = 1


@cache
def executor_of(pid: int) -> tuple[str, str]:
    """The number and the host of the executor that a process is a descendant of; both empty if it is of none.

    Args:
        pid: Of the process; a worker is forked, so it asks by its own.

    Example:
        >>> import os
        >>> executor_of(os.getpid())
        ('', '')
    """
    for _ in range(_MOST_GENERATIONS):
        arguments = _arguments(pid)
        if "--executor-id" in arguments:
            return _behind(arguments, "--executor-id"), _behind(arguments, "--hostname")
        stat = stat_of(pid)
        if stat is None or int(stat[_PARENT]) <= 1:
            break
        pid = int(stat[_PARENT])
    return "", ""


def _arguments(pid: int) -> list[str]:
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def _behind(arguments: list[str], option: str) -> str:
    found = arguments.index(option) + 1 if option in arguments else len(arguments)
    return arguments[found] if found < len(arguments) else ""
