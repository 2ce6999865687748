"""The jobs in one Spark application, each in a FAIR pool of its own: nobody admits, and nobody is limited.

A pool has the weight that its job has when it is submitted, as its value beside those of others: Spark cannot change it
while the application runs. All jobs run by their first template, in a process of its own that is run as

    python -m penstock.bench.soda_live.by_fair_pools FOLDER DATA JOB...

and writes what jobs have done so far to `counts.json`. It stops them, each behind its batch, when it gets SIGTERM.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.bench.soda_live import live_jobs
from penstock.bench.soda_live.cores import use_cores
from penstock.bench.soda_live.delivered import Count, Record, Watch
from penstock.bench.soda_live.scenario import JOBS, Phase, Scenario

_COUNTS = "counts.json"
_LOOK_SECONDS = 0.25
_PATIENCE_SECONDS = 300.0


class ByFairPools:
    """The jobs of a scenario in pools.

    Args:
        scenario: The run.
        folder: Where everything of it lies.
        cores: Those that there are.
    """

    def __init__(self, scenario: Scenario, folder: Path, cores: frozenset[int]) -> None:
        self._scenario, self._cores, self._folder = scenario, cores, folder
        self.out = folder / "out"
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", __name__, str(folder), str(folder / "feeds")]
        with open(folder / "log.txt", "wb") as log:
            environment = {**os.environ, "PENSTOCK_STREAMS": str(folder / "streams")}
            names = [job.name for job in scenario.jobs]
            self._process = subprocess.Popen([*command, *names], env=environment, stdout=log, stderr=log)

    def begin(self, record: Record) -> Watch:
        """Wait until all jobs work."""
        watch = Watch(record, self.counts, self.running)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(self.counts()) < len(self._scenario.jobs):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise UserError("the jobs in pools did not start", hint=f"see `{self._folder}/log.txt`")
            time.sleep(0.5)
        return watch

    def counts(self) -> dict[str, Count]:
        """How far the jobs are."""
        try:
            found: dict[str, list[Any]] = json.loads((self._folder / _COUNTS).read_text())
        except (OSError, ValueError):
            return {}
        return {
            name: Count(at=at, given=given, taken=taken, template=self._scenario.job(name).templates[0].id)
            for name, (at, given, taken) in found.items()
        }

    def running(self) -> dict[str, str]:
        """All of them, by their first templates."""
        return {job.name: job.templates[0].id for job in self._scenario.jobs}

    def change(self, phase: Phase, before: Phase) -> None:
        """Let the cores be those of a phase; Spark does not know of weights."""
        if phase.capacity != before.capacity:
            use_cores(frozenset(sorted(self._cores)[: round(len(self._cores) * phase.capacity)]))

    def end(self) -> None:
        """Let all jobs stop behind their batches."""
        self._process.terminate()
        if self._process.wait(_PATIENCE_SECONDS):
            raise UserError("a job in a pool has failed", hint=f"see `{self._folder}/log.txt`")

    def close(self) -> None:
        """End what is left."""
        self._process.kill()
        self._process.wait()


def main(folder: Path, data: Path, names: list[str]) -> None:
    """Run jobs in pools until SIGTERM."""
    from penstock.running.handle import Control
    from penstock.spark.job.session import open_session

    pools = folder / "pools.xml"
    pools.write_text(_pools(names))
    settings = {"spark.scheduler.mode": "FAIR", "spark.scheduler.allocation.file": pools.as_uri()}
    session = open_session("local[2]", **settings)
    controls = {name: Control() for name in names}
    failed: list[BaseException] = []

    def work(name: str) -> None:
        try:
            _run_in_pool(session, name, folder, data, controls[name])
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=work, args=(name,), name=name) for name in names]
    signal.signal(signal.SIGTERM, lambda *_: _stop(controls))
    for thread in threads:
        thread.start()
    told: dict[str, tuple[float, int, int]] = {}
    while any(thread.is_alive() for thread in threads):
        _tell(folder, controls, told)
        time.sleep(_LOOK_SECONDS)
    _tell(folder, controls, told)
    session.stop()
    sys.exit(1 if failed else 0)


def _stop(controls: dict[str, Any]) -> None:
    for control in controls.values():
        control.stop()


def _run_in_pool(session: Any, name: str, folder: Path, data: Path, control: Any) -> None:
    from penstock.running.engines import prepare
    from penstock.running.options import make_options

    session.sparkContext.setLocalProperty("spark.scheduler.pool", name)
    job = next(job for job in JOBS if job.name == name)
    options = make_options(
        {
            "spark": session,
            "data": data,
            "out": folder / "out",
            "checkpoint": folder / "checkpoints" / name,
            "channels": 1,
            "continuous": True,
        }
    )
    prepare(getattr(live_jobs, job.templates[0].app).program(), options)(control)


def _tell(folder: Path, controls: dict[str, Any], told: dict[str, tuple[float, int, int]]) -> None:
    """Write how far each job is, and since when."""
    for name, control in controls.items():
        totals = control.totals
        if "Given" in totals:
            given, taken = totals["Given"].submitted, totals["Taken"].submitted
            if name not in told or told[name][1:] != (given, taken):
                told[name] = (time.time(), given, taken)
    fresh = folder / f".{_COUNTS}"
    fresh.write_text(json.dumps(told))
    fresh.replace(folder / _COUNTS)


def _pools(names: list[str]) -> str:
    lines = [
        f'<pool name="{job.name}"><schedulingMode>FIFO</schedulingMode><weight>{max(1, round(job.value / 50))}</weight>'
        "<minShare>0</minShare></pool>"
        for job in JOBS
        if job.name in names
    ]
    return f'<?xml version="1.0"?>\n<allocations>{"".join(lines)}</allocations>\n'


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
