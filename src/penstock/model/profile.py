"""A profile: what a run has measured of every operator and every stream.

These are the refined statistics of section 3.3 of the SPADE paper, with the graph that they belong to, so that a
profile can be used without the program. `profile_format` reads and writes them.

Example:
    >>> profile = Profile(
    ...     application="Prices",
    ...     mips=1000.0,
    ...     operators=(
    ...         OperatorProfile(id="Ticks", rate_tps=500.0, cpu_seconds=1e-5, selectivity=(1.0,)),
    ...         OperatorProfile(id="Big", rate_tps=500.0, cpu_seconds=2e-5),
    ...     ),
    ...     streams=(StreamProfile(id="T", producer="Ticks", consumers=("Big",), rate_tps=500.0, tuple_bytes=24.0),),
    ... )
    >>> profile.sources, profile.operator["Big"].cpu_fraction
    (('Ticks',), 0.01)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorProfile:
    """The measured costs of one operator.

    Attributes:
        id: As in the graph.
        kind: The operator definition's name.
        rate_tps: Tuples that it took in a second, over all input ports; of a source, tuples that it made.
        cpu_seconds: CPU time of its own for each of these tuples, on average: that of its consumers is not in it.
        cpu_variance: Of the CPU time of a tuple, in square seconds.
        selectivity: For each output port, tuples that left for one that was taken.
    """

    id: str
    kind: str = ""
    rate_tps: float
    cpu_seconds: float
    cpu_variance: float = 0.0
    selectivity: tuple[float, ...] = ()

    @property
    def cpu_fraction(self) -> float:
        """The fraction of a core that it took: the paper's u."""
        return self.rate_tps * self.cpu_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamProfile:
    """The measured traffic of one stream.

    Attributes:
        id: As in the graph.
        producer: The operator that makes it.
        port: The producer's output port.
        consumers: The operators that take it; one that takes it on two ports is listed twice.
        feedback: Those of `consumers` to which it closes a loop.
        rate_tps: Tuples in a second.
        tuple_bytes: The size of a tuple, on average.
    """

    id: str
    producer: str
    port: int = 0
    consumers: tuple[str, ...] = ()
    feedback: frozenset[str] = frozenset()
    rate_tps: float
    tuple_bytes: float

    @property
    def rate_bytes(self) -> float:
        """Bytes in a second."""
        return self.rate_tps * self.tuple_bytes


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A whole run, measured.

    Attributes:
        application: The name of the program.
        mips: The speed of one core of the machine that it ran on.
        seconds: How long was measured.
        operators: In order of declaration.
        streams: In order of declaration.
    """

    application: str = ""
    mips: float
    seconds: float = 0.0
    operators: tuple[OperatorProfile, ...] = ()
    streams: tuple[StreamProfile, ...] = ()

    @cached_property
    def operator(self) -> dict[str, OperatorProfile]:
        """From id to operator."""
        return {o.id: o for o in self.operators}

    @cached_property
    def stream(self) -> dict[str, StreamProfile]:
        """From id to stream."""
        return {s.id: s for s in self.streams}

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The operators that take no stream."""
        taking = {consumer for s in self.streams for consumer in s.consumers}
        return tuple(o.id for o in self.operators if o.id not in taking)

    @property
    def source_rates(self) -> dict[str, float]:
        """From source to the tuples that it made in a second."""
        return {id_: self.operator[id_].rate_tps for id_ in self.sources}
