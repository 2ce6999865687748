"""Who holds a lock: a process, on a host, since when, running what; and whether it is still there."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from penstock.base.process_tree import PROC, stat_of

_STATE, _STARTED = 0, 19
"""Fields of /proc/PID/stat behind the name: the state; when the process started, in ticks since the machine did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process; a later one with the same id started at another time.

    Attributes:
        pid: Its id.
        started: When it started, in ticks since the machine did.
    """

    pid: int
    started: int | None

    @property
    def state(self) -> str | None:
        """`running`, `stopped`, or None if it has ended."""
        fields = stat_of(self.pid)
        if fields is None or fields[_STATE] == "Z" or int(fields[_STARTED]) != self.started:
            return None
        return "stopped" if fields[_STATE] in "Tt" else "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process that holds a lock.

    Attributes:
        process: The process.
        host: Its host's name.
        boot: What tells this start of the host's kernel from all others, empty where there is no way to know.
        namespace: In which its id means something: that of its container.
        since: When it took the lock, in UTC.
        command: Its command line.
        helper: The process that works for it, such as Spark's, and may outlive it for a moment.
    """

    process: Process
    host: str
    boot: str
    namespace: str
    since: str
    command: str
    helper: Process | None = None

    @property
    def is_of_this_host(self) -> bool:
        """Whether it runs, or ran, under the kernel that we run under."""
        return bool(self.boot) and self.boot == _boot()

    @property
    def state(self) -> str | None:
        """`running`, `stopped`, or None if it has ended or cannot be seen from here."""
        return self.process.state if self._can_be_seen else None

    @property
    def helper_state(self) -> str | None:
        """The same of the process that works for it."""
        return self.helper.state if self.helper is not None and self._can_be_seen else None

    @property
    def _can_be_seen(self) -> bool:
        return self.is_of_this_host and self.namespace == _namespace()

    def __str__(self) -> str:
        state = " (stopped)" if self.state == "stopped" else ""
        return f"process {self.process.pid}{state} on {self.host}, since {self.since}: {self.command}"

    def encode(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"


def decode_holder(content: bytes) -> Holder | None:
    """The holder that was encoded; None if it was not written to its end."""
    try:
        read = json.loads(content.partition(b"\n")[0])
        helper = Process(**read["helper"]) if read["helper"] else None
        return Holder(**{**read, "process": Process(**read["process"]), "helper": helper})
    except (ValueError, TypeError, KeyError):
        return None


def this_process(helper: int | None = None) -> Holder:
    """The holder that we are.

    Args:
        helper: The id of a process that works for us.

    Example:
        >>> me = this_process()
        >>> decode_holder(me.encode()) == me, me.is_of_this_host or not PROC.is_dir()
        (True, True)
    """
    return Holder(
        process=_process(os.getpid()),
        host=socket.gethostname(),
        boot=_boot(),
        namespace=_namespace(),
        since=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        command=show_command(sys.argv),
        helper=None if helper is None else _process(helper),
    )


def show_command(words: Sequence[str]) -> str:
    """A command line without what may be secret: the values of settings, and who logs in to a URL.

    Example:
        >>> show_command(["/bin/penstock", "run", "a.spl", "--set", "password=x", "--streams=kafka://u:p@h/"])
        'penstock run a.spl --set password=... --streams=kafka://...@h/'
    """
    shown = [Path(words[0]).name, *words[1:]]
    for place, word in enumerate(shown):
        if place and shown[place - 1] == "--set":
            shown[place] = word.partition("=")[0] + "=..."
        elif word.startswith("--set="):
            shown[place] = "=".join(word.split("=")[:2]) + "=..."
    return re.sub(r"://[^/@\s]*@", "://...@", shlex.join(shown))[:500]


def _process(pid: int) -> Process:
    fields = stat_of(pid)
    return Process(pid=pid, started=None if fields is None else int(fields[_STARTED]))


def _boot() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return os.readlink(PROC / "self/ns/pid")
    except OSError:
        return ""
