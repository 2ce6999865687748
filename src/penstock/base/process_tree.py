"""Processes and their processor time, from /proc; where there is none, nothing is known."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")
_STATE, _PARENT, _OWN = 0, 1, slice(11, 13)
"""Fields of /proc/PID/stat behind the name: the state; the parent; user and system time."""


def stat_of(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat behind the process's name, which may contain anything; None if it has ended."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None


def family(root: int | None = None) -> list[int]:
    """The ids of a process, this one by default, and of all its descendants; the process first.

    Example:
        >>> family()[0] == os.getpid()
        True
    """
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir() if PROC.is_dir() else ():
        fields = stat_of(int(entry.name)) if entry.name.isdigit() else None
        if fields is not None:
            children.setdefault(int(fields[_PARENT]), []).append(int(entry.name))
    found = [os.getpid() if root is None else root]
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def marked(name: str, value: str) -> list[int]:
    """The ids of the processes that were started with a variable in their environment, and still run.

    Example:
        >>> marked("PENSTOCK_NO_SUCH_VARIABLE", "1")
        []
    """
    wanted, found = f"{name}={value}".encode(), []
    for entry in PROC.iterdir() if PROC.is_dir() else ():
        try:
            has = entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        fields = stat_of(int(entry.name)) if has else None
        if fields is not None and fields[_STATE] != "Z":
            found.append(int(entry.name))
    return found


def seconds_of(pid: int) -> float | None:
    """The processor time that a process has used; None if it has ended."""
    fields = stat_of(pid)
    if fields is None:
        return None
    return sum(map(int, fields[_OWN])) / os.sysconf("SC_CLK_TCK")
