"""Tables of key groups by what they send: groups that talk over successive shuffles meet on one executor.

Introduction:
    Where channels run decides what crosses between hosts only as far as channels talk to few others. With groups spread
    evenly each channel holds a bit of everything, and talks to all. The table that says which channel holds a group is
    the other half of the placement.

Formulation:
    A vertex is a key group of a region; its weights are the tuples that came to it, a column a region, because the
    stages of a batch run one after the other. An edge is the bytes from group to group. The groups of all regions are
    partitioned into as many parts as there are executors, so that little is cut and no part has more than its share of
    a region. A part's groups go to the part's channels, and the part to an executor.

Example:
    >>> flows = {(0, g, 2 * g): 100.0 for g in range(4)}
    >>> seen = GroupTraffic(ends={0: ("a", "b")}, flows=flows, tuples={r: dict.fromkeys(range(8), 1) for r in "ab"})
    >>> found = choose_tables(seen, {"a": (0, 0, 0, 0, 1, 1, 1, 1), "b": (0, 0, 0, 0, 1, 1, 1, 1)}, {"a": 2, "b": 2}, 2)
    >>> [found["a"][g] == found["b"][2 * g] for g in range(4)], sum(found["a"]), sum(found["b"])
    ([True, True, True, True], 4, 4)

When it does not apply:
    Regions without a key have no groups. A group of which nothing was seen stays where it is. Groups within which
    keys go all ways cannot be told apart: more groups help.

Algorithm:
    `placement.metis` with a weight for each region; within a part the heaviest group first, to the emptiest channel.
    It costs what METIS costs on as many vertices as there are groups.

Reference:
    Fischer and Bernstein, BigData 2015, section III-C, where a task instance is the smallest thing that can be moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.placement import PlacementProblem, communication_graph, place, sized_machines

IMBALANCE = 1.1
_DEADLINE_SECONDS = 5.0

Table = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTraffic:
    """What key groups send each other.

    Attributes:
        ends: By edge, the regions that it leads from and to.
        flows: By edge, group that sends and group that receives: bytes.
        tuples: By region and group, the tuples that came.
    """

    ends: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    flows: Mapping[tuple[int, int, int], float] = field(default_factory=dict)
    tuples: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def cut(self, places: Mapping[str, Sequence[object]]) -> float:
        """The bytes that cross between places, where `places` says for each region the place of each group."""
        total = 0.0
        for (edge, one, other), size in self.flows.items():
            here, there = self.ends[edge]
            if here in places and there in places and places[here][one] != places[there][other]:
                total += size
        return total


def choose_tables(
    traffic: GroupTraffic, tables: Mapping[str, Table], channels: Mapping[str, int], executors: int
) -> dict[str, Table]:
    """For each region the channel of each key group; channel c is meant for executor `part_of_channel(c)`.

    Args:
        traffic: What was seen.
        tables: As they are.
        channels: Of each region.
        executors: How many there are.
    """
    parts = parts_of(channels, executors)
    vertices = [(region, group) for region in tables for group in sorted(traffic.tuples.get(region, ()))]
    if parts < 2 or not vertices:
        return dict(tables)
    part_of = _partition(traffic, vertices, list(tables), parts)
    return {
        region: _dealt(region, table, traffic, part_of, channels[region], parts) for region, table in tables.items()
    }


def parts_of(channels: Mapping[str, int], executors: int) -> int:
    """Into how many parts groups are divided: each has a channel of each region."""
    return min([executors, *channels.values()])


def places_of(tables: Mapping[str, Table], parts: int) -> dict[str, list[int]]:
    """The part of each group, by its channel."""
    return {region: [channel % parts for channel in table] for region, table in tables.items()}


def _partition(
    traffic: GroupTraffic, vertices: Sequence[tuple[str, int]], regions: Sequence[str], parts: int
) -> dict[tuple[str, int], int]:
    number = {vertex: i for i, vertex in enumerate(vertices)}
    weights = np.zeros((len(vertices), len(regions)))
    for i, (region, group) in enumerate(vertices):
        weights[i, regions.index(region)] = max(float(traffic.tuples[region][group]), 1e-6)
    pairs = []
    for (edge, one, other), size in traffic.flows.items():
        here, there = ((region, group) for region, group in zip(traffic.ends[edge], (one, other), strict=True))
        if here in number and there in number and here != there:
            pairs.append((number[here], number[there], size))
    graph = communication_graph(weights, [a for a, _, _ in pairs], [b for _, b, _ in pairs], [s for _, _, s in pairs])
    machines = sized_machines(np.ones((parts, len(regions))), hard=False)
    problem = PlacementProblem(graph=graph, machines=machines, imbalance=IMBALANCE)
    found = place(problem, "metis", deadline_seconds=_DEADLINE_SECONDS)
    return {vertex: int(part) for vertex, part in zip(vertices, found.machine_of, strict=True)}


def _dealt(
    region: str,
    table: Table,
    traffic: GroupTraffic,
    part_of: Mapping[tuple[str, int], int],
    channels: int,
    parts: int,
) -> Table:
    """The groups of a region on its channels: those of a part on the part's, the heaviest first, to the emptiest."""
    found = list(table)
    load = [0.0] * channels
    seen = traffic.tuples.get(region, {})
    for group in sorted(seen, key=lambda group: (-seen[group], group)):
        own = [channel for channel in range(channels) if channel % parts == part_of[region, group]]
        best = min(own, key=lambda channel: (load[channel], channel != table[group], channel))
        found[group] = best
        load[best] += seen[group]
    return tuple(found)
