"""`penstock bench soak`: a job for an hour at half of the rate that it sustains; nothing may grow.

First the jobs run as fast as they can for some minutes: that is the sustainable rate. Then `penstock run` runs them in
a process of its own, as a user would: with a checkpoint, `--metrics`, and sources that never end. Every few seconds it
is looked at from outside: the memory of its processes (pages that they share counted once), their open files and
threads, the files of the checkpoint and of the temporary folder, what it has logged, how long batches took since the
last look, and how far it is behind. It is ended with SIGTERM, and every line of every sink is compared with what it
must be.

Growth is the median of the last third over that of the first, once a sixth of the time has passed: until then Java
compiles, caches fill, and Spark has not come to the hundred batches that it keeps.
"""

from __future__ import annotations

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.base.process_tree import PROC, family
from penstock.bench import Bench
from penstock.bench.measure.processes import memory_mib
from penstock.bench.workloads.soak_job import ARRIVALS, READINGS, arriving, count_wrong

USUAL_SECONDS, QUICK_SECONDS = 3600.0, 30.0
_FASTEST = 1e-7
"""A period that no machine keeps up with."""

_LOOKS = 360
_LONGEST_GROWTH = 1.1
"""What counts as noise: a tenth."""

_PATIENCE_SECONDS = 600.0
Figures = dict[tuple[str, str], float]
"""Metrics by their name, with the operator where they have one, and the application."""

