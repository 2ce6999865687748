"""`penstock bench moves`: channels that move between all batches while parts of the cluster are killed.

A job with windows by count and by time, a join and three ordered sinks runs on a standalone cluster of three workers;
before every batch some of its channels move to executors drawn at random (`workloads.moving_job`). Twice a run, at a
moment drawn at random, something is killed with SIGKILL:

- `executor`: the JVM of an executor; the master starts another one on that worker, so one is lost and one comes;
- `move`: that of an executor, right after channels were sent elsewhere, before they have arrived;
- `driver`: the driver with its JVM, right after channels were sent; all executors go with it.

What Spark does not put right by itself ends the query; it is then started again from its checkpoint. The sinks must
hold what the reference gives them. Each run has a seed, and what is killed in it follows from the seed.
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
from dataclasses import dataclass
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.base.process_tree import PROC, family
from penstock.bench import Bench
from penstock.bench.crashes import contents, expected, gone_already
from penstock.bench.workloads.crashing_job import BATCHES
from penstock.spark.cluster.cluster_record import ClusterRecord
from penstock.spark.cluster.local_cluster import start_cluster, stop_cluster

HOSTS = 3
VICTIMS = ("executor", "move", "driver")
_LONGEST_WAIT_SECONDS = 0.5
_IN_THE_MIDDLE_SECONDS = 0.15
_KILLS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The record of one run.

    Attributes:
        seed: What moves and kills were drawn from.
        kills: What was killed, in turn.
        moves: Before how many batches channels have moved.
        restarts: How often the query was started again.
        is_equal: Whether the sinks hold what the reference gives them.
    """

    seed: int
    kills: tuple[str, ...]
    moves: int
    restarts: int
    is_equal: bool


def run(bench: Bench) -> None:
    """Run the seeds; the environment variable PENSTOCK_SEEDS=A:B runs those from A to B - 1."""
    given = os.environ.get("PENSTOCK_SEEDS")
    first, last = map(int, given.split(":")) if given else (0, 1 if bench.quick else 40)
    found: list[Moved] = []
    for moved in move_jobs(range(first, last)):
        bench.progress(f"seed {moved.seed}: killed {', '.join(moved.kills)}: {moved.is_equal}")
        bench.row(
            seed=moved.seed,
            killed=" ".join(moved.kills),
            batches_with_moves=moved.moves,
            restarts=moved.restarts,
            equal=moved.is_equal,
        )
        found.append(moved)
    kills = Counter(kill for moved in found for kill in moved.kills)
    with bench.figure("moves", title="What was killed while channels moved", xlabel="", ylabel="kills") as axes:
        axes.bar(list(kills), list(kills.values()))
    bench.check(
        "share of runs whose sinks equal the reference", sum(m.is_equal for m in found) / len(found), at_least=1.0
    )
    bench.check("kills a run", kills.total() / len(found), at_least=1.0)
    bench.check("batches with moves a run", sum(m.moves for m in found) / len(found), at_least=BATCHES / 3)


def move_jobs(seeds: Sequence[int]) -> Iterator[Moved]:
    """Run a job for each seed; what became of each, in turn."""
    wanted = expected()
    with tempfile.TemporaryDirectory() as root:
        folders = [Path(root) / str(seed) for seed in seeds]
        for folder in folders:
            (folder / "out").mkdir(parents=True)
        cluster = start_cluster(Path(root) / "cluster", HOSTS)
        driver: _Driver | None = None
        try:
            driver = _Driver(cluster, folders)
            for seed, folder in zip(seeds, folders, strict=True):
                kills, moves, restarts = _follow(driver, random.Random(f"moves/{seed}"), folder)
                is_equal = contents(folder / "out") == wanted
                yield Moved(seed=seed, kills=tuple(kills), moves=moves, restarts=restarts, is_equal=is_equal)
        finally:
            if driver is not None:
                driver.stop()
            stop_cluster(Path(root) / "cluster")


def _follow(driver: _Driver, rng: random.Random, folder: Path) -> tuple[list[str], int, int]:
    """Follow a job to its end, killing on the way; what was killed, and how often channels moved and it began anew."""
    # The last batches may be over before anybody has heard of them.
    plans = [(moment, rng.choice(VICTIMS)) for moment in sorted(rng.sample(range(BATCHES - 3), _KILLS))]
    killed: list[str] = []
    moves: set[int] = set()
    restarts = 0
    while True:
        event, batch = driver.next_event(folder)
        if event == "done":
            return killed, len(moves), restarts
        restarts += event in ("failed", "lost")
        if event == "move":
            moves.add(batch)
        if not plans or batch < plans[0][0] or event not in ("batch", "move"):
            continue
        victim = plans[0][1]
        if (event == "batch") == (victim == "executor"):
            time.sleep(rng.random() * (_LONGEST_WAIT_SECONDS if victim == "executor" else _IN_THE_MIDDLE_SECONDS))
            if driver.kill(victim, rng):
                killed.append(victim)
                plans.pop(0)


class _Driver:
    """The process that runs the jobs, one after the other; it is started again where it was killed."""

    def __init__(self, cluster: ClusterRecord, folders: Sequence[Path]) -> None:
        self._cluster, self._folders = cluster, folders
        self._process = self._start()

    def next_event(self, folder: Path) -> tuple[str, int]:
        """The next event of a job: `move`, `batch`, `failed`, `done`, or `lost` if the process was killed."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = re.fullmatch(rf"{folder.name} (move|batch|failed|done) (\d+)\n", line)
            if found is not None:
                return found[1], int(found[2])
        if self._process.wait() >= 0:
            raise UserError(f"the driver ended with exit status {self._process.returncode}")
        self._process = self._start()
        return "lost", -1

    def kill(self, victim: str, rng: random.Random) -> bool:
        """Kill a victim, if there is one."""
        if victim == "driver":
            self.stop()
            return True
        executors = [pid for worker in self._cluster.workers for pid in family(worker.process.pid) if _is_executor(pid)]
        if not executors:
            return False
        with gone_already():
            os.kill(rng.choice(executors), signal.SIGKILL)
            return True
        return False

    def stop(self) -> None:
        """Kill the driver with its JVM."""
        with gone_already():
            os.killpg(self._process.pid, signal.SIGKILL)

    def _start(self) -> subprocess.Popen[str]:
        waiting = [str(folder) for folder in self._folders if not (folder / "done").exists()]
        return subprocess.Popen(
            [sys.executable, "-m", "penstock.bench.workloads.moving_job", self._cluster.master, *waiting],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )


def _is_executor(pid: int) -> bool:
    """Whether a process is the JVM of an executor."""
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].endswith(b"java") and any(b"CoarseGrainedExecutorBackend" in word for word in words)
