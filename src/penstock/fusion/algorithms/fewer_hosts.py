"""Choosing fewer hosts than are offered.

Introduction:
    More hosts do not always make an application faster: PEs end up far apart, and streams between them cost more than
    the hosts bring. The COLA paper sees this in its table 2 and leaves it as future work.

Formulation:
    Among the sets that are left when the smallest hosts are taken away one after the other, the smallest set for which
    `throughput_scale` is not lower than for all hosts and for every larger set.

Example:
    Two operators that a heavy stream connects, on two hosts where one can carry both: one host is enough.

When it does not apply:
    Hosts that some constraint needs are not found out beforehand: a set without a solution ends the search.

Algorithm:
    One run of the algorithm for each number of hosts, at most `_MOST_RUNS` of them, from many to few.

Preserves:
    Validity and fit; `throughput_scale` never drops.

Reference:
    Khandekar et al., Middleware 2009, section 5, first item.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from penstock.base.diagnostics import Infeasible
from penstock.fusion.problem.fusion_problem import Assignment, Fusion, FusionProblem, Hosts, Ints

_MOST_RUNS = 16


def on_fewer_hosts(problem: FusionProblem, whole: Fusion, solve: Callable[[FusionProblem], Fusion]) -> Fusion:
    """A fusion at least as good as a given one, on as few hosts as the search finds.

    Args:
        problem: With all hosts.
        whole: What was found for it.
        solve: Solves a problem with fewer hosts.

    Example:
        >>> from penstock.fusion import Settings, fuse, fusion_problem
        >>> problem = fusion_problem([4, 2], [(0, 1, 3)], [10, 10])
        >>> spread = fuse(problem, "none")
        >>> on_fewer_hosts(problem, spread, lambda fewer: fuse(fewer, "cola")).assignment.host_of.tolist()
        [0]
    """
    by_size = np.argsort(-problem.hosts.capacities, kind="stable")
    best = whole
    for count in np.unique(np.linspace(1, problem.hosts.count - 1, _MOST_RUNS).astype(int))[::-1].tolist():
        if count == problem.hosts.count:
            continue
        kept = np.sort(by_size[:count])
        try:
            found = solve(replace(problem, hosts=_only(problem.hosts, kept)))
        except Infeasible:
            break
        if found.feasible and found.throughput_scale >= best.throughput_scale * (1 - 1e-9):
            hosts = Assignment(pe_of=found.assignment.pe_of, host_of=kept[found.assignment.host_of])
            best = replace(found, assignment=hosts, optimal=False)
    return best


def _only(hosts: Hosts, kept: Ints) -> Hosts:
    return Hosts(
        ids=tuple(hosts.ids[h] for h in kept.tolist()),
        capacities=hosts.capacities[kept],
        cores=hosts.cores[kept],
        link_bytes=hosts.link_bytes[kept],
        tags=tuple(hosts.tags[h] for h in kept.tolist()),
    )
