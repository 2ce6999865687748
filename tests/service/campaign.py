"""Kills the service and its jobs at random moments, over and over, and looks whether all is right afterwards.

    python -m tests.service.campaign --seeds 0:40

The service is a process of its own, and so is every job (`pretend_job`); both are ended with SIGKILL. Afterwards no job
may run twice, none may be forgotten, no process may be left, and what every job has counted must be there.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from penstock.base.holders import Process
from penstock.base.process_tree import marked
from penstock.service.jobs.process import MARK, Attempt
from penstock.service.store.store import Store
from service.running_service import Api, submission

SERVE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from penstock.scheduler.problem.nodes import Node
from penstock.service.api.server import Address, serve
from penstock.service.carry_out.settings import Settings
from penstock.service.service import Service
from service.running_service import pretend
settings = Settings(home=Path(sys.argv[1]), nodes=(Node(id="local", mips=1000.0),), macro_seconds=1.0,
                    micro_seconds=0.3, look_seconds=0.05, first_wait=0.05, longest_wait=0.2, most_failures=1000,
                    stop_seconds=2.0)
serve(Service(settings, command=pretend), Address(port=0), lambda url: print(url, flush=True))
"""
JOBS = {"a": "long", "b": "parent", "c": "stubborn", "d": "slow"}
"""And how each behaves (`pretend_job`)."""
PATIENCE_SECONDS = 90.0


class Campaign:
    """One seed."""

    def __init__(self, seed: int, home: Path) -> None:
        self.chance, self.home = random.Random(seed), home
        self.counts = dict.fromkeys(JOBS, 0)
        self.begin()
        for number, (name, how) in enumerate(JOBS.items()):
            job = submission(name, how, rank=1 + number % 2, min_mips=300)
            status, answer = self.api.ask("POST", "/api/jobs", job)
            assert status == 201, answer

    def begin(self) -> None:
        command = [sys.executable, "-c", SERVE, str(self.home), str(Path(__file__).parents[1])]
        self.service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.service.stdout is not None
        self.api = Api(self.service.stdout.readline().strip(), None)

    def disturb(self) -> None:
        """Let one thing happen."""
        name, chance = self.chance.choice(list(JOBS)), self.chance
        kinds = (
            "service",
            "service",
            "job",
            "leader",
            "stop",
            "suspend",
            "resume",
            "capacity",
            "weight",
            "store",
            "rest",
        )
        match chance.choice(kinds):
            case "service":
                self.service.kill()
                self.service.wait()
                self.begin()
            case "job":
                for folder in (self.home / "jobs" / name / "runs").glob("*"):
                    Attempt(folder=folder).kill()
            case "leader" | "stop" as what:
                # Its first process alone; what is stopped goes on when it is asked to, or is ended.
                for process in self.processes(name):
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGKILL if what == "leader" else signal.SIGSTOP)
            case "store":
                for file in self.home.glob("service.sqlite*"):
                    file.unlink()
                deadline = time.monotonic() + PATIENCE_SECONDS
                while not (self.home / "service.sqlite").exists():
                    assert time.monotonic() < deadline, "the store's file was not written anew"
                    time.sleep(0.01)
            case "suspend" | "resume" as verb:
                self.api.ask("POST", f"/api/jobs/{name}/{verb}")
            case "capacity":
                self.api.ask("PUT", "/api/capacity", {"mips": {"local": chance.choice((0, 300, 700, 1000))}})
            case "weight":
                self.api.ask("PUT", f"/api/jobs/{name}/weight", {"weight": chance.choice((0.5, 1, 5))})
        time.sleep(chance.uniform(0.0, 0.6))
        for name in JOBS:
            count = self.home / "jobs" / name / "checkpoint" / "count"
            now = int(count.read_text() or 0) if count.exists() else 0
            assert now >= self.counts[name], f"job {name} has lost what it had counted"
            self.counts[name] = now

    def processes(self, name: str) -> list[Process]:
        """Those of a job that run."""
        folders = (self.home / "jobs" / name / "runs").glob("*")
        found = [Attempt(folder=folder).process for folder in folders]
        return [process for process in found if process is not None and process.state is not None]

    def settle(self) -> None:
        """Everything is asked to run, and has room."""
        for name in JOBS:
            for process in self.processes(name):
                os.kill(process.pid, signal.SIGCONT)
            self.api.ask("POST", f"/api/jobs/{name}/resume")
        self.api.ask("PUT", "/api/capacity", {"mips": {"local": 1000}})
        self.api.ask("PUT", "/api/jobs/a/rank", {"rank": 1, "required": True})
        deadline = time.monotonic() + PATIENCE_SECONDS
        while sorted(map(self.api.state, JOBS)).count("running") != 3 or self.moving():
            assert time.monotonic() < deadline, {name: self.api.ask("GET", f"/api/jobs/{name}") for name in JOBS}
            time.sleep(0.1)

    def moving(self) -> bool:
        return any(self.api.state(name) in ("starting", "suspending", "rescaling", "admitted") for name in JOBS)

    def check(self) -> None:
        """What runs is what the service says, once each, and nothing was lost."""
        store = Store(self.home / "service.sqlite")
        for name in JOBS:
            record = store.job(name)
            assert record is not None
            attempts = [Attempt(folder=folder) for folder in (self.home / "jobs" / name / "runs").glob("*")]
            alive = self.processes(name)
            assert len(alive) == (record.state == "running"), (name, record.state, alive)
            stale = [a for a in attempts if a.folder.name != str(record.attempt) and marked(MARK, str(a.folder))]
            assert not stale, f"job {name} has left processes behind: {stale}"
            logs = "".join(attempt.last_words(100_000) for attempt in attempts)
            assert "it runs twice" not in logs, f"job {name} ran twice at once"
        store.close()

    def end(self) -> None:
        self.service.send_signal(signal.SIGTERM)
        self.service.wait(30)
        for name in JOBS:
            for folder in (self.home / "jobs" / name / "runs").glob("*"):
                Attempt(folder=folder).kill()


def play(seed: int) -> None:
    """One seed."""
    with tempfile.TemporaryDirectory(prefix="penstock-campaign-") as folder:
        campaign = Campaign(seed, Path(folder) / "home")
        try:
            for _ in range(12):
                campaign.disturb()
            campaign.settle()
            campaign.check()
        finally:
            campaign.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:40", help="FIRST:END")
    first, end = map(int, parser.parse_args().seeds.split(":"))
    for seed in range(first, end):
        play(seed)
        print(f"seed {seed}: all right", flush=True)


if __name__ == "__main__":
    os.environ.pop("PENSTOCK_TOKEN", None)
    main()
