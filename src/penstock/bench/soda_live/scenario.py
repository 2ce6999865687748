"""The scenario of `penstock bench soda-live`: six jobs, what they are worth, and what changes while they run.

The jobs together ask for twice what the machine has. How fast a core is, is found out first, and so how many tuples a
second a job's feed has; what a job is worth grows with what it gives, up to what its feed has.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.bench.soda_live import live_jobs

CORE_MIPS = 1000.0
MACRO_SECONDS, MICRO_SECONDS = 20.0, 4.0
BATCH_MIPS = 170.0
"""About what the batches of a job cost, whatever is in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTemplate:
    """A way to do a job.

    Attributes:
        id: Its name.
        app: What runs it, in `live_jobs`.
        rounds: How closely it looks.
        weight: What its results count beside those of the job's other template.
        min_mips: The least it makes sense with.
    """

    id: str
    app: str
    rounds: int
    weight: float = 1.0
    min_mips: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveJob:
    """A job.

    Attributes:
        name: Of the job.
        rank: From 1, the best.
        needs_mips: What it takes to keep up with its feed.
        value: What it is worth when it does.
        templates: The ways to do it, the best first.
        follows: The job whose tuples it takes; it has no feed of its own.
    """

    name: str
    rank: int
    needs_mips: float
    value: float
    templates: tuple[LiveTemplate, ...]
    follows: str | None = None


def _one(app: str, rounds: int, min_mips: float) -> tuple[LiveTemplate, ...]:
    return (LiveTemplate(id="only", app=app, rounds=rounds, min_mips=min_mips),)


def _two(app: str) -> tuple[LiveTemplate, ...]:
    full = LiveTemplate(id="full", app=app, rounds=live_jobs.CLOSELY, min_mips=400.0)
    light = LiveTemplate(id="light", app=f"{app}_light", rounds=live_jobs.BRIEFLY, weight=0.6, min_mips=200.0)
    return full, light


JOBS = (
    LiveJob(name="alarms", rank=1, needs_mips=620.0, value=400.0, templates=_one("alarms", 4000, 250.0)),
    LiveJob(name="orders", rank=1, needs_mips=520.0, value=300.0, templates=_one("orders", 4000, 200.0)),
    LiveJob(name="fraud", rank=2, needs_mips=700.0, value=200.0, templates=_two("fraud"), follows="orders"),
    LiveJob(name="report", rank=2, needs_mips=800.0, value=200.0, templates=_two("report")),
    LiveJob(name="trends", rank=3, needs_mips=800.0, value=60.0, templates=_one("trends", 4000, 200.0)),
    LiveJob(name="archive", rank=3, needs_mips=800.0, value=50.0, templates=_one("archive", 4000, 200.0)),
)
QUICK_JOBS = tuple(job for job in JOBS if job.name in ("report", "archive"))
RAISED = "archive"
"""The job whose weight is raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A part of the run, in which nothing changes.

    Attributes:
        name: What is so.
        share: Of the run.
        loads: What share of its full load a feed has; all of it where nothing is said.
        weights: What jobs count, beside 1.
        capacity: What share of the cores there is.
    """

    name: str
    share: float
    loads: Mapping[str, float]
    weights: Mapping[str, float]
    capacity: float = 1.0


