"""The fusion problem as arrays, and its answer.

Operators, streams and hosts are columns, so that a graph of 10,000 operators is read, measured and split at the speed
of numpy. All objects are frozen; a fusion algorithm is a pure function from a problem to a fusion.

Example:
    >>> problem = fusion_problem([4, 2], [(0, 1, 3)], [10, 10])
    >>> problem.operators, problem.streams, problem.hosts.core_mips.tolist()
    (2, 1, [10.0, 10.0])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.ir.constraints import Constraint, ConstraintKind

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

Objective = Literal["cut", "balance", "throughput"]
"""The name of the measure that a fusion is judged by; the module `objective` defines each."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hosts:
    """Where PEs can run.

    Attributes:
        ids: The hosts' names.
        capacities: The paper's B, in mips.
        cores: How many cores the capacity is divided among; one where nothing was said: the host is one unit.
        link_bytes: What the link carries in a second each way; infinite where nothing was said.
        tags: What each host offers, for resource matching.
    """

    ids: tuple[str, ...]
    capacities: Floats
    cores: Ints
    link_bytes: Floats
    tags: tuple[frozenset[str], ...]

    @property
    def count(self) -> int:
        """The number of hosts."""
        return len(self.ids)

    @property
    def core_mips(self) -> Floats:
        """The speed of one core of each host."""
        return self.capacities / self.cores

    @property
    def has_links(self) -> bool:
        """Whether some link is limited."""
        return bool(np.isfinite(self.link_bytes).any())

    def matching(self, names: Iterable[str]) -> tuple[int, ...]:
        """The hosts that a resource match allows: by name, or by a tag.

        Example:
            >>> fusion_problem([1], [], [9, 9]).hosts.matching(["h1"])
            (1,)
        """
        wanted = set(names)
        return tuple(i for i, name in enumerate(self.ids) if name in wanted or not wanted.isdisjoint(self.tags[i]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FusionProblem:
    """Operators with their streams, hosts, and demands on who runs where.

    Attributes:
        ids: The operators' names.
        costs: The paper's w_v, in mips.
        regions: The parallel region of each operator, if any; a PE never spans two.
        channels: How many cores the operator's PE can use: the width of its parallel region.
        pragmas: The PE in which the user wants the operator, for the algorithm `manual`.
        sources: The sending operator of each stream.
        targets: The receiving operator of each stream.
        stream_costs: The paper's w_e, in mips: what each end pays if the stream is cut.
        stream_bytes: What flows over each stream in a second.
        feedback: Streams that close a loop through the next micro-batch; acyclic plans do not count them.
        hosts: The hosts.
        constraints: The six kinds of the paper and the two dedications.
    """

    ids: tuple[str, ...]
    costs: Floats
    regions: tuple[str | None, ...]
    channels: Ints
    pragmas: tuple[str | None, ...]
    sources: Ints
    targets: Ints
    stream_costs: Floats
    stream_bytes: Floats
    feedback: Flags
    hosts: Hosts
    constraints: tuple[Constraint, ...] = ()

    @property
    def operators(self) -> int:
        """The number of operators."""
        return len(self.ids)

    @property
    def streams(self) -> int:
        """The number of streams."""
        return len(self.sources)

    @property
    def index_of(self) -> dict[str, int]:
        """From an operator's name to its number."""
        return {name: index for index, name in enumerate(self.ids)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assignment:
    """A fusion before it is measured: the PE of each operator, and the host of each PE.

    Attributes:
        pe_of: Numbered from 0 without gaps.
        host_of: One for each PE.
        optimal: Whether it is proven that no fusion is better by what the algorithm is made for.
    """

    pe_of: Ints
    host_of: Ints
    optimal: bool = False

    @property
    def pes(self) -> int:
        """The number of PEs."""
        return len(self.host_of)

    def members(self) -> list[list[int]]:
        """The operators of each PE."""
        groups: list[list[int]] = [[] for _ in range(self.pes)]
        for operator, pe in enumerate(self.pe_of.tolist()):
            groups[pe].append(operator)
        return groups


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fusion:
    """An answer.

    Attributes:
        algorithm: What found it.
        assignment: Who is fused with whom, and runs where.
        feasible: Whether it keeps every constraint and loads no host beyond its capacity.
        cut: The cost of the streams between PEs, each counted once.
        max_pe_size: The largest SIZE of a PE (equation 1).
        max_utilization: The largest ratio of a host's load to its capacity.
        throughput_scale: By how much all rates could grow before a host, a PE or a link is full.
        objective: What it is judged by.
        objective_value: Its value by that: the cut, f(U, C), or `throughput_scale`.
        optimal: Whether it is proven that no fusion is better by the objective.
        seconds: How long it took.
    """

    algorithm: str
    assignment: Assignment
    feasible: bool
    cut: float
    max_pe_size: float
    max_utilization: float
    throughput_scale: float
    objective: Objective
    objective_value: float
    optimal: bool
    seconds: float


def fusion_problem(
    costs: ArrayLike,
    streams: Iterable[tuple[int, int, float]],
    capacities: ArrayLike,
    *,
    ids: Sequence[str] | None = None,
    regions: Sequence[str | None] | None = None,
    channels: ArrayLike | None = None,
    pragmas: Sequence[str | None] | None = None,
    stream_bytes: ArrayLike | None = None,
    feedback: ArrayLike | None = None,
    cores: ArrayLike | None = None,
    link_bytes: ArrayLike | None = None,
    tags: Sequence[Iterable[str]] | None = None,
    host_ids: Sequence[str] | None = None,
    constraints: Iterable[Constraint] = (),
) -> FusionProblem:
    """Build a problem from plain lists; what is left out is as plain as can be.

    Args:
        costs: Of the operators.
        streams: Sender, receiver and cost of each.
        capacities: Of the hosts.
        ids: The operators' names; `o0`, `o1`, ... unless given.
        regions: The operators' parallel regions.
        channels: The operators' widths.
        pragmas: The operators' PEs as the user wants them.
        stream_bytes: What flows over each stream in a second.
        feedback: Which streams close a loop.
        cores: Of the hosts.
        link_bytes: Of the hosts, in a second.
        tags: Of the hosts.
        host_ids: The hosts' names; `h0`, `h1`, ... unless given.
        constraints: On who runs where.

    Example:
        >>> problem = fusion_problem([4, 2], [(0, 1, 3)], [10], cores=[2])
        >>> problem.ids, problem.hosts.core_mips.tolist()
        (('o0', 'o1'), [5.0])
    """
    weights = np.asarray(costs, np.float64)
    edges = list(streams)
    count = len(weights)
    sources, targets, stream_costs = (np.array([edge[i] for edge in edges]) for i in range(3))
    return FusionProblem(
        ids=tuple(ids) if ids is not None else tuple(f"o{i}" for i in range(count)),
        costs=weights,
        regions=tuple(regions) if regions is not None else (None,) * count,
        channels=np.ones(count, np.int64) if channels is None else np.asarray(channels, np.int64),
        pragmas=tuple(pragmas) if pragmas is not None else (None,) * count,
        sources=sources.astype(np.int64),
        targets=targets.astype(np.int64),
        stream_costs=stream_costs.astype(np.float64),
        stream_bytes=np.zeros(len(edges)) if stream_bytes is None else np.asarray(stream_bytes, np.float64),
        feedback=np.zeros(len(edges), np.bool_) if feedback is None else np.asarray(feedback, np.bool_),
        hosts=_hosts(np.asarray(capacities, np.float64), cores, link_bytes, tags, host_ids),
        constraints=tuple(constraints),
    )


def _hosts(
    capacities: Floats,
    cores: ArrayLike | None,
    link_bytes: ArrayLike | None,
    tags: Sequence[Iterable[str]] | None,
    ids: Sequence[str] | None,
) -> Hosts:
    count = len(capacities)
    return Hosts(
        ids=tuple(ids) if ids is not None else tuple(f"h{i}" for i in range(count)),
        capacities=capacities,
        cores=np.ones(count, np.int64) if cores is None else np.asarray(cores, np.int64),
        link_bytes=np.full(count, np.inf) if link_bytes is None else np.asarray(link_bytes, np.float64),
        tags=tuple(frozenset(t) for t in tags) if tags is not None else (frozenset(),) * count,
    )


def with_rates(problem: FusionProblem, factor: float) -> FusionProblem:
    """The problem when all rates are multiplied: costs of operators and streams, and bytes, in proportion.

    A problem that does not fit at its measured rates is solved at lower ones: `throughput_scale` only changes by the
    factor. Rates divided by the COLA paper's gamma are capacities multiplied by it.

    Example:
        >>> with_rates(fusion_problem([4, 2], [(0, 1, 3)], [5]), 0.5).costs.tolist()
        [2.0, 1.0]
    """
    return replace(
        problem,
        costs=problem.costs * factor,
        stream_costs=problem.stream_costs * factor,
        stream_bytes=problem.stream_bytes * factor,
    )


def describe(constraint: Constraint) -> str:
    """A constraint in words, as messages name it.

    Example:
        >>> describe(Constraint(kind=ConstraintKind.PE_COLOCATION, operators=("a", "b")))
        'pe_colocation of `a`, `b`'
    """
    kind = constraint.kind.value
    if constraint.kind is ConstraintKind.HIGH_AVAILABILITY:
        parts = " | ".join(", ".join(f"`{o}`" for o in replica) for replica in constraint.replicas)
        return f"{kind} of {parts}{' (isomorphic)' if constraint.isomorphic else ''}"
    names = ", ".join(f"`{o}`" for o in constraint.operators)
    if constraint.kind is ConstraintKind.RESOURCE_MATCH:
        return f"{kind} of {names} to {', '.join(f'`{h}`' for h in constraint.hosts)}"
    return f"{kind} of {names}"


def numbered(labels: ArrayLike) -> Ints:
    """Labels renumbered from 0 without gaps, in order of first appearance.

    Example:
        >>> numbered([7, 3, 7, 9]).tolist()
        [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
