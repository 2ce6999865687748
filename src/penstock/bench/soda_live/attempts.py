"""The processes of jobs that `penstock run` runs, and what their reports say; the service keeps them alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock.bench.soda_live.delivered import Count
from penstock.running.run_report import read_report


def count_in(folder: Path, template_of: Callable[[int], str]) -> Count | None:
    """What the latest report of a job says; None if there is none yet.

    Args:
        folder: Of the job.
        template_of: Tells the template of an attempt.
    """
    runs = sorted((int(run.name), run) for run in (folder / "runs").glob("*") if run.name.isdigit())
    for number, run in reversed(runs):
        for report in read_report(run / "report.json").values():
            given, taken = (sum(report["submitted"].get(name, ())) for name in ("Given", "Taken"))
            return Count(at=report["time"], given=given, taken=taken, template=template_of(number))
    return None
