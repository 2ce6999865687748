"""The placement problem as arrays: what macroW's searches compute with.

PEs that must share their nodes are one unit. Rows of the matrices are units, columns are live nodes. A unit's
fraction on a node is the share of its goal that it gets there; a stream between two units loads a piece of network by
the difference of their fractions on its two sides, because tuples go to an instance on their own side first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations

import networkx as nx
import numpy as np
import numpy.typing as npt

from penstock.base.deadline import Deadline
from penstock.scheduler.problem.admission_problem import Pe
from penstock.scheduler.problem.composition import compose
from penstock.scheduler.problem.nodes import DEFAULT_TUPLE_BYTES, Cluster, Constraint, MetricWeights, Needs, Node
from penstock.scheduler.problem.units import unit_for

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

_BITS = 8
_MEGA = 1e6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """Units, nodes and rules, in the order of `units` and `nodes`.

    Attributes:
        units: The PEs of each unit.
        nodes: The ids of the live nodes.
        capacity_mips: Of each node.
        goal_mips: Of each unit.
        floor_mips: The least that each unit must get.
        size: How many PEs each unit holds.
        memory_mb: Of each unit.
        node_memory_mb: Of each node.
        max_pes: Of each node.
        degree: On how many nodes each unit may run.
        allowed: Where each unit may run.
        pinned: Where each unit must run.
        exclusive: Whether each unit wants its nodes for itself.
        apart: Pairs of units that may not share a node.
        licences: For each licence, how many of its holders each unit has, and the seats of each node.
        moves: For each unit and node, how many PEs move when it is used: those of a unit that runs, but not there.
        streams: Producer unit and consumer unit of each stream between units.
        traffic_mbps: Of each of these streams.
        sides: For each piece of network, which nodes are on its one side; the nodes' own cards come first.
        side_mbps: What each piece carries each way.
        weights: Of the six metrics.
        min_fraction: On a node that it uses, a unit gets at least this share of what it gets in all.
        max_moves: PEs that may start where they did not run; a large number for any.
        max_moves_per_node: The same for each node.
    """

    units: tuple[tuple[str, ...], ...]
    nodes: tuple[str, ...]
    capacity_mips: Floats
    goal_mips: Floats
    floor_mips: Floats
    size: Ints
    memory_mb: Floats
    node_memory_mb: Floats
    max_pes: Floats
    degree: Ints
    allowed: Bools
    pinned: Bools
    exclusive: Bools
    apart: tuple[tuple[int, int], ...]
    licences: tuple[tuple[Ints, Floats], ...]
    moves: Ints
    streams: Ints
    traffic_mbps: Floats
    sides: Bools
    side_mbps: Floats
    weights: MetricWeights
    min_fraction: float
    max_moves: float
    max_moves_per_node: float


def units_of(pes: Sequence[str], constraints: Sequence[Constraint]) -> tuple[tuple[str, ...], ...]:
    """PEs grouped by what must share its nodes, in the order of the PEs.

    Example:
        >>> together = Constraint(kind="colocation", pes=("c", "a", "rejected"))
        >>> units_of(["a", "b", "c"], [together])
        (('a', 'c'), ('b',))
    """
    graph = nx.Graph()
    graph.add_nodes_from(pes)
    known = set(pes)
    for constraint in constraints:
        if constraint.kind == "colocation":
            nx.add_path(graph, [pe for pe in constraint.pes if pe in known])
    position = {pe: i for i, pe in enumerate(pes)}
    groups = [tuple(sorted(group, key=position.__getitem__)) for group in nx.connected_components(graph)]
    return tuple(sorted(groups, key=lambda group: position[group[0]]))


def build_task(
    pes: Sequence[Pe], goals: Mapping[str, float], cluster: Cluster, deadline: Deadline | None = None
) -> Task:
    """The arrays of a placement problem: the admitted PEs with their goals, on the live nodes of a cluster.

    Its mips are in a unit in which the largest goal is about a hundred (`units`).
    """
    units = units_of([pe.id for pe in pes], cluster.constraints)
    by_id = {pe.id: pe for pe in pes}
    nodes = cluster.live_nodes
    needs = [[cluster.needs_of(pe) for pe in unit] for unit in units]
    streams, traffic = _streams(pes, goals, units, cluster, deadline)
    sides, side_mbps = _network(cluster)
    goal_mips = np.array([sum(max(goals[pe], by_id[pe].min_mips) for pe in unit) for unit in units], dtype=float)
    unit_mips = unit_for(goal_mips.tolist())
    rules, fixed, alone = cluster.rules, fixed_nodes(cluster), _exclusive_pes(cluster)
    return Task(
        units=units,
        nodes=tuple(node.id for node in nodes),
        capacity_mips=np.array([node.mips for node in nodes], dtype=float) / unit_mips,
        goal_mips=goal_mips / unit_mips,
        floor_mips=np.array([sum(by_id[pe].min_mips for pe in unit) for unit in units], dtype=float) / unit_mips,
        size=np.array([len(unit) for unit in units], dtype=int),
        memory_mb=np.array([sum(need.memory_mb for need in of_unit) for of_unit in needs], dtype=float),
        node_memory_mb=np.array([node.memory_mb for node in nodes], dtype=float),
        max_pes=np.array([np.inf if node.max_pes is None else node.max_pes for node in nodes], dtype=float),
        degree=np.array(degrees_of(units, cluster), dtype=int),
        allowed=allowed_nodes(units, cluster),
        pinned=_where(units, cluster, lambda pe: fixed.get(pe, frozenset())),
        exclusive=np.array([not alone.isdisjoint(unit) for unit in units], dtype=bool),
        apart=_apart(units, cluster),
        licences=_licences(units, cluster),
        moves=_moves(units, cluster),
        streams=streams,
        traffic_mbps=traffic,
        sides=sides,
        side_mbps=side_mbps,
        weights=rules.weights,
        min_fraction=rules.min_fraction,
        max_moves=np.inf if rules.max_moves is None else rules.max_moves,
        max_moves_per_node=np.inf if rules.max_moves_per_node is None else rules.max_moves_per_node,
    )


def _where(units: tuple[tuple[str, ...], ...], cluster: Cluster, nodes_of: Callable[[str], Set[str]]) -> Bools:
    """Row by row, the live nodes that some PE of the unit is told of."""
    column = {node.id: i for i, node in enumerate(cluster.live_nodes)}
    told = np.zeros((len(units), len(column)), dtype=bool)
    for row, unit in enumerate(units):
        told[row, [column[node] for pe in unit for node in nodes_of(pe) if node in column]] = True
    return told


def _moves(units: tuple[tuple[str, ...], ...], cluster: Cluster) -> Ints:
    """A PE that runs nowhere, or only on nodes that are down, does not move when it starts."""
    column = {node.id: i for i, node in enumerate(cluster.live_nodes)}
    moves = np.zeros((len(units), len(column)), dtype=int)
    for row, unit in enumerate(units):
        for pe in unit:
            here = [column[node] for node, mips in cluster.current.get(pe, {}).items() if mips > 0 and node in column]
            if here:
                moves[row] += 1
                moves[row, here] -= 1
    return moves


def allowed_nodes(units: tuple[tuple[str, ...], ...], cluster: Cluster) -> Bools:
    """Resource matching: tags, licences, memory, and the nodes that constraints leave."""
    limits, nodes = _node_limits(cluster), cluster.live_nodes
    node_memory = np.array([node.memory_mb for node in nodes])
    matching: dict[Needs, Bools] = {}
    fit = np.ones((len(units), len(nodes)), dtype=bool)
    for row, unit in enumerate(units):
        for pe in unit:
            need = replace(cluster.needs_of(pe), memory_mb=0.0, max_nodes=1)
            if need not in matching:
                matching[need] = np.array([_matches(need, node) for node in nodes], dtype=bool)
            fit[row] &= matching[need]
            for limit in limits.get(pe, ()):
                fit[row] &= np.array([node.id in limit for node in nodes], dtype=bool)
        fit[row] &= sum(cluster.needs_of(pe).memory_mb for pe in unit) <= node_memory
    return fit


def _matches(need: Needs, node: Node) -> bool:
    return need.tags <= node.tags and all(node.licences.get(name, 0) > 0 for name in need.licences)


def _node_limits(cluster: Cluster) -> dict[str, list[frozenset[str]]]:
    limits: dict[str, list[frozenset[str]]] = {}
    for constraint in cluster.constraints:
        if constraint.kind in ("resource_match", "fixed"):
            for pe in constraint.pes:
                limits.setdefault(pe, []).append(frozenset(constraint.nodes))
    return limits


def fixed_nodes(cluster: Cluster) -> dict[str, frozenset[str]]:
    """The nodes of each PE that is fixed."""
    return {pe: frozenset(fixed.nodes) for fixed in cluster.constraints if fixed.kind == "fixed" for pe in fixed.pes}


def degrees_of(units: tuple[tuple[str, ...], ...], cluster: Cluster) -> list[int]:
    """On how many nodes each unit may run: what its PEs allow, and for a fixed PE as many as it is fixed on.

    Example:
        >>> both = Constraint(kind="fixed", pes=("a",), nodes=("n1", "n2"))
        >>> degrees_of((("a",), ("b",)), Cluster(nodes=(), constraints=(both,)))
        [2, 1]
    """
    fixed = fixed_nodes(cluster)
    return [
        max(min(cluster.needs_of(pe).max_nodes for pe in unit), *(len(fixed.get(pe, ())) for pe in unit))
        for unit in units
    ]


def _exclusive_pes(cluster: Cluster) -> set[str]:
    return {pe for constraint in cluster.constraints if constraint.kind == "exclusive" for pe in constraint.pes}


def _apart(units: tuple[tuple[str, ...], ...], cluster: Cluster) -> tuple[tuple[int, int], ...]:
    row = {pe: i for i, unit in enumerate(units) for pe in unit}
    alone = _exclusive_pes(cluster)
    # A PE that wants its nodes for itself cannot be part of a larger unit: the unit is kept apart from itself.
    pairs = {(u, u) for u, unit in enumerate(units) if len(unit) > 1 and set(unit) & alone}
    for constraint in cluster.constraints:
        if constraint.kind == "exlocation":
            for one, other in combinations([row[pe] for pe in constraint.pes if pe in row], 2):
                pairs.add((min(one, other), max(one, other)))
    return tuple(sorted(pairs))


def _licences(units: tuple[tuple[str, ...], ...], cluster: Cluster) -> tuple[tuple[Ints, Floats], ...]:
    names = sorted({name for unit in units for pe in unit for name in cluster.needs_of(pe).licences})
    return tuple(
        (
            np.array([sum(name in cluster.needs_of(pe).licences for pe in unit) for unit in units], dtype=int),
            np.array([node.licences.get(name, 0) for node in cluster.live_nodes], dtype=float),
        )
        for name in names
    )


def _streams(
    pes: Sequence[Pe],
    goals: Mapping[str, float],
    units: tuple[tuple[str, ...], ...],
    cluster: Cluster,
    deadline: Deadline | None,
) -> tuple[Ints, Floats]:
    """The streams between units, and what each carries when every PE gets its goal."""
    row = {pe: i for i, unit in enumerate(units) for pe in unit}
    producer = {output.stream: pe.id for pe in pes for output in pe.outputs}
    rates = compose(pes, dict(goals), deadline=deadline).rates_tps
    joined: dict[tuple[int, int], float] = {}
    for pe in pes:
        for stream in pe.inputs:
            if stream in producer and row[producer[stream]] != row[pe.id]:
                ends = (row[producer[stream]], row[pe.id])
                size_bytes = cluster.tuple_bytes.get(stream, DEFAULT_TUPLE_BYTES)
                joined[ends] = joined.get(ends, 0.0) + float(rates[stream]) * size_bytes * _BITS / _MEGA
    return np.array(list(joined), dtype=int).reshape(-1, 2), np.array(list(joined.values()), dtype=float)


def _network(cluster: Cluster) -> tuple[Bools, Floats]:
    nodes = [node.id for node in cluster.live_nodes]
    cards = np.eye(len(nodes), dtype=bool)
    links = np.array([[n in link.nodes for n in nodes] for link in cluster.links], dtype=bool).reshape(-1, len(nodes))
    carries = [node.bandwidth_mbps for node in cluster.live_nodes] + [link.capacity_mbps for link in cluster.links]
    return np.vstack([cards, links]), np.array(carries, dtype=float)
