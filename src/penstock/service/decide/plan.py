"""The plan: who runs, by which template, with how much, and why; and who does not, and why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a job that runs gets.

    Attributes:
        template: By which it runs.
        mips: Its share of the cluster.
        ingest_tps: How many tuples a second its sources may give.
        cores: How many cores its application has now, where the cluster changes that while it runs.
        most_cores: How many it can ever have: it starts with the right to so many.
        nodes: Its mips on each node.
        importance: What it is expected to earn.
        reason: Why it runs so.
    """

    template: str
    mips: float
    ingest_tps: float
    cores: int
    most_cores: int = 1
    nodes: Mapping[str, float] = field(default_factory=dict)
    importance: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The outcome of a decision.

    Attributes:
        grants: By the ids of the jobs that run.
        refusals: Why each other job does not.
        importance: What all of it is expected to earn.
        bound: What no plan earns more than; None where nobody knows.
        waterline: The worst rank that runs; 0 where none does.
        mips: The capacity.
        note: What else explains the decision.
        seconds: What deciding took.
    """

    grants: Mapping[str, Grant]
    refusals: Mapping[str, str]
    importance: float = 0.0
    bound: float | None = None
    waterline: int = 0
    mips: float = 0.0
    note: str = ""
    seconds: float = 0.0

    def says_what(self, other: Plan) -> bool:
        """Whether it says what another plan says, so that it need not be kept again."""
        told = [(plan.grants, dict(plan.refusals), plan.mips) for plan in (self, other)]
        return told[0] == told[1]

    @property
    def mips_used(self) -> float:
        """What is granted of the capacity."""
        return sum(grant.mips for grant in self.grants.values())

    @property
    def templates(self) -> dict[str, str]:
        """The templates of the jobs that run."""
        return {job: grant.template for job, grant in self.grants.items()}

    def in_words(self) -> str:
        """Who runs with how much, and why."""
        run = ", ".join(f"{job} ({grant.mips:,.0f})" for job, grant in self.grants.items()) or "nobody"
        return f"{run} of {self.mips:,.0f} mips; {self.note}"

    def to_json(self) -> dict[str, Any]:
        """The plan as the store and the API have it.

        Example:
            >>> Plan(grants={}, refusals={"a": "rank 3"}).to_json()["refusals"]
            {'a': 'rank 3'}
        """
        return {
            "importance": self.importance,
            "bound": self.bound,
            "waterline": self.waterline,
            "mips": self.mips,
            "mips_used": self.mips_used,
            "note": self.note,
            "seconds": self.seconds,
            "grants": {job: asdict(grant) for job, grant in self.grants.items()},
            "refusals": dict(self.refusals),
        }