_SAMPLE = re.compile(r'^(penstock_\w+)\{application="(\w+)"(?:,operator="(\w+)",port="0")?\} (\S+)$', re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The jobs, seen from outside.

    Attributes:
        seconds: Since the first batch.
        tuples: How many `Readings` has made.
        behind_seconds: How many seconds of tuples it is behind.
        batch_seconds: How long a batch of `Readings` took since the last look, in the mean.
        arrivals_batch_seconds: The same of `Arrivals`.
        driver_mib: The memory of the driver.
        jvm_mib: The memory of Java.
        workers_mib: The memory of Python's workers.
        open_files: How many files and sockets its processes have open.
        threads: How many threads they have.
        checkpoint_files: How many files the checkpoint has.
        checkpoint_mib: How large they are.
        temporary_files: How many files the folder for temporary files has.
        temporary_mib: How large they are.
        log_mib: What was printed so far.
    """

    seconds: float
    tuples: float
    behind_seconds: float
    batch_seconds: float
    arrivals_batch_seconds: float
    driver_mib: float
    jvm_mib: float
    workers_mib: float
    open_files: int
    threads: int
    checkpoint_files: int
    checkpoint_mib: float
    temporary_files: int
    temporary_mib: float
    log_mib: float


_FLAT = {
    "batch_seconds": "seconds of a batch",
    "driver_mib": "memory of the driver",
    "jvm_mib": "memory of Java",
    "workers_mib": "memory of Python workers",
    "open_files": "open files",
    "threads": "threads",
    "checkpoint_files": "files of the checkpoint",
    "checkpoint_mib": "bytes of the checkpoint",
    "temporary_files": "temporary files",
}


def run(bench: Bench) -> None:
    """Find the rate, then run for the time that was asked for."""
    seconds = bench.seconds or (QUICK_SECONDS if bench.quick else USUAL_SECONDS)
    with tempfile.TemporaryDirectory() as root:
        sustainable = _sustainable(Path(root) / "fast", min(120.0, max(10.0, seconds / 10)))
        rate = sustainable / 2
        bench.progress(f"it sustains {sustainable:,.0f} tuples a second; {seconds:,.0f} s at {rate:,.0f}")
        folder = Path(root) / "soak"
        with _running(folder, 1 / rate) as job:
            looks = []
            for look in job.looks(seconds, seconds / _LOOKS, rate):
                looks.append(look)
                bench.progress(
                    f"{look.seconds:,.0f} s: {look.behind_seconds:.1f} s behind, {look.jvm_mib:,.0f} MiB of Java"
                )
            status = job.stop()
        sinks = count_wrong(folder / "out")
    for look in looks:
        bench.row(**{name: round(value, 3) for name, value in asdict(look).items()})
    _draw(bench, looks)
    bench.check("sustainable rate, tuples a second", sustainable, at_least=1.0)
    for name, (lines, wrong) in sinks.items():
        bench.check(f"lines of {name} that are wrong, of {lines:,}", wrong, at_most=0)
    bench.check("exit status behind SIGTERM", status, at_most=0)
    last_third = [look.behind_seconds for look in looks[-len(looks) // 3 :]]
    bench.check("seconds behind in the last third, at most", max(last_third), at_most=30.0, timed=True)
    for name, what in _FLAT.items():
        growth = grown([getattr(look, name) for look in looks])
        bench.check(f"{what}: last third to first", growth, at_most=_LONGEST_GROWTH, timed=True)


def grown(values: Sequence[float]) -> float:
    """The median of the last third over that of the first, without the first sixth.

    Example:
        >>> grown([9, 1, 1, 1, 1, 2, 2]), grown([0, 0, 0, 0, 0, 0, 0])
        (2.0, 1.0)
    """
    later = values[-(-len(values) // 6) :] or values
    third = max(1, len(later) // 3)
    first, last = statistics.median(later[:third]), statistics.median(later[-third:])
    return 1.0 if first == last else last / first if first else float("inf")


def _sustainable(folder: Path, seconds: float) -> float:
    """The tuples a second of the job when it is given more than it can take; the start is left out."""
    with _running(folder, _FASTEST) as job:
        looks = list(job.looks(seconds, 1.0, 1 / _FASTEST))
        job.stop()
    begun = [look for look in looks if look.tuples and look.seconds >= seconds / 4]
    if len(begun) < 2 or begun[-1].tuples == begun[0].tuples:
        raise UserError("the job made no tuples in the time that its rate was measured", hint="give more --seconds")
    return (begun[-1].tuples - begun[0].tuples) / (begun[-1].seconds - begun[0].seconds)


class _Jobs:
    """The jobs in a process of their own."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self._folder, self._process = folder, process
        self._batches: dict[str, tuple[float, float]] = {}

    def looks(self, seconds: float, every: float, rate: float) -> Iterator[Look]:
        """Look at them now and then; the time counts from the first batch of both."""
        page = self._page()
        began = time.monotonic()
        first = self._metrics(page)
        while (passed := time.monotonic() - began) < seconds:
            time.sleep(min(every, seconds - passed))
            yield self._look(self._metrics(page), time.monotonic() - began, first, rate)

    def stop(self) -> int:
        """End them as a container would be ended; their exit status."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(timeout=_PATIENCE_SECONDS)

    def kill(self) -> None:
        """End whatever is left of them."""
        for pid in reversed(family(self._process.pid)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()

    def _page(self) -> str:
        """The address of the metrics, once both jobs have come to a batch."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            time.sleep(0.5)
            self._check()
            found = re.search(r"metrics are at (\S+)", self._log.read_text())
            if found is not None and len(self._metrics(found[1])) >= len(_METRICS):
                return found[1]
        raise UserError("the jobs did not come to a batch", hint=self._last_words())

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _last_words(self) -> str:
        """What they have printed behind the last line of progress."""
        lines = self._log.read_text().splitlines()
        told = max((i for i, line in enumerate(lines) if re.search(r": batch \d+: ", line)), default=-1)
        return "\n".join(lines[told + 1 :])

    def _check(self) -> None:
        if self._process.poll() is not None:
            raise UserError(f"the jobs ended with status {self._process.returncode}", hint=self._last_words())

    def _metrics(self, page: str) -> Figures:
        self._check()
        try:
            with urllib.request.urlopen(page, timeout=30) as answer:
                found = _SAMPLE.findall(answer.read().decode())
        except OSError as error:
            # What has ended says why in its last lines.
            time.sleep(5.0)
            self._check()
            raise UserError(f"the metrics of the jobs cannot be read: {error}") from None
        named = {
            (f"{name} {operator}".strip(), application): float(value) for name, application, operator, value in found
        }
        return {key: named[key] for key in _METRICS if key in named}

    def _look(self, now: Figures, passed: float, first: Figures, rate: float) -> Look:
        pids = family(self._process.pid)
        memory = memory_mib(self._process.pid)
        checkpoint, temporary = _files(self._folder / "checkpoint"), _files(self._folder / "tmp")
        made = now[_MADE] - first[_MADE]
        return Look(
            seconds=passed,
            tuples=made,
            behind_seconds=max(0.0, passed - made / rate),
            batch_seconds=self._batch_seconds("Readings", now),
            arrivals_batch_seconds=self._batch_seconds("Arrivals", now),
            driver_mib=memory["driver"],
            jvm_mib=memory["jvm"],
            workers_mib=memory["workers"],
            open_files=sum(_entries(pid, "fd") for pid in pids),
            threads=sum(_entries(pid, "task") for pid in pids),
            checkpoint_files=checkpoint[0],
            checkpoint_mib=checkpoint[1],
            temporary_files=temporary[0],
            temporary_mib=temporary[1],
            log_mib=self._log.stat().st_size / 2**20,
        )

    def _batch_seconds(self, application: str, now: Figures) -> float:
        count, seconds = (now[f"penstock_batch_seconds_{part}", application] for part in ("count", "sum"))
        count_before, seconds_before = self._batches.get(application, (0.0, 0.0))
        self._batches[application] = count, seconds
        return (seconds - seconds_before) / max(1.0, count - count_before)


_MADE = "penstock_tuples_submitted_total Readings", "Readings"
_METRICS = (
    _MADE,
    *((f"penstock_batch_seconds_{part}", name) for name in ("Readings", "Arrivals") for part in ("count", "sum")),
)


@contextmanager
def _running(folder: Path, period: float) -> Iterator[_Jobs]:
    for name in ("data/arrivals", "tmp"):
        (folder / name).mkdir(parents=True)
    (folder / "readings.spl").write_text(READINGS)
    (folder / "arrivals.spl").write_text(ARRIVALS)
    options = {
        "--with": folder / "arrivals.spl",
        "--set": f"period={period:.9f}",
        "--master": "local[2]",
        "--channels": 2,
        "--fusion": "all",
        "--data": folder / "data",
        "--out": folder / "out",
        "--checkpoint": folder / "checkpoint",
        "--metrics": 0,
    }
    command = [sys.executable, "-m", "penstock.cli", "run", str(folder / "readings.spl"), "--continuous"]
    command += [str(part) for option in options.items() for part in option]
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), "SPARK_LOCAL_DIRS": str(folder / "tmp")}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    jobs = _Jobs(folder, process)
    try:
        with arriving(folder / "data/arrivals"):
            yield jobs
    finally:
        jobs.kill()


