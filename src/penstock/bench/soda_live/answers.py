"""Whether the files that jobs have written are what the reference interpreter gives for the tuples that they took.

Every job gives a tuple for each that it takes. A job with two templates may have worked by either: each of its lines
must be what one of the two gives for its tuple. Looking closely takes a while and gives the same for the same number,
so the reference looks once at each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from penstock.bench.soda_live import live_jobs
from penstock.bench.soda_live.delivered import Record
from penstock.bench.soda_live.scenario import LiveJob, LiveTemplate, Scenario
from penstock.expr.environment import Environment
from penstock.reference import run as run_reference


def compare_answers(scenario: Scenario, record: Record, out: Path, folder: Path) -> dict[str, bool]:
    """Whether each job's file is what the reference gives.

    Args:
        scenario: The run.
        record: How it went.
        out: Where the jobs have written.
        folder: For the files of the reference.
    """
    with _quick_looks():
        return {job.name: _is_equal(scenario, record, job, out, folder) for job in scenario.jobs}


def _is_equal(scenario: Scenario, record: Record, job: LiveJob, out: Path, folder: Path) -> bool:
    counts, written = record.counts.get(job.name), out / f"{job.name}.csv"
    lines = written.read_text().splitlines() if written.exists() else []
    if not counts:
        return not lines
    if len(lines) < counts[-1].given:
        return False
    # What was written when a job was stopped may not have been reported any more.
    source = job.name if job.follows is None else job.follows
    taken = max(record.counts[source][-1].taken, counts[-1].taken, len(lines))
    wanted = [_reference(scenario, job, template, taken, folder) for template in job.templates]
    return all(len(w) >= len(lines) for w in wanted) and all(
        line in those for line, *those in zip(lines, *wanted, strict=False)
    )


def _reference(scenario: Scenario, job: LiveJob, template: LiveTemplate, taken: int, folder: Path) -> list[str]:
    """The lines that the reference gives, if a feed has so many tuples."""
    data, out = folder / "feeds", folder / template.id
    for path in (data, out):
        path.mkdir(parents=True, exist_ok=True)
    (data / f"{job.follows or job.name}.json").write_text(json.dumps({"most": taken}))
    programs = [getattr(live_jobs, template.app).program()]
    if job.follows is not None:
        feeding = scenario.job(job.follows).templates[0].app
        programs = [getattr(live_jobs, feeding).program(), *programs]
    run_reference(programs, environment=Environment(data_directory=data, output_directory=out))
    return (out / f"{job.name}.csv").read_text().splitlines()


@contextmanager
def _quick_looks() -> Iterator[None]:
    """Look at each number once."""
    slowly = live_jobs.look_closely
    live_jobs.look_closely = cache(slowly)
    try:
        yield
    finally:
        live_jobs.look_closely = slowly
