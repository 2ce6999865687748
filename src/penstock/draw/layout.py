"""A layered layout: where each vertex of a directed graph stands so that streams run from left to right.

Introduction
    Sugiyama's method. Sources stand on the left; every edge that is not feedback goes at least one layer to the
    right; an edge over several layers passes through bends, one a layer, so that no edge runs behind a box.

Algorithm
    Layers by longest path. Order within a layer by the barycentre of the neighbours, swept right and left a fixed
    number of times, best crossing count kept. Rows by pulling each vertex towards the median of its neighbours without
    breaking the order. Cost O(sweeps x edges x log).

Reference
    Sugiyama, Tagawa, Toda: Methods for visual understanding of hierarchical system structures, 1981. Departure:
    straightening is a few relaxation rounds, not a quadratic program.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.base.topological_order import sort_topologically

SWEEPS = 8
ROUNDS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The result.

    Attributes:
        place: Vertex to (layer, row); rows are fractional, at least 1 apart within a layer.
        paths: One list of (layer, row) for each edge, in the order they were given, ends included.
        layers: How many layers there are.
        rows: The height of the whole.
    """

    place: dict[str, tuple[int, float]]
    paths: tuple[tuple[tuple[int, float], ...], ...]
    layers: int
    rows: float


def layered_layout(vertices: Sequence[str], edges: Sequence[tuple[str, str]]) -> Layout:
    """Lay out a graph; edges that close a cycle are drawn but do not count.

    Example:
        >>> layout = layered_layout(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")])
        >>> layout.place["a"][0], layout.place["b"][0], layout.place["c"][0]
        (0, 1, 2)
        >>> len(layout.paths[2])
        3
    """
    forward = _without_back_edges(vertices, edges)
    layer = _longest_paths(vertices, [edges[i] for i in forward])
    chains = _chains(edges, forward, layer)
    columns = _columns(vertices, layer, chains)
    neighbours = _neighbours(chains.values())
    _reduce_crossings(columns, neighbours)
    row = _straighten(columns, neighbours)
    place = {v: (layer[v], row[v]) for v in vertices}
    paths = tuple(
        tuple((_layer_of(node, layer), row[node]) for node in chains[i]) if i in chains else (place[a], place[b])
        for i, (a, b) in enumerate(edges)
    )
    return Layout(place=place, paths=paths, layers=len(columns), rows=max(row.values(), default=0.0) + 1)


def _without_back_edges(vertices: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[int]:
    """The indices of edges that a depth-first search does not find to close a cycle."""
    outgoing: dict[str, list[int]] = defaultdict(list)
    for i, (a, _) in enumerate(edges):
        outgoing[a].append(i)
    state: dict[str, int] = {}
    back: set[int] = set()
    for root in vertices:
        if root in state:
            continue
        state[root] = 1
        stack = [(root, iter(outgoing[root]))]
        while stack:
            vertex, rest = stack[-1]
            for i in rest:
                target = edges[i][1]
                if state.get(target) == 1:
                    back.add(i)
                elif target not in state:
                    state[target] = 1
                    stack.append((target, iter(outgoing[target])))
                    break
            else:
                state[vertex] = 2
                stack.pop()
    return [i for i in range(len(edges)) if i not in back]


def _longest_paths(vertices: Sequence[str], edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    outgoing: dict[str, list[str]] = {v: [] for v in vertices}
    for a, b in edges:
        outgoing[a].append(b)
    layer = dict.fromkeys(vertices, 0)
    for vertex in sort_topologically(outgoing):
        for target in outgoing[vertex]:
            layer[target] = max(layer[target], layer[vertex] + 1)
    return layer


Node = str | tuple[int, int]
"""A vertex, or the bend of an edge: (index of the edge, layer)."""


def _chains(edges: Sequence[tuple[str, str]], forward: list[int], layer: dict[str, int]) -> dict[int, list[Node]]:
    chains: dict[int, list[Node]] = {}
    for i in forward:
        a, b = edges[i]
        chains[i] = [a, *((i, between) for between in range(layer[a] + 1, layer[b])), b]
    return chains


def _columns(vertices: Sequence[str], layer: dict[str, int], chains: dict[int, list[Node]]) -> list[list[Node]]:
    columns: list[list[Node]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for vertex in vertices:
        columns[layer[vertex]].append(vertex)
    for chain in chains.values():
        for bend in chain[1:-1]:
            columns[_layer_of(bend, layer)].append(bend)
    return columns


def _layer_of(node: Node, layer: dict[str, int]) -> int:
    return layer[node] if isinstance(node, str) else node[1]


Neighbours = dict[Node, tuple[list[Node], list[Node]]]


def _neighbours(chains: Iterable[list[Node]]) -> Neighbours:
    found: Neighbours = defaultdict(lambda: ([], []))
    for chain in chains:
        for a, b in itertools.pairwise(chain):
            found[b][0].append(a)
            found[a][1].append(b)
    return found


def _reduce_crossings(columns: list[list[Node]], neighbours: Neighbours) -> None:
    best, fewest = [list(c) for c in columns], _crossings(columns, neighbours)
    for sweep in range(SWEEPS):
        side = sweep % 2
        order = columns if side == 0 else columns[::-1]
        for fixed, column in itertools.pairwise(order):
            position = {node: i for i, node in enumerate(fixed)}
            here = {node: i for i, node in enumerate(column)}
            column.sort(key=lambda n: _barycentre(n, neighbours[n][side], position, here))
        count = _crossings(columns, neighbours)
        if count < fewest:
            best, fewest = [list(c) for c in columns], count
        if fewest == 0:
            break
    for column, kept in zip(columns, best, strict=True):
        column[:] = kept


def _barycentre(node: Node, linked: list[Node], position: dict[Node, int], here: dict[Node, int]) -> float:
    places = [position[n] for n in linked if n in position]
    return sum(places) / len(places) if places else float(here[node])


def _crossings(columns: list[list[Node]], neighbours: Neighbours) -> int:
    total = 0
    for left, right in itertools.pairwise(columns):
        position = {node: i for i, node in enumerate(right)}
        seen: list[int] = []
        for node in left:
            ends = sorted(position[n] for n in neighbours[node][1])
            total += sum(len(seen) - bisect_left(seen, end + 1) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _straighten(columns: list[list[Node]], neighbours: Neighbours) -> dict[Node, float]:
    height = max((len(c) for c in columns), default=0)
    row: dict[Node, float] = {}
    for column in columns:
        offset = (height - len(column)) / 2
        row.update({node: offset + i for i, node in enumerate(column)})
    for _ in range(ROUNDS):
        for column in columns:
            _relax(column, neighbours, row)
    lowest = min(row.values(), default=0.0)
    return {node: y - lowest for node, y in row.items()}


def _relax(column: list[Node], neighbours: Neighbours, row: dict[Node, float]) -> None:
    """Pull each node of a column towards its neighbours, keeping the order and a distance of one."""
    wanted = [_median([row[n] for side in neighbours[node] for n in side], row[node]) for node in column]
    down, up = list(wanted), list(wanted)
    for i in range(1, len(column)):
        down[i] = max(down[i], down[i - 1] + 1)
    for i in range(len(column) - 2, -1, -1):
        up[i] = min(up[i], up[i + 1] - 1)
    for node, a, b in zip(column, down, up, strict=True):
        row[node] = (a + b) / 2


def _median(values: list[float], default: float) -> float:
    if not values:
        return default
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
