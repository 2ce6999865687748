"""The process of `changing_worker`, as `penstock bench changes` holds it: started, asked, watched and killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from penstock.base.process_tree import family
from penstock.bench.workloads.changing_worker import WORD, Leg

_MASTER = "local[2]"
_LOOK_SECONDS = 0.002
_PATIENCE_SECONDS = 900.0


class WorkerProcess:
    """The process that runs jobs; it is started again where it was killed.

    Args:
        errors: The file with what it says on standard error.

    Attributes:
        batches: How many it has told of since the leg began.
    """

    def __init__(self, errors: Path) -> None:
        self.batches = 0
        self._errors = errors
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""

    def begin(self, leg: Leg) -> None:
        """Let it run a leg."""
        self.batches = 0
        if self._process is None:
            self._process = self._start()
        assert self._process.stdin is not None
        self._process.stdin.write(leg.to_line().encode())
        self._process.stdin.flush()

    def watch(self, moment: Callable[[], bool] | None) -> str:
        """How the leg ended: `stopped`, `done`, `failed` or `died`; nothing if the moment came first."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < until:
            for event in self._events():
                if event != "batch":
                    return event
                self.batches += 1
            if moment is not None and moment():
                return ""
        self.kill()
        return "hung"

    def last_errors(self) -> str:
        """The end of what it has said on standard error."""
        return self._errors.read_text(errors="replace")[-3000:]

    def kill(self) -> None:
        """Kill it, Java and all workers at once."""
        process, self._process, self._unread = self._process, None, b""
        if process is not None:
            # Spark's workers have a group of their own.
            for number in family(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            process.wait()

    def _events(self) -> list[str]:
        """What it has told, after a short wait."""
        assert self._process is not None
        assert self._process.stdout is not None
        number = self._process.stdout.fileno()
        if not select.select([number], [], [], _LOOK_SECONDS)[0]:
            return []
        read = os.read(number, 1 << 16)
        if not read:
            self.kill()
            return ["died"]
        *lines, self._unread = (self._unread + read).split(b"\n")
        # Others write to standard output, too.
        return [words[1] for words in (line.decode(errors="replace").split() for line in lines) if words[:1] == [WORD]]

    def _start(self) -> subprocess.Popen[bytes]:
        with self._errors.open("ab") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "penstock.bench.workloads.changing_worker", _MASTER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
