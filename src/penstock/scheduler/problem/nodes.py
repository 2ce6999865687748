"""Where PEs may run: nodes, the network between them, and the rules that a placement keeps.

Data only; `penstock.scheduler.io.nodes_reader` reads it from the keys `nodes`, `links`, `constraints` and `placement`
of an admission problem, and from the placement keys of its PEs and streams.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

DEFAULT_TUPLE_BYTES = 100.0
"""The size of a tuple in traffic when its stream does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A processing node.

    Attributes:
        id: Unique in the cluster.
        mips: What it can give.
        memory_mb: What its PEs may take together.
        bandwidth_mbps: What may pass its network card each way; infinite cards count as idle.
        tags: What it is fit for (hardware, security); a PE runs only where its own tags are all found.
        licences: How many PEs may hold each licence here at once.
        max_pes: How many PEs it may run; None for any number.
        up: Whether it works now.
    """

    id: str
    mips: float
    memory_mb: float = math.inf
    bandwidth_mbps: float = math.inf
    tags: frozenset[str] = frozenset()
    licences: Mapping[str, int] = field(default_factory=dict)
    max_pes: int | None = None
    up: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A piece of network that joins some nodes with all others, such as the uplink of a rack.

    Attributes:
        id: Unique in the cluster.
        nodes: The nodes on its one side; traffic between them and the others passes it.
        capacity_mbps: What it carries each way.
    """

    id: str
    nodes: frozenset[str]
    capacity_mbps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """The requirements of a PE on the nodes that it runs on.

    Attributes:
        memory_mb: On each of its nodes.
        max_nodes: Its degree of parallelism: on how many nodes it may run at once.
        tags: The tags that each of its nodes must have.
        licences: The licences that it must hold on each of its nodes.
    """

    memory_mb: float = 0.0
    max_nodes: int = 1
    tags: frozenset[str] = frozenset()
    licences: frozenset[str] = frozenset()


KINDS = ("resource_match", "fixed", "colocation", "exlocation", "exclusive")


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A rule about some PEs.

    Attributes:
        kind: `resource_match` (only on these nodes), `fixed` (on exactly these nodes), `colocation` (all on the same
            nodes), `exlocation` (no two share a node) or `exclusive` (each shares its nodes with no other PE).
        pes: The PEs; those that are not admitted are passed over.
        nodes: For `resource_match` and `fixed`.
    """

    kind: str
    pes: tuple[str, ...]
    nodes: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f" on {', '.join(self.nodes)}" if self.nodes else ""
        return f"{self.kind} of {', '.join(self.pes)}{where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricWeights:
    """The weights of the six metrics that macroW's objective averages."""

    average_utilization: float = 1.0
    maximum_utilization: float = 1.0
    average_traffic: float = 1.0
    maximum_traffic: float = 1.0
    average_bandwidth: float = 1.0
    maximum_bandwidth: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the cluster is to be used.

    Attributes:
        weights: Of the six metrics.
        overallocation: Candidate nodes beyond those that the goals need, as a share of them; 1 is twice as many.
        min_fraction: The least share of what a PE gets that it may get on one of its nodes.
        max_moves: How many PEs may start on a node where they did not run, in one epoch; None for any number.
        max_moves_per_node: The same for each node.
    """

    weights: MetricWeights = MetricWeights()
    overallocation: float = 1.0
    min_fraction: float = 0.1
    max_moves: int | None = None
    max_moves_per_node: int | None = None


Allocation = Mapping[str, Mapping[str, float]]
"""The mips of each PE on each of its nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes, network and rules.

    Attributes:
        nodes: In the order of the file.
        links: Pieces of network; empty where only the total traffic matters.
        constraints: Rules about PEs.
        needs: What each PE asks; a PE that is not named asks for nothing special.
        tuple_bytes: The size of each stream's tuples.
        rules: How the cluster is to be used.
        current: What runs where now.
    """

    nodes: tuple[Node, ...]
    links: tuple[Link, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    needs: Mapping[str, Needs] = field(default_factory=dict)
    tuple_bytes: Mapping[str, float] = field(default_factory=dict)
    rules: Rules = Rules()
    current: Allocation = field(default_factory=dict)

    @property
    def live_nodes(self) -> tuple[Node, ...]:
        """The nodes that work."""
        return tuple(node for node in self.nodes if node.up)

    @property
    def live_mips(self) -> float:
        """The capacity of the working nodes together."""
        return sum(node.mips for node in self.live_nodes)

    def needs_of(self, pe_id: str) -> Needs:
        """The needs of a PE; empty ones if none are given."""
        return self.needs.get(pe_id, Needs())

    def with_down(self, down: frozenset[str]) -> Cluster:
        """The cluster with these nodes down and all others up.

        Example:
            >>> pair = Cluster(nodes=(Node(id="n1", mips=10.0), Node(id="n2", mips=20.0)))
            >>> pair.with_down(frozenset({"n2"})).live_mips
            10.0
        """
        return replace(self, nodes=tuple(replace(node, up=node.id not in down) for node in self.nodes))
