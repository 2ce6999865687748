"""The processes of jobs that `penstock run` runs, and what their reports say; the service keeps them alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.bench.soda_live.delivered import Count
from penstock.running.run_report import read_report


def count_in(folder: Path, templates: Mapping[int, str], usual: str) -> Count | None:
    """What the latest report of a job says; None if there is none yet.

    Args:
        folder: Of the job.
        templates: Of its attempts, as far as they are known.
        usual: That of the others.
    """
    runs = sorted((int(run.name), run) for run in (folder / "runs").glob("*") if run.name.isdigit())
    for number, run in reversed(runs):
        for report in read_report(run / "report.json").values():
            given, taken = (sum(report["submitted"].get(name, ())) for name in ("Given", "Taken"))
            return Count(at=report["time"], given=given, taken=taken, template=templates.get(number, usual))
    return None
