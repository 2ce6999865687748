"""The parallel plan of an application: data that the runtime, the fusion and `explain` read.

The degree of parallelism is not part of it: the compiler says what is safe, the submission says how much.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from penstock.base.diagnostics import Diagnostic
from penstock.ir.expressions import Expression
from penstock.ir.models import Selectivity
from penstock.parallel.analysis import Analysis
from penstock.parallel.reasons import Reason


class Joint(Enum):
    """How tuples enter or leave a region (section 3.4 of the paper); NONE where a plan is not complete yet."""

    NONE = "none"
    PARALLEL_SOURCE = "parallel source"
    SPLIT = "split"
    SHUFFLE = "shuffle"
    MERGE = "merge"
    PARALLEL_SINK = "parallel sink"


class Routing(Enum):
    """How the first joint picks a channel: in turns, by the hash of the region's key, or as the source is divided."""

    ROUND_ROBIN = "round-robin"
    HASH = "hash of the key"
    BY_SOURCE = "parts of the source"


class Ordering(Enum):
    """How the sequential order is kept: table 1 of the paper, ours beyond it, and where there is no order to keep."""

    ROUND_ROBIN = "round-robin"
    SEQNO = "seqno"
    SEQNO_AND_PULSES = "seqno & pulses"
    SEQNO_AND_SECOND_LEVEL = "seqno & second-level numbers"
    PLACES = "places"
    ROUTING_ONLY = "routing only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A place where tuples enter a region; each is routed by the region's key, whose attributes the stream has.

    Attributes:
        stream: What enters.
        receiver: The operator inside that gets it.
        joint: Split or shuffle.
    """

    stream: str
    receiver: str
    joint: Joint = Joint.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """A place where tuples leave a region.

    Attributes:
        operator: The last operator inside.
        stream: What leaves; None where the operator is a sink or nobody receives its output.
        receiver: The operator outside that gets it.
        joint: Merge, shuffle or parallel sink.
    """

    operator: str
    stream: str | None = None
    receiver: str | None = None
    joint: Joint = Joint.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A parallel region, not expanded.

    Attributes:
        id: `R1`, `R2`, ... from left to right.
        operators: Their ids, each after its predecessor.
        key: What tuples are routed by, attributes of every stream that enters (of the output of the first operator, if
            it is a source); empty if every operator is stateless and any channel will do.
        selectivity: Tuples out by an exit for one tuple in; unknown means any number.
        widths: What `@parallel` asks for; the number of channels is their product.
        spontaneous: Operators that fire by time: what they submit has its place after all that came before that time.
        first_joint: Parallel source, split or shuffle; a shuffle if any entry is one.
        entries: One, unless streams meet inside; none behind a parallel source.
        exits: One, unless streams part inside.
        routing: How the first joint picks a channel.
        ordering: How order is kept.
        levels: How many second-level numbers a tuple that leaves carries behind its sequence number.
    """

    id: str
    operators: tuple[str, ...]
    key: frozenset[str] = frozenset()
    selectivity: Selectivity = Selectivity.EXACTLY_ONE
    widths: tuple[Expression, ...] = ()
    spontaneous: tuple[str, ...] = ()
    first_joint: Joint = Joint.NONE
    entries: tuple[Entry, ...] = ()
    exits: tuple[Exit, ...] = ()
    routing: Routing = Routing.ROUND_ROBIN
    ordering: Ordering = Ordering.ROUTING_ONLY
    levels: int = 0

    @property
    def last_joint(self) -> Joint:
        """The joint of the first exit, which is the only one unless streams part inside."""
        return self.exits[0].joint if self.exits else Joint.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """A stream that enters or leaves a region, and why the region does not go on there.

    Attributes:
        stream: Its id.
        producer: The operator that makes it.
        consumer: The operator that receives it.
        about: Which of the two could not be in the region.
        reason: What is in the way, about that operator.
    """

    stream: str
    producer: str
    consumer: str
    about: str
    reason: Reason


@dataclass(frozen=True, kw_only=True)
class ParallelRegions:
    """The regions of an application, with the reasons.

    Attributes:
        regions: From left to right.
        refused: Every operator that is in no region, with what is in the way.
        boundaries: Every stream that enters or leaves a region, in order of declaration.
        analyses: What is known of each operator.
        warnings: Instructions that are not followed.
    """

    regions: tuple[Region, ...] = ()
    refused: dict[str, tuple[Reason, ...]]
    boundaries: tuple[Boundary, ...] = ()
    analyses: dict[str, Analysis]
    warnings: tuple[Diagnostic, ...] = ()

    @cached_property
    def region_of(self) -> dict[str, Region]:
        """From each operator in a region to the region."""
        return {id_: region for region in self.regions for id_ in region.operators}

    @cached_property
    def crossing(self) -> dict[tuple[str, str], Boundary]:
        """From (stream, receiver) to the boundary that the stream crosses there."""
        return {(boundary.stream, boundary.consumer): boundary for boundary in self.boundaries}

    def may_share_pe(self, first: str, second: str) -> bool:
        """Whether two operators may be fused: a PE never spans the boundary of a region."""
        return self.region_of.get(first) is self.region_of.get(second)
