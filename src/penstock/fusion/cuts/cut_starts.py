"""Fusions with little communication that METIS k-way finds: starts beside splitting.

A minimum-ratio cut looks at one PE at a time; METIS looks at all parts at once, and on large graphs with locality it
cuts less. It knows hosts as shares of the weight, so it runs with a part for each of the hosts that are needed, and
again with the weights that the last cut implies, because a PE also pays for the streams that are cut. It knows neither
demands nor acyclic plans: its parts are divided by what operators ask for; in acyclic plans runs of a topological order
take its place.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pymetis

from penstock.base.deadline import Deadline
from penstock.base.metis import part_graph
from penstock.fusion.algorithms.place_pes import NoHosts
from penstock.fusion.cola.pe_scheduler import quick
from penstock.fusion.cuts.cut_graph import CutGraph, cut_graph, whole_numbers
from penstock.fusion.graph.super_graph import SuperGraph
from penstock.fusion.problem.costs import TOLERANCE, measure
from penstock.fusion.problem.fusion_problem import Assignment, Floats, Ints
from penstock.fusion.problem.settings import Settings
from penstock.fusion.search.runs import fuse_runs

_ROUNDS = 4
_MOST_WEIGHT = 2**30
_UFACTORS = (None, 100, 10)
"""How uneven parts may be: METIS's own limit, and a wider and a narrower one, in thousandths."""


def cut_starts(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Iterator[Assignment]:
    """Valid fusions that cut little, the first of them whatever the clock says; whether they fit is for the caller."""
    if graph.acyclic:
        with suppress(NoHosts):
            yield fuse_runs(graph, settings, deadline)
    if graph.acyclic or not any(graph.neighbours):
        return
    edges = ((v, u, cost) for v, row in enumerate(graph.neighbours) for u, cost in row.items() if v < u)
    inside = cut_graph(graph.costs, edges)
    runs = [_metis_parts(graph, inside, count, settings.seed, deadline) for count in _host_counts(graph)]
    # In turn, one at a time: on a large graph each takes long, and the first may be all that there is time for.
    for found in (next(run, None) for _ in range(_ROUNDS * len(_UFACTORS)) for run in runs):
        assignment = None if found is None else _assignment(graph, *found)
        if assignment is not None:
            yield assignment
        if deadline.has_passed():
            return


def plain_start(graph: SuperGraph) -> Iterator[Assignment]:
    """METIS k-way as it comes, with a part for each host: what no other cut should be worse than."""
    hosts = graph.problem.hosts.count
    if graph.acyclic or not any(graph.neighbours) or not 1 < hosts <= graph.vertices:
        return
    edges = ((v, u, cost) for v, row in enumerate(graph.neighbours) for u, cost in row.items() if v < u)
    matrix = (inside := cut_graph(graph.costs, edges)).matrix()
    matrix.sort_indices()
    flows, weights = _as_they_are(matrix.data), _as_they_are(inside.weights)
    parts = part_graph(hosts, matrix.indptr, matrix.indices, edge_weights=flows, vertex_weights=weights)
    assignment = _assignment(graph, parts, np.arange(hosts))
    if assignment is not None:
        yield assignment


def _as_they_are(weights: Floats) -> Ints:
    """Weights that METIS can take as they are, or else scaled."""
    is_whole = bool((weights >= 1).all()) and bool((weights == np.rint(weights)).all()) and weights.sum() < _MOST_WEIGHT
    return weights.astype(np.int64) if is_whole else whole_numbers(weights)


def fuse_cut_start(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """The first of the starts that fits, or the least loaded one.

    Raises:
        NoHosts: There is none.
    """
    found: list[tuple[float, Assignment]] = []
    for start in cut_starts(graph, settings, deadline):
        found.append((measure(graph.problem, start).max_utilization, start))
        if found[-1][0] <= 1 + TOLERANCE:
            break
    if not found:
        raise NoHosts
    return min(found, key=lambda entry: entry[0])[1]


def _host_counts(graph: SuperGraph) -> list[int]:
    """How many of the largest hosts to use: all of them, or about as many as the operators need."""
    capacities = -np.sort(-graph.problem.hosts.capacities)
    needed = int(np.searchsorted(np.cumsum(capacities), sum(graph.costs) * 1.02)) + 1
    count = len(capacities)
    tried = {min(n, count, graph.vertices) for n in (count, needed, needed + 1, (needed + count + 1) // 2)}
    return sorted(tried - {1}, reverse=True)


def _metis_parts(
    graph: SuperGraph, inside: CutGraph, count: int, seed: int, deadline: Deadline
) -> Iterator[tuple[Ints, Ints]]:
    """The part of each vertex and the host of each part, a few times over."""
    hosts = np.argsort(-graph.problem.hosts.capacities, kind="stable")[:count]
    shares = graph.problem.hosts.capacities[hosts] / graph.problem.hosts.capacities[hosts].sum()
    matrix = inside.matrix()
    ends = np.repeat(np.arange(graph.vertices), np.diff(matrix.indptr))
    took = -math.inf
    for ufactor in _UFACTORS:
        weights: Floats = inside.weights
        for number in range(_ROUNDS):
            if deadline.left() <= took:
                return
            before = deadline.elapsed()
            options = (
                pymetis.Options(seed=seed + number)
                if ufactor is None
                else pymetis.Options(seed=seed + number, ufactor=ufactor)
            )
            parts = part_graph(
                count,
                matrix.indptr,
                matrix.indices,
                edge_weights=whole_numbers(matrix.data),
                vertex_weights=whole_numbers(weights),
                shares=shares.tolist(),
                options=options,
            )
            took = deadline.elapsed() - before
            yield parts, hosts
            paid = np.where(parts[ends] != parts[matrix.indices], matrix.data, 0.0)
            weights = inside.weights + np.bincount(ends, weights=paid, minlength=graph.vertices)


def _assignment(graph: SuperGraph, parts: Ints, hosts: Ints) -> Assignment | None:
    """The parts as PEs on their hosts; where there are demands on hosts, as the scheduler places them."""
    part_of, sharing = parts.tolist(), Counter(graph.clusters)
    groups: dict[tuple[object, ...], list[int]] = {}
    for t, template in enumerate(graph.templates):
        demands = (_demands(graph, v, sharing) for v in template)
        groups.setdefault((part_of[template[0]], *demands), []).append(t)
    pes = [pe for group in groups.values() for pe in graph.real(tuple(group))]
    if graph.has_needs or any(len(template) > 1 for template in graph.templates):
        host_of = quick(graph, [graph.pe(pe) for pe in pes]).host_of
    else:
        host_of = [int(hosts[part_of[pe[0]]]) for pe in pes]
    return None if host_of is None else graph.assignment(pes, host_of)


def _demands(graph: SuperGraph, v: int, sharing: Counter[int]) -> tuple[object, ...]:
    """The demands of a vertex: vertices of a part with equal demands share a PE, so that hosts are easy to find."""
    cluster = graph.clusters[v] if sharing[graph.clusters[v]] > 1 else None
    return graph.kinds[v], cluster, graph.needs[v].signature(), v if graph.exclusions[v] else None
