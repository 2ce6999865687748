"""The records of the store, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.service.states.job_state import JobState, Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateRecord:
    """One way to do a job.

    Attributes:
        id: Unique in the job.
        spec: As it was submitted.
        description: Its graph and its streams, as far as the service looks at them.
    """

    id: str
    spec: Mapping[str, Any]
    description: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job.

    Attributes:
        id: Its name, unique in the service.
        number: The place in the order of submission.
        submitted_at: In seconds since 1970, as all times.
        spec: As it was submitted.
        rank: From 1, the best.
        required: Whether it must be admitted.
        weight: What the importance of all its streams is multiplied with.
        state: Where it is in its life.
        state_since: When it came there.
        wanted: What the user wants of it.
        template: What it runs, or ran last.
        mips: What it is allotted.
        ingest_tps: How many tuples a second its sources may give; None for any number.
        cores: How many cores its application has.
        attempt: How many processes it has had.
        failures: How many of them have failed in a row without a batch in between.
        not_before: When it may be started again.
        error: Why the last process failed.
        reason: What the last decision says of it.
        templates: The ways to do it.
    """

    id: str
    number: int
    submitted_at: float
    spec: Mapping[str, Any]
    rank: int
    required: bool
    weight: float
    state: JobState
    state_since: float
    wanted: Wanted
    template: str | None
    mips: float
    ingest_tps: float | None
    cores: int
    attempt: int
    failures: int
    not_before: float
    error: str
    reason: str
    templates: tuple[TemplateRecord, ...]

    def template_record(self, template_id: str) -> TemplateRecord:
        """The template of an id."""
        return next(template for template in self.templates if template.id == template_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRecord:
    """One look at a running job.

    Attributes:
        job: Its id.
        template: What it ran.
        at: When the interval ended.
        seconds: How long the interval was.
        mips: The processor time that the job used, as mips.
        ingest_tps: What its sources gave.
        waited: The share of the interval that it waited for its ingest limit.
        importance: What its streams earned.
        streams: The rate of each operator's stream.
        pes: The processor time of each PE, as mips, by the names of its operators; what is not in any is Spark's.
    """

    job: str
    template: str
    at: float
    seconds: float
    mips: float
    ingest_tps: float
    waited: float
    importance: float
    streams: Mapping[str, float]
    pes: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """A decision, with all that explains it.

    Attributes:
        id: Its number.
        at: When it was made.
        kind: `macro` or `micro`.
        importance: What it is expected to earn.
        waterline: The worst rank that is admitted.
        mips: The capacity.
        mips_used: What is allotted of it.
        seconds: What deciding took.
        plan: The plan as JSON.
    """

    id: int
    at: float
    kind: str
    importance: float
    waterline: int
    mips: float
    mips_used: float
    seconds: float
    plan: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """Something that happened.

    Attributes:
        id: Its number.
        at: When.
        job: Whom it is about; None for the service.
        kind: `state`, `decision`, `error`, `user` or `service`.
        text: What, in words.
    """

    id: int
    at: float
    job: str | None
    kind: str
    text: str
