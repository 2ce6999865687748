"""The jobs of a service as tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from penstock.base.figures import figure


def print_jobs(jobs: Sequence[Mapping[str, Any]]) -> None:
    """Print a line for each job: its place, what it gets and uses, and why."""
    console = Console(markup=False, emoji=False)
    if not jobs:
        console.print("there are no jobs; `penstock submit` gives the service one")
        return
    table = Table("job", "rank", "state", "template")
    for title in ("mips", "used", "tuples/s", "importance"):
        table.add_column(title, justify="right")
    for job in sorted(jobs, key=lambda job: (not job["required"], job["rank"], job["submitted_at"])):
        rank = f"{job['rank']} required" if job["required"] else str(job["rank"])
        figures = [figure(job[key], 4) if job["mips"] else "" for key in _FIGURES]
        table.add_row(job["id"], rank, job["state"], job["template"] or "", *figures)
    console.print(table)
    for job in jobs:
        console.print(f"{job['id']}: {_why(job)}", highlight=False)


_FIGURES = ("mips", "mips_used", "ingest_tps", "importance")


def print_job(job: Mapping[str, Any]) -> None:
    """Print a job with its latest events."""
    print_jobs([job])
    console = Console(markup=False, emoji=False)
    for event in job["events"][-12:]:
        console.print(f"  {event['kind']:<9} {event['text']}", highlight=False)


def _why(job: Mapping[str, Any]) -> str:
    if job["state"] == "failed":
        return f"failed: {job['error']}"
    if job["state"] in ("done", "cancelled") or (job["wanted"] != "run"):
        return str(job["state"])
    return str(job["reason"] or "waits for the next decision")
