"""Servers that tests start: on loopback, on ports that are free, gone when the tests are."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

STARTS_WITHIN_SECONDS = 90
_PR_SET_PDEATHSIG = 1


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def scratch_folder() -> Path:
    """A folder that is removed at the end."""
    path = Path(tempfile.mkdtemp(prefix="penstock-server-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def start(command: list[str], port: int, log: Path, **options: Any) -> subprocess.Popen[bytes]:
    """Start a server and wait until it takes connections."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=_die_with_parent, **options
        )
    atexit.register(_stop, process)
    for _ in range(STARTS_WITHIN_SECONDS * 10):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return process
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"{command[0]} did not start: {log.read_text(errors='replace')[-2000:]}")


def _die_with_parent() -> None:
    # Even if the tests are killed, nothing is left behind.
    with contextlib.suppress(OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