_CALM = {"alarms": 0.4, "orders": 0.4, "report": 0.4}
_HEAVY = {RAISED: 8.0}
PHASES = (
    Phase(name="calm", share=0.16, loads=_CALM, weights={}),
    Phase(name="full load", share=0.26, loads={}, weights={}),
    Phase(name="archive counts eight times", share=0.16, loads={}, weights=_HEAVY),
    Phase(name="half of the cores", share=0.18, loads={}, weights={}, capacity=0.5),
    Phase(name="calm again", share=0.24, loads=_CALM, weights={}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A run of the scenario.

    Attributes:
        seconds: How long it goes on once the jobs work.
        jobs: Who runs.
        cores: How many cores the machine has.
        round_seconds: What a round of `look_closely` takes on one of them.
    """

    seconds: float
    jobs: tuple[LiveJob, ...]
    cores: int
    round_seconds: float

    @property
    def mips(self) -> float:
        """The capacity of the machine."""
        return self.cores * CORE_MIPS

    def job(self, name: str) -> LiveJob:
        """The job of a name."""
        return next(job for job in self.jobs if job.name == name)

    def full_tps(self, job: LiveJob) -> float:
        """The tuples a second of a job's feed at full load."""
        if job.follows is not None:
            return self.full_tps(self.job(job.follows))
        needs = (job.needs_mips / 2000.0 * self.mips - BATCH_MIPS) / CORE_MIPS
        return round(needs / (self.round_seconds * job.templates[0].rounds))

    def expected_price(self, job: LiveJob, template: LiveTemplate) -> float:
        """The mips of a tuple a second, as somebody would profile it: batches and rounds."""
        return BATCH_MIPS / self.full_tps(job) + template.rounds * self.round_seconds * CORE_MIPS

    def load(self, job: LiveJob, phase: Phase) -> float:
        """The tuples a second of a job's feed in a phase."""
        source = job.follows or job.name
        return self.full_tps(job) * phase.loads.get(source, 1.0)

    def spans(self) -> list[tuple[float, float, Phase]]:
        """From when to when each phase lasts, in seconds from the start."""
        ends = [sum(phase.share for phase in PHASES[: i + 1]) * self.seconds for i in range(len(PHASES))]
        return list(zip([0.0, *ends[:-1]], ends, PHASES, strict=True))

    def write_schedules(self, folder: Path, began: float, start: float | None = None) -> None:
        """Let the feeds begin as in the first phase, and go on through the others if the run has started."""
        for job in (job for job in self.jobs if job.follows is None):
            loads = [[0.0, self.load(job, PHASES[0])]]
            if start is not None:
                loads += [[start + since - began, self.load(job, phase)] for since, _, phase in self.spans()[1:]]
            fresh = folder / f".{job.name}.json"
            fresh.write_text(json.dumps({"began": began, "loads": loads}))
            fresh.replace(folder / f"{job.name}.json")

    def submission(self, job: LiveJob, feeds: Path, out: Path) -> dict[str, Any]:
        """A job as it is submitted."""
        table = [[0.0, 0.0], [float(self.full_tps(job)), job.value]]
        templates = [self._template(job, template, feeds) for template in job.templates]
        code = Path(live_jobs.__file__).read_bytes()
        return {
            "name": job.name,
            "rank": job.rank,
            "values": {"Given": {"table": table}},
            "out": str(out),
            "templates": templates,
            "files": {"live_jobs.py": base64.b64encode(code).decode()},
        }

    def _template(self, job: LiveJob, template: LiveTemplate, feeds: Path) -> dict[str, Any]:
        return {
            "id": template.id,
            "app": f"live_jobs.py:{template.app}",
            "data": str(feeds),
            "min_mips": template.min_mips,
            "max_mips": CORE_MIPS,
            "mips_per_tps": self.expected_price(job, template),
            "weight": template.weight,
            "channels": 1,
            "continuous": True,
        }


def measure_round(tries: int = 5, rounds: int = 200_000) -> float:
    """The seconds of a round, the best of some tries."""
    times = []
    for _ in range(tries):
        began = time.perf_counter()
        live_jobs.look_closely(1, rounds)
        times.append(time.perf_counter() - began)
    return min(times) / rounds


def worth(scenario: Scenario, job: LiveJob, rate: float) -> float:
    """The value of a rate, before weights."""
    return job.value * min(1.0, rate / scenario.full_tps(job))


def phase_at(spans: Sequence[tuple[float, float, Phase]], seconds: float) -> Phase:
    """The phase at a time."""
    return next((phase for _, end, phase in spans if seconds < end), spans[-1][2])
