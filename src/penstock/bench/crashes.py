"""`penstock bench crashes`: kill parts of a job at random moments; its sinks must hold what the reference gives them.

The job has windows by count and by time, a join, two stateful PEs on two channels and three sinks. It runs in a process
of its own, which tells of every batch. At a random batch, and a random moment after it, one of these is killed with
SIGKILL:

- `worker`: a Python worker, or the process that plans the batches of the source;
- `executor`: the JVM of an executor, on `local-cluster[2,1,1024]`;
- `driver`: everything, the driver included.

What Spark does not put right by itself ends the query; it is then started again from its checkpoint, as a user would.
Every run has a seed, which is printed.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.base.process_tree import PROC, family, stat_of
from penstock.bench import Bench
from penstock.bench.workloads.crashing_job import BATCHES, SINKS, program
from penstock.expr.environment import Environment
from penstock.reference import run as run_reference

MASTERS = {"worker": "local[2,4]", "executor": "local-cluster[2,1,1024]", "driver": "local[2]"}
_COMMANDS = {
    "worker": (b"penstock.spark.workers.daemon", b"python_streaming_source_runner"),
    "executor": (b"CoarseGrainedExecutorBackend",),
}
_LONGEST_WAIT_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """The record of one job that was made to crash.

    Attributes:
        seed: The seed that the moments of its kills were drawn from.
        kills: After which batches something was killed.
        restarts: How often the query was started again.
        is_equal: Whether the sinks hold what the reference gives them.
    """

    seed: int
    kills: tuple[int, ...]
    restarts: int
    is_equal: bool


def run(bench: Bench) -> None:
    """Kill workers, executors and drivers; only workers where it must be quick."""
    runs = {"worker": 1} if bench.quick else {"worker": 12, "executor": 8, "driver": 8}
    crashes: list[Crash] = []
    kills: Counter[str] = Counter()
    for victim, count in runs.items():
        for crash in crash_jobs(victim, range(count), kills=1 if bench.quick else 2):
            bench.progress(f"{victim} killed after batches {crash.kills}, seed {crash.seed}: {crash.is_equal}")
            bench.row(
                victim=victim,
                seed=crash.seed,
                kills=len(crash.kills),
                restarts=crash.restarts,
                equal=crash.is_equal,
            )
            crashes.append(crash)
            kills[victim] += len(crash.kills)
    with bench.figure("crashes", title="What was killed", xlabel="", ylabel="kills") as axes:
        axes.bar(list(kills), list(kills.values()))
    bench.check("share of jobs whose sinks equal the reference", _share(crashes), at_least=1.0)
    bench.check("kills", kills.total(), at_least=len(crashes))


def _share(crashes: Sequence[Crash]) -> float:
    return sum(crash.is_equal for crash in crashes) / len(crashes)


def crash_jobs(victim: str, seeds: Sequence[int], *, kills: int, sinks: str = "") -> Iterator[Crash]:
    """Run a job for each seed and kill something in it so many times; what became of each, in turn.

    Args:
        victim: What is killed.
        seeds: Of the moments; there is a job for each.
        kills: How often in each job.
        sinks: More sinks of the job, as `crashing_job` takes them; what they hold is for the caller to see.
    """
    wanted = expected()
    with tempfile.TemporaryDirectory() as root:
        folders = [Path(root) / str(seed) for seed in seeds]
        for folder in folders:
            (folder / "out").mkdir(parents=True)
        driver = _Driver(victim, folders, sinks)
        try:
            for seed, folder in zip(seeds, folders, strict=True):
                killed, restarts = _crash(driver, random.Random(f"{victim}/{seed}"), folder, kills)
                is_equal = contents(folder / "out") == wanted
                yield Crash(seed=seed, kills=tuple(killed), restarts=restarts, is_equal=is_equal)
        finally:
            driver.stop()


def _crash(driver: _Driver, rng: random.Random, folder: Path, kills: int) -> tuple[list[int], int]:
    """Follow a job to its end, killing on the way; after which batches, and how often it was started again."""
    # The last batches may be over before anybody has heard of them.
    moments = sorted(rng.sample(range(BATCHES - 3), kills))
    killed: list[int] = []
    restarts = 0
    while True:
        event, batch = driver.next_event(folder)
        if event == "done":
            return killed, restarts
        restarts += event in ("failed", "lost")
        if event == "batch" and moments and batch >= moments[0]:
            time.sleep(rng.random() * _LONGEST_WAIT_SECONDS)
            if driver.kill(rng):
                killed.append(batch)
                moments.pop(0)


class _Driver:
    """The process that runs the jobs, one after the other; it is started again where it was killed."""

    def __init__(self, victim: str, folders: Sequence[Path], sinks: str) -> None:
        self.victim = victim
        self._sinks = sinks
        self._folders = folders
        self._process = self._start()

    def next_event(self, folder: Path) -> tuple[str, int]:
        """The next event of a job that the process reports: `batch`, `failed`, `done`, or `lost` if it was killed."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # Others write to standard output, too.
            found = re.fullmatch(rf"{folder.name} (batch|failed|done) (\d+)\n", line)
            if found is not None:
                return found[1], int(found[2])
        if self._process.wait() >= 0:
            raise UserError(f"the driver ended with exit status {self._process.returncode}")
        self._process = self._start()
        return "lost", -1

    def kill(self, rng: random.Random) -> bool:
        """Kill a victim, if there is one."""
        if self.victim == "driver":
            self.stop()
            return True
        victims = [pid for pid in family(self._process.pid) if self._is_victim(pid)]
        if not victims:
            return False
        with gone_already():
            os.kill(rng.choice(victims), signal.SIGKILL)
            return True
        return False

    def stop(self) -> None:
        """Kill everything."""
        with gone_already():
            os.killpg(self._process.pid, signal.SIGKILL)

    def _start(self) -> subprocess.Popen[str]:
        waiting = [str(folder) for folder in self._folders if not (folder / "done").exists()]
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "penstock.bench.workloads.crashing_job",
                MASTERS[self.victim],
                self._sinks,
                *waiting,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def _is_victim(self, pid: int) -> bool:
        """Whether a process is of the kind in question; the daemon that workers are forked from is not."""
        wanted = _COMMANDS[self.victim]
        fields = stat_of(pid)
        if fields is None or not any(word in _command(pid) for word in wanted):
            return False
        is_daemon = b"daemon" in _command(pid) and b"daemon" not in _command(int(fields[1]))
        return not is_daemon


@contextmanager
def gone_already() -> Iterator[None]:
    """A process may end by itself just before it is killed."""
    try:
        yield
    except ProcessLookupError:
        return


def _command(pid: int) -> bytes:
    try:
        return (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return b""


def expected() -> dict[str, bytes]:
    """The files of the sinks after a run of the reference."""
    with tempfile.TemporaryDirectory() as out:
        environment = Environment(data_directory=Path(out), output_directory=Path(out))
        run_reference(program(), environment=environment)
        return contents(Path(out))


def contents(folder: Path) -> dict[str, bytes]:
    """The files that the sinks have written, by name."""
    return {name: (folder / name).read_bytes() for name in SINKS}
