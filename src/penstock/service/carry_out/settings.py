"""The settings of a service."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from penstock.runtime.ingest.cores_limit import can_resize
from penstock.scheduler.problem.nodes import Node
from penstock.service.decide.snapshot import Prices


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a service runs.

    Attributes:
        home: Where it keeps everything.
        master: The Spark cluster.
        nodes: What the cluster has.
        core_mips: What a core gives.
        macro_seconds: The length of a macro epoch.
        micro_seconds: The length of a micro epoch.
        look_seconds: How often processes are looked at.
        stop_seconds: How long a job may take to stop behind its batch before it is ended.
        most_failures: How often in a row a job may fail without a batch in between before it is given up.
        first_wait: How long to wait after a failure; twice as long after each that follows.
        longest_wait: The longest of these waits.
        prices: Of changes.
        resize: Whether the cores of jobs are changed while they run, where the cluster can do that.
    """

    home: Path
    master: str = "local"
    nodes: tuple[Node, ...]
    core_mips: float = 1000.0
    macro_seconds: float = 60.0
    micro_seconds: float = 12.0
    look_seconds: float = 1.0
    stop_seconds: float = 120.0
    most_failures: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0
    prices: Prices = field(default_factory=Prices)
    resize: bool = False

    @property
    def resizes(self) -> bool:
        """Whether the cores of jobs are changed while they run."""
        return self.resize and can_resize(self.master)

    def job_folder(self, job_id: str) -> Path:
        """Where a job's files lie."""
        return self.home / "jobs" / job_id


def is_due(last: float, now: float, seconds: float) -> bool:
    """Whether something is due again; also when the clock was set back behind the last time."""
    return not 0 <= now - last < seconds
