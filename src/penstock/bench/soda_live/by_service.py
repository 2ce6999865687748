"""The jobs under `penstock serve`: submitted, watched and changed over its API, as a user would."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.bench.soda_live.attempts import count_in
from penstock.bench.soda_live.cores import use_cores
from penstock.bench.soda_live.delivered import Count, Record, Watch
from penstock.bench.soda_live.scenario import MACRO_SECONDS, MICRO_SECONDS, Phase, Scenario
from penstock.service.client import Client
from penstock.service.jobs.process import Attempt, environment_for_code

_PATIENCE_SECONDS = 300.0
_NODE = "local"


class ByService:
    """A service with the jobs of a scenario.

    Args:
        scenario: The run.
        folder: Where everything of it lies.
        cores: Those that there are.
    """

    def __init__(self, scenario: Scenario, folder: Path, cores: frozenset[int]) -> None:
        self._scenario, self._cores = scenario, cores
        self.home, self.out, self._feeds = folder / "home", folder / "out", folder / "feeds"
        command = [sys.executable, "-m", "penstock.cli", "serve", "--home", str(self.home), "--port", "0", "--json"]
        command += ["--mips", str(scenario.mips), "--macro", str(MACRO_SECONDS), "--micro", str(MICRO_SECONDS)]
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "service.log", "wb") as log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment_for_code()
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise UserError("the service did not start", hint=f"see `{folder}/service.log`")
        self._client = Client(json.loads(line)["url"])
        self._templates: dict[tuple[str, int], str] = {}
        self._states: dict[str, str] = {}

    def begin(self, record: Record) -> Watch:
        """Submit the jobs, and wait until those that have a place work."""
        for job in self._scenario.jobs:
            self._client.post("jobs", body=self._scenario.submission(job, self._feeds, self.out))
        watch = Watch(record, self.counts, self.running)
        _wait(lambda: self._settled(), "the jobs did not start")
        return watch

    def _settled(self) -> bool:
        jobs = self._jobs()
        return any(job["state"] == "running" for job in jobs) and all(
            job["state"] == "running" or (job["state"] in ("queued", "suspended") and "rejected" in job["reason"])
            for job in jobs
        )

    def _jobs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._client.get("jobs")
        for job in found:
            if job["template"] is not None:
                self._templates[job["id"], job["attempt"]] = job["template"]
        return found

    def counts(self) -> dict[str, Count]:
        """How far the jobs are."""
        self._states = {job["id"]: job["template"] for job in self._jobs() if job["state"] == "running"}
        found = {}
        for job in self._scenario.jobs:
            templates = {n: template for (name, n), template in self._templates.items() if name == job.name}
            count = count_in(self.home / "jobs" / job.name, templates, job.templates[0].id)
            if count is not None:
                found[job.name] = count
        return found

    def running(self) -> dict[str, str]:
        """Which jobs run, by which template."""
        return dict(self._states)

    def change(self, phase: Phase, before: Phase) -> None:
        """Let the weights and the capacity be those of a phase."""
        if phase.capacity != before.capacity:
            use_cores(frozenset(sorted(self._cores)[: round(len(self._cores) * phase.capacity)]))
            self._client.put("capacity", body={"mips": {_NODE: self._scenario.mips * phase.capacity}})
        for job in self._scenario.jobs:
            weight = phase.weights.get(job.name, 1.0)
            if weight != before.weights.get(job.name, 1.0):
                self._client.put("jobs", job.name, "weight", body={"weight": weight})

    def end(self) -> None:
        """Let all jobs stop behind their batches."""
        for job in self._jobs():
            self._client.post("jobs", job["id"], "suspend")
        _wait(lambda: all(job["state"] == "suspended" for job in self._jobs()), "the jobs did not stop")

    def close(self) -> None:
        """End the service, and jobs that still run."""
        self._process.terminate()
        self._process.wait()
        for run in self.home.glob("jobs/*/runs/*"):
            Attempt(folder=run).kill()

    def samples(self) -> list[dict[str, Any]]:
        """What the service has measured of all jobs."""
        return [sample for job in self._jobs() for sample in self._client.get("jobs", job["id"])["samples"]]


def _wait(is_done: Callable[[], bool], trouble: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_done():
        if time.monotonic() > deadline:
            raise UserError(f"{trouble} within {_PATIENCE_SECONDS:g} s")
        time.sleep(0.5)
