"""The jobs under eviction by priority, as the resource-aware scheduler of Storm does it.

A job declares what it needs, and gets all of it or does not run. The scheduler takes the jobs by priority, and those of
one priority as they came; one that does not fit beside those that were taken is passed over, and those of lower
priority are evicted for it. What was declared is not measured and not enforced: a job takes in what its feed has.

Reference:
    Apache Storm, "Resource Aware Scheduler", topology priorities and eviction; Peng et al., "R-Storm", Middleware 2015.
    Changes of capacity are seen at once here, and not at the next round of the scheduler.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.bench.soda_live.attempts import count_in
from penstock.bench.soda_live.cores import use_cores
from penstock.bench.soda_live.delivered import Count, Record, Watch
from penstock.bench.soda_live.scenario import LiveJob, Phase, Scenario
from penstock.service.carry_out.carrier import command_of
from penstock.service.carry_out.settings import Settings
from penstock.service.decide.plan import Grant
from penstock.service.jobs.package import unpack
from penstock.service.jobs.process import Attempt, environment_of
from penstock.service.jobs.submission import Submission, submission_from_json

_LOOK_SECONDS, _PATIENCE_SECONDS = 0.5, 300.0


def choose(jobs: Sequence[LiveJob], declared: Mapping[str, float], mips: float) -> list[str]:
    """The jobs that run.

    Example:
        >>> from penstock.bench.soda_live.scenario import JOBS
        >>> declared = {job.name: job.needs_mips for job in JOBS}
        >>> choose(JOBS, declared, 2000.0), choose(JOBS, declared, 1000.0)
        (['alarms', 'orders', 'fraud'], ['alarms'])
    """
    taken: list[str] = []
    for job in sorted(jobs, key=lambda job: job.rank):
        if sum(declared[name] for name in taken) + declared[job.name] <= mips:
            taken.append(job.name)
    return taken


class ByPriority:
    """The jobs of a scenario, evicted by priority.

    Args:
        scenario: The run.
        folder: Where everything of it lies.
        cores: Those that there are.
    """

    def __init__(self, scenario: Scenario, folder: Path, cores: frozenset[int]) -> None:
        self._scenario, self._cores = scenario, cores
        self.home, self.out, self._feeds = folder / "home", folder / "out", folder / "feeds"
        self._settings = Settings(home=self.home, nodes=())
        self._declared = {job.name: job.needs_mips / 2000.0 * scenario.mips for job in scenario.jobs}
        self._attempts: dict[str, int] = {}
        self._wanted: list[str] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def begin(self, record: Record) -> Watch:
        """Start the jobs that have a place, and wait until they work."""
        for job in self._scenario.jobs:
            document = self._scenario.submission(job, self._feeds, self.out)
            unpack(document["files"], self._settings.job_folder(job.name) / "code")
        self._wanted = choose(self._scenario.jobs, self._declared, self._scenario.mips)
        self._thread.start()
        watch = Watch(record, self.counts, self.running)
        until = time.monotonic() + _PATIENCE_SECONDS
        while not set(self.counts()) >= set(self._wanted):
            if time.monotonic() > until:
                raise UserError("the jobs did not start", hint=f"see `{self.home}`")
            self._is_over.wait(_LOOK_SECONDS)
        return watch

    def _work(self) -> None:
        while not self._is_over.wait(_LOOK_SECONDS):
            self._step()

    def _step(self) -> None:
        """Bring each job one step nearer to what is wanted."""
        for job in self._scenario.jobs:
            attempt = self._attempt(job.name)
            is_alive = attempt is not None and attempt.is_alive
            if attempt is not None and is_alive and job.name not in self._wanted:
                attempt.ask_to_stop()
            elif not is_alive and job.name in self._wanted:
                self._start(job)

    def _attempt(self, name: str) -> Attempt | None:
        number = self._attempts.get(name)
        return None if number is None else Attempt(folder=self._settings.job_folder(name) / "runs" / str(number))

    def _start(self, job: LiveJob) -> None:
        submission: Submission = submission_from_json(self._scenario.submission(job, self._feeds, self.out))
        number = self._attempts[job.name] = self._attempts.get(job.name, 0) + 1
        attempt = Attempt(folder=self._settings.job_folder(job.name) / "runs" / str(number))
        (self._settings.job_folder(job.name) / "checkpoint").mkdir(parents=True, exist_ok=True)
        grant = Grant(template=job.templates[0].id, mips=self._declared[job.name], ingest_tps=0.0, cores=1)
        command = command_of(submission, grant, self._settings, attempt)
        environment = environment_of(self.home / "streams", self._settings.master, grant.cores)
        attempt.start(command, environment, self._settings.job_folder(job.name) / "code")

    def counts(self) -> dict[str, Count]:
        """How far the jobs are."""
        found = {}
        for job in self._scenario.jobs:
            count = count_in(self._settings.job_folder(job.name), {}, job.templates[0].id)
            if count is not None:
                found[job.name] = count
        return found

    def running(self) -> dict[str, str]:
        """Which jobs run, by which template."""
        alive = {job.name: self._attempt(job.name) for job in self._scenario.jobs}
        return {
            job.name: job.templates[0].id
            for job in self._scenario.jobs
            if (attempt := alive[job.name]) is not None and attempt.is_alive
        }

    def change(self, phase: Phase, before: Phase) -> None:
        """Let the capacity be that of a phase; weights mean nothing here."""
        if phase.capacity != before.capacity:
            use_cores(frozenset(sorted(self._cores)[: round(len(self._cores) * phase.capacity)]))
            self._wanted = choose(self._scenario.jobs, self._declared, self._scenario.mips * phase.capacity)

    def end(self) -> None:
        """Let all jobs stop behind their batches."""
        self._wanted = []
        while self.running():
            self._is_over.wait(_LOOK_SECONDS)

    def close(self) -> None:
        """End what is left."""
        self._is_over.set()
        self._thread.join()
        for name in self._attempts:
            attempt = self._attempt(name)
            if attempt is not None:
                attempt.kill()
