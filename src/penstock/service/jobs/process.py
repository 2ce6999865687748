"""The process of one attempt at a job: started, found again after a restart of the service, asked to stop, ended.

HOME/jobs/NAME/
    code/             the package
    checkpoint/       of the job, over all attempts
    out/              what its sinks write, unless the job says another folder
    runs/3/           the third attempt
        process.json  who runs it
        report.json   its counts, written anew behind every batch
        summary.json  what it says at its end
        log.txt       what it prints; the part before, where that was long, in log.1.txt
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.base.durable_files import create_durably, make_folder
from penstock.base.holders import Process
from penstock.base.process_tree import family, marked, stat_of

LAUNCH = Path(__file__).with_name("launch.py")
MARK = "PENSTOCK_ATTEMPT"
"""What all processes of an attempt have in their environment, whoever their parent is by now."""

_NOBODY = 0
_OWN_AND_REAPED = slice(11, 15)
"""Fields of /proc/PID/stat behind the name: user and system time, of the process and of children that have ended."""

MOST_LOG_BYTES = 8 << 20
"""How large what it prints may grow before it is trimmed."""

KEPT_ATTEMPTS = 20
"""Of a job."""

GRACE_SECONDS = 20.0
"""How long a process that was just made may take to say who it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a job.

    Attributes:
        folder: Where it keeps its files.
    """

    folder: Path

    @property
    def log(self) -> Path:
        """What it prints."""
        return self.folder / "log.txt"

    @property
    def report(self) -> Path:
        """Its counts behind the last batch."""
        return self.folder / "report.json"

    @property
    def process(self) -> Process | None:
        """Its process, whether it still runs or not; None if there never was one."""
        try:
            found = json.loads((self.folder / "process.json").read_bytes())
            return Process(pid=int(found["pid"]), started=int(found["started"])) if found["pid"] else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @property
    def is_alive(self) -> bool:
        """Whether its process runs, or is about to say that it does."""
        process = self.process
        if process is None:
            # A clock that was set back would make it young for ever.
            return not self._is_given_up and -1.0 <= time.time() - self._begun_at < GRACE_SECONDS
        _reap(process.pid)
        return process.state is not None

    @property
    def _is_given_up(self) -> bool:
        return (self.folder / "process.json").exists()

    @property
    def _begun_at(self) -> float:
        try:
            return self.folder.stat().st_mtime
        except OSError:
            return 0.0

    @property
    def outcome(self) -> str | None:
        """`done`, `interrupted` or `time` where it has ended in order; None where it has failed, or has not ended."""
        try:
            found = json.loads((self.folder / "summary.json").read_bytes())
        except (OSError, ValueError):
            return None
        stopped = found.get("stopped") if isinstance(found, dict) else None
        return stopped if isinstance(stopped, str) else None

    def start(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        """Start it, in a session of its own, so that it outlives the service.

        Args:
            command: What to run.
            environment: Its environment.
            folder: Where.
        """
        make_folder(self.folder)
        launch = [sys.executable, "-I", "-S", str(LAUNCH), str(self.folder / "process.json"), *command]
        with open(self.folder / "summary.json", "wb") as out, open(self.log, "ab") as log:
            subprocess.Popen(
                launch,
                cwd=folder,
                env={**environment, MARK: str(self.folder)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                start_new_session=True,
            )

    def give_up(self) -> None:
        """See to it that a launch that has said nothing never becomes a process."""
        make_folder(self.folder)
        create_durably(self.folder / "process.json", json.dumps({"pid": _NOBODY, "started": 0}).encode())

    def ask_to_stop(self) -> None:
        """Ask it once to stop behind the batch in hand: a second time would mean at once."""
        process, asked = self.process, self.folder / "asked"
        if process is not None and process.state is not None and not asked.exists():
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)
            asked.touch()

    def kill(self) -> None:
        """End it and all that it has started, at once."""
        process = self.process
        if process is not None and process.state is not None:
            for pid in family(process.pid):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        self.end_rest()

    def end_rest(self) -> bool:
        """End what a process that has ended has left behind, such as Spark's; whether there was anything."""
        left = marked(MARK, str(self.folder))
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return bool(left)

    def cpu_seconds(self) -> float | None:
        """The processor time of it and all that it has started, so far; None if it has ended."""
        process = self.process
        if process is None or process.state is None:
            return None
        ticks = os.sysconf("SC_CLK_TCK")
        fields = (stat_of(pid) for pid in family(process.pid))
        return sum(sum(map(int, found[_OWN_AND_REAPED])) for found in fields if found is not None) / ticks

    def trim_log(self) -> None:
        """Keep what it has printed within bounds: the latest part stays, and the part before it in `log.1.txt`.

        It writes at the end of the file, wherever that is, so it need not know. What it prints in the moment between
        the copy and the cut is lost.
        """
        with suppress(OSError):
            if self.log.stat().st_size > MOST_LOG_BYTES:
                shutil.copyfile(self.log, self.folder / "log.1.txt")
                os.truncate(self.log, 0)

    def drop_earlier(self) -> None:
        """Delete the folders of attempts that nobody will ask for any more."""
        for run in self.folder.parent.glob("*"):
            is_old = run.name.isdigit() and int(run.name) <= int(self.folder.name) - KEPT_ATTEMPTS
            if is_old and not marked(MARK, str(run)):
                shutil.rmtree(run, ignore_errors=True)

    def last_words(self, most: int = 2_000) -> str:
        """The end of what it has printed."""
        found = tail(self.log, most)
        missing = most - len(found.encode())
        return tail(self.folder / "log.1.txt", missing) + found if missing > 0 else found


def tail(path: Path, most: int) -> str:
    """The last bytes of a text file; empty where there is none.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "log").write_text("one\\ntwo\\n")
        ...     tail(Path(folder) / "log", 4), tail(Path(folder) / "none", 4)
        ('two\\n', '')
    """
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _reap(pid: int) -> None:
    """Let a child of ours that has ended go; one that another service has started is not ours."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def environment_for_code() -> dict[str, str]:
    """Our environment as code of others may see it: without what opens the service."""
    return {name: value for name, value in os.environ.items() if name != "PENSTOCK_TOKEN"}


def environment_of(streams: Path, master: str, cores: int, *, resizes: bool = False) -> dict[str, Any]:
    """The environment of a job.

    Args:
        streams: Where jobs export and import streams.
        master: The Spark cluster.
        cores: How many cores the application can have of it.
        resizes: Whether they are changed while it runs.
    """
    environment = {**environment_for_code(), "PENSTOCK_STREAMS": os.environ.get("PENSTOCK_STREAMS", str(streams))}
    if master.startswith("spark://"):
        # Executors of one core each can be taken away one by one.
        single = "--conf spark.executor.cores=1 " if resizes else ""
        environment["PYSPARK_SUBMIT_ARGS"] = f"--conf spark.cores.max={cores} {single}pyspark-shell"
    return environment
