"""The answer to an admission problem: who is in, with which template, and how much each PE gets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision for one job.

    Attributes:
        admitted: Whether it may run.
        template: The id of the chosen template; None when the job is not admitted.
        mips: The sum over its PEs.
        importance: The projected importance of its streams.
        pes: The mips of each PE, by id.
    """

    admitted: bool
    template: str | None = None
    mips: float = 0.0
    importance: float = 0.0
    pes: Mapping[str, float]

    def to_json(self) -> dict[str, object]:
        """The verdict as `penstock admit --json` prints it."""
        return {
            "admitted": self.admitted,
            "template": self.template,
            "mips": self.mips,
            "importance": self.importance,
            "pes": dict(self.pes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A rank-legal choice of jobs and templates with its allocation.

    Attributes:
        importance: The sum over the jobs, which macroQ maximizes.
        waterline: The worst revised rank among the admitted jobs; 0 when none is admitted.
        mips_used: The sum over the jobs.
        granularity: The number of resource units that the cluster was divided into in the last round that was finished.
        seconds: What the search took.
        jobs: The verdicts by job id, in the order of the problem.
        exact: Whether it is proven that no answer earns more, but for a millionth; where the caller chose the
            granularity, that none on that grid does.
        bound: An importance that no answer exceeds; infinite where none is known.
    """

    importance: float
    waterline: int
    mips_used: float
    granularity: int
    seconds: float
    jobs: Mapping[str, Verdict]
    exact: bool = True
    bound: float = math.inf

    def to_json(self) -> dict[str, object]:
        """The answer as `penstock admit --json` prints it."""
        return {
            "feasible": True,
            "importance": self.importance,
            "waterline": self.waterline,
            "mips_used": self.mips_used,
            "granularity": self.granularity,
            "exact": self.exact,
            "bound": self.bound if math.isfinite(self.bound) else None,
            "seconds": self.seconds,
            "jobs": {job_id: verdict.to_json() for job_id, verdict in self.jobs.items()},
        }
