"""The snapshot: all that a decision may look at, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.scheduler.problem.admission_problem import ValueFunction
from penstock.scheduler.problem.nodes import Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamView:
    """A stream that counts: it has a value, or another job may import it.

    Attributes:
        name: Unique among the streams of its job.
        selectivity: Its tuples for each tuple that the job takes in.
        value: What its rates are worth; None for nothing.
        weight: What the value is multiplied with.
    """

    name: str
    selectivity: float = 1.0
    value: ValueFunction | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateView:
    """One way to do a job, as far as deciding goes.

    Attributes:
        id: Unique in the job.
        mips_per_tps: What it costs to take in a tuple a second.
        doubt: By how much of itself that may be off; 1 where it is only assumed.
        offered_tps: What its own sources could give.
        imports: The streams of other jobs that it takes in, as `JOB/STREAM`.
        streams: Those that count.
        min_mips: The least it takes.
        max_mips: The most it may take.
    """

    id: str
    mips_per_tps: float
    doubt: float = 1.0
    offered_tps: float
    imports: tuple[str, ...] = ()
    streams: tuple[StreamView, ...] = ()
    min_mips: float = 0.0
    max_mips: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job that wants to run.

    Attributes:
        id: Its name.
        rank: From 1, the best.
        required: Whether it must be admitted.
        templates: The ways to do it.
        running: The template that it has a place with; None if it has none.
        placed_seconds: How long it has had that place.
        mips: What it is allotted now.
        cores: How many cores its application has; 0 if it has none.
        tags: What its nodes must have.
    """

    id: str
    rank: int = 1
    required: bool = False
    templates: tuple[TemplateView, ...]
    running: str | None = None
    placed_seconds: float = 0.0
    mips: float = 0.0
    cores: int = 0
    tags: frozenset[str] = frozenset()

    def template(self, template_id: str) -> TemplateView:
        """The template of an id."""
        return next(template for template in self.templates if template.id == template_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What changes cost, so that jobs do not come and go with the noise.

    Attributes:
        start_seconds: How long a job that is started, or goes on with another template, earns nothing.
        horizon_seconds: How long a decision is expected to hold.
        margin: By which part another set of jobs must be better than the one there is.
        least_seconds: How long a job keeps a place, unless a better rank needs it.
    """

    start_seconds: float = 20.0
    horizon_seconds: float = 300.0
    margin: float = 0.05
    least_seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The world at a moment.

    Attributes:
        cluster: The nodes.
        jobs: Those that want to run, in the order of submission.
        prices: Of changes.
        core_mips: What a core gives.
    """

    cluster: Cluster
    jobs: tuple[JobView, ...]
    prices: Prices = field(default_factory=Prices)
    core_mips: float = 1000.0

    @property
    def mips(self) -> float:
        """The capacity."""
        return self.cluster.live_mips
