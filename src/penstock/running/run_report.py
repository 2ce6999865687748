"""The report of a run: a small JSON file, written anew behind every batch, for whoever watches from outside.

Unlike `--metrics` it needs no port, and what it says stays there when the run is over. All counts are those that a run
ends with: since the job's first start.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from penstock.runtime.progress import Progress
from penstock.runtime.sinks.writer import Totals


class RunReport:
    """Keeps the report of the applications of a run.

    Args:
        path: Where.

    Example:
        >>> import tempfile
        >>> from penstock.runtime.sinks.writer import Totals
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     look = RunReport(Path(folder) / "report.json").watch("Main")
        ...     look({"batchId": 4, "batchDuration": 250, "totals": Totals(submitted={"Beacon": [3]})})
        ...     read_report(Path(folder) / "report.json")["Main"]["submitted"]
        {'Beacon': [3]}
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._applications: dict[str, dict[str, Any]] = {}

    def watch(self, application: str) -> Progress:
        """What is to be told of every batch of an application."""

        def look(progress: dict[str, Any]) -> None:
            before = self._applications.get(application, {}).get("batches", 0)
            self._applications[application] = {"batches": before + 1, **_describe(progress)}
            self._write()

        return look

    def _write(self) -> None:
        """Replace the file; whoever reads it finds the old one or the new one."""
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        fresh.write_text(json.dumps({"applications": self._applications}), encoding="utf-8")
        fresh.replace(self._path)


def read_report(path: Path) -> dict[str, dict[str, Any]]:
    """What a report says of each application; empty where no batch is done yet."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    applications = found.get("applications") if isinstance(found, dict) else None
    return applications if isinstance(applications, dict) else {}


def _describe(progress: dict[str, Any]) -> dict[str, Any]:
    totals: Totals = progress["totals"]
    behind = [(source.get("metrics") or {}).get("maxOffsetsBehindLatest") for source in progress.get("sources") or ()]
    return {
        "time": time.time(),
        "batch": progress["batchId"],
        "seconds": progress["batchDuration"] / 1000,
        "waited_seconds": progress.get("waitedSeconds", 0.0),
        "task_seconds": progress.get("taskSeconds", 0.0),
        "pes": [{"operators": list(names), "seconds": spent} for names, spent in progress.get("peSeconds", ())],
        "received": totals.received,
        "submitted": totals.submitted,
        "rejected": totals.rejected,
        "late": totals.late,
        "expired": totals.expired,
        "behind": sum(float(lag) for lag in behind if lag is not None),
    }