def _entries(pid: int, name: str) -> int:
    try:
        return len(os.listdir(PROC / str(pid) / name))
    except OSError:
        return 0


def _files(folder: Path) -> tuple[int, float]:
    """How many files there are below a folder, and their MiB; some go away while one looks."""
    count, size = 0, 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.stat(os.path.join(path, name)).st_size
            except OSError:
                continue
            count += 1
    return count, size / 2**20


def _draw(bench: Bench, looks: Sequence[Look]) -> None:
    minutes = [look.seconds / 60 for look in looks]
    with bench.figure("soak_memory", title="Memory", xlabel="minutes", ylabel="MiB") as axes:
        for part in ("jvm", "workers", "driver"):
            axes.plot(minutes, [getattr(look, f"{part}_mib") for look in looks], label=part)
        axes.legend()
    with bench.figure("soak_batches", title="Batches", xlabel="minutes", ylabel="seconds of a batch") as axes:
        axes.plot(minutes, [look.batch_seconds for look in looks], label="Readings")
        axes.plot(minutes, [look.arrivals_batch_seconds for look in looks], label="Arrivals")
        axes.legend()
    with bench.figure("soak_files", title="Files", xlabel="minutes", ylabel="files") as axes:
        axes.plot(minutes, [look.checkpoint_files for look in looks], label="checkpoint")
        axes.plot(minutes, [look.temporary_files for look in looks], label="temporary")
        axes.legend()
