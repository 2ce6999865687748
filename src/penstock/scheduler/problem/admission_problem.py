"""The admission problem: jobs, their templates, PEs and streams, and what the cluster has to give.

The words are those of the SODA paper (section 2). A job has a rank (1 is the best), and one or more templates, each a
graph of PEs joined by streams. A PE takes between `min_mips` and `max_mips` once its job is admitted. Each stream that
it produces has a resource function, which says at what rate the stream flows, and may have a value function and a
weight, whose product is the stream's importance.

The nodes are data only: `penstock.scheduler.io.admission_format` reads them from JSON and checks them, and
`penstock.scheduler.problem.resource_functions` computes with them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A function given by points: linear between them and flat outside them.

    Attributes:
        points: Pairs (x, y), with x rising and y never falling.
    """

    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A resource function: selectivity x min(load, mips / mips_per_tps).

    Attributes:
        mips_per_tps: What a tuple a second costs the PE.
        selectivity: Tuples out for each tuple in.
    """

    mips_per_tps: float
    selectivity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """A value function: `slope` for each tuple a second."""

    slope: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A resource function of every input and the mips: the smaller of what the inputs offer and what the mips allow.

    Attributes:
        allowed: The rate that the mips allow.
        offered: For each input, by its stream, the tuples out for a tuple in; `PRIMAL` is what the PE is offered.
        pairs: For two inputs that meet, as in a join, the tuples out for the product of their rates.
    """

    allowed: Table
    offered: tuple[tuple[str, float], ...] = ()
    pairs: tuple[tuple[str, str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """A resource function of every input and the mips, given on a grid: linear along each axis between its points.

    Attributes:
        inputs: The streams that it depends on; `PRIMAL` is what the PE is offered.
        knots: The points of the axis of each input, then of the mips' axis, rising.
        rates: The rate at every point of the grid, the mips' axis running fastest; never falling along any axis.
    """

    inputs: tuple[str, ...]
    knots: tuple[tuple[float, ...], ...]
    rates: tuple[float, ...]


PRIMAL = "offered_tps"
"""The name, among the inputs of a resource function, of what comes into the PE from outside."""

RateFunction = Flow | Table | Limits | Surface
ValueFunction = Linear | Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A derived stream, where it leaves the PE that produces it.

    Attributes:
        stream: The stream's id, unique in the whole problem except among the templates of one job.
        rate: Its resource function; a table is over the PE's mips alone.
        value: Its value function over the rate; None is the function that is 0 everywhere.
        weight: What the value is multiplied with to give the importance.
    """

    stream: str
    rate: RateFunction
    value: ValueFunction | None = None
    weight: float = 1.0

    @property
    def is_valued(self) -> bool:
        """Whether the stream can contribute to importance."""
        return self.value is not None and self.weight > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pe:
    """A processing element.

    Attributes:
        id: Unique among the jobs; templates of one job may share it.
        min_mips: The least it takes once its job is admitted.
        max_mips: The most it may take.
        inputs: Ids of the streams it reads, of its own template or of other jobs.
        offered_tps: The rate of its primal (external) streams; it adds to the rates of the inputs.
        outputs: The streams it produces.
    """

    id: str
    min_mips: float = 0.0
    max_mips: float
    inputs: tuple[str, ...] = ()
    offered_tps: float = 0.0
    outputs: tuple[Output, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One way to do a job: a graph of PEs.

    Attributes:
        id: Unique in the job.
        pes: Its PEs.
    """

    id: str
    pes: tuple[Pe, ...]

    @property
    def streams(self) -> tuple[str, ...]:
        """The ids of the streams that the template produces."""
        return tuple(output.stream for pe in self.pes for output in pe.outputs)

    @property
    def min_mips(self) -> float:
        """The least that the template takes."""
        return sum(pe.min_mips for pe in self.pes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The unit of admission.

    Attributes:
        id: Unique in the problem.
        rank: From 1, the best.
        required: Whether it must be admitted; the rank of a required job counts as 1.
        templates: The ways to do it, at least one.
        running: The id of the template that it already runs with, and which therefore is fixed; None for a new job.
    """

    id: str
    rank: int = 1
    required: bool = False
    templates: tuple[Template, ...]
    running: str | None = None

    @property
    def effective_rank(self) -> int:
        """The rank that admission goes by: the paper takes required jobs to have rank 1."""
        return 1 if self.required else self.rank

    @property
    def choices(self) -> tuple[Template, ...]:
        """The templates that may be chosen: all of a new job's, the one of a running job."""
        if self.running is None:
            return self.templates
        return (self.template(self.running),)

    def template(self, template_id: str) -> Template:
        """The template of an id."""
        return next(template for template in self.templates if template.id == template_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An admission problem, as `penstock admit` solves it.

    Attributes:
        mips: The capacity of the whole cluster.
        jobs: Those that run and those that wait, in the order of the file.

    Example:
        >>> out = Output(stream="s", rate=Flow(mips_per_tps=2.0, selectivity=1.0), value=Linear(slope=1.0))
        >>> pe = Pe(id="p", max_mips=100.0, offered_tps=40.0, outputs=(out,))
        >>> job = Job(id="A", templates=(Template(id="only", pes=(pe,)),))
        >>> Problem(mips=80.0, jobs=(job,)).job("A").choices[0].streams
        ('s',)
    """

    mips: float
    jobs: tuple[Job, ...]

    def job(self, job_id: str) -> Job:
        """The job of an id."""
        return next(job for job in self.jobs if job.id == job_id)
