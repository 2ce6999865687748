"""The fallback of both COLA algorithms where splitting alone does not fit: detect that, merge again, relieve.

Introduction:
    The ratio (2) takes heavy operators with thin streams off a PE one by one; their streams to other small PEs are then
    paid for nothing. Splits that bring every PE below a host may so add more communication than the hosts can carry.

Formulation:
    Of several fusions the one whose hosts are the least loaded beyond their capacities; among those that fit the one
    that cuts the least.

Example:
    Forty PEs of which no two share a host that could hold four of them: merged up to a half of a host they are ten.

When it does not apply:
    Where LPT places the PEs as they are.

Algorithm:
    PEs are merged by benefit up to several parts of a host (`_merged_up_to`), and LPT is asked each time. If none fits,
    the least loaded of the fusions at hand (METIS parts, GreedyFuse, no fusion) are looked at, and single operators are
    moved (`relieve`).

Preserves:
    Validity.

Reference:
    Ours; the COLA paper does not discuss "pathological cases".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from penstock.base.deadline import Deadline
from penstock.fusion.algorithms.place_pes import NoHosts, place_pes
from penstock.fusion.cola.pe_scheduler import quick
from penstock.fusion.graph.merging import Merger
from penstock.fusion.graph.splitting import Splitter
from penstock.fusion.graph.super_graph import Group, SuperGraph
from penstock.fusion.problem.costs import TOLERANCE, measure
from penstock.fusion.problem.fusion_problem import Assignment
from penstock.fusion.problem.objective import Goal
from penstock.fusion.search.complete import fitting
from penstock.fusion.search.descent import Descent
from penstock.fusion.search.live import Live

_PARTS_OF_A_HOST = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15)
"""Up to which PEs are merged that do not fit. Large PEs save the most; small ones are easier to place."""

_MOST_RELIEVED = 3
_CUT = Goal(objective="cut")


def is_hopeless(splitter: Splitter) -> bool:
    """Whether more splits cannot fit: all PEs together exceed all hosts, and the largest is no larger than a host.

    A split adds communication and takes nothing away, so what is too much stays too much.
    """
    capacities, sizes = splitter.graph.problem.hosts.capacities, [pe.size for pe in splitter.pes()]
    return sum(sizes) > (1.0 + TOLERANCE) * float(capacities.sum()) and max(sizes) <= float(capacities.mean())


def merge_to_fit(graph: SuperGraph, groups: list[Group], deadline: Deadline) -> list[Group] | None:
    """A valid fusion merged again until LPT places it; None if it never does."""
    if fits_by_lpt(graph, groups):
        return groups
    for part in _PARTS_OF_A_HOST:
        if deadline.has_passed():
            return None
        merged = _merged_up_to(graph, groups, part, deadline)
        if fits_by_lpt(graph, merged):
            return merged
    return None


def make_fit(whole: SuperGraph, graph: SuperGraph, starts: Sequence[Assignment], deadline: Deadline) -> Assignment:
    """The least overloaded of some fusions and of no fusion at all, relieved.

    Args:
        whole: What is fused.
        graph: The same with what the lemma glues, where starts keep that together.
        starts: Valid fusions that do not fit.
        deadline: When to stop.

    Raises:
        NoHosts: There is no start, and no valid hosts were found for the operators.
    """
    found = list(starts)
    if not found or not deadline.has_passed():
        with suppress(NoHosts):
            found.append(place_pes(graph, [(v,) for v in range(graph.vertices)], deadline.share(0.5)))
    if not found:
        raise NoHosts
    found.sort(key=lambda start: _CUT.rank(graph.problem, start))
    best = found[0]
    for start in found[:_MOST_RELIEVED]:
        relieved = relieve(graph if graph.holds(start) else whole, start, deadline.share(0.7))
        best = min((best, relieved), key=lambda fusion: _CUT.rank(graph.problem, fusion))
        if not _CUT.rank(graph.problem, best)[0] or deadline.has_passed():
            break
    return best


def fits_by_lpt(graph: SuperGraph, groups: list[Group]) -> bool:
    """Whether LPT loads no host beyond its capacity."""
    return quick(graph, [graph.pe(pe) for group in groups for pe in graph.real(group)]).utilization <= 1.0 + TOLERANCE


def _merged_up_to(graph: SuperGraph, groups: list[Group], part: float, deadline: Deadline) -> list[Group]:
    """PEs merged where that saves the most, while none is larger than a part of a host."""
    merger = Merger(graph, groups, deadline)
    most = part * float(graph.problem.hosts.capacities.mean())

    def is_wanted(one: int, other: int) -> bool:
        size = merger.sizes[one] + merger.sizes[other] - 2 * merger.between[one][other]
        return size <= most * len(graph.templates[merger.groups[one][0]])

    merger.merge_by_benefit(is_wanted, deadline)
    return list(merger.groups.values())


def relieve(graph: SuperGraph, assignment: Assignment, deadline: Deadline) -> Assignment:
    """A valid fusion whose hosts are loaded within their capacities, if one is found; else the least loaded one.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> problem = fusion_problem([4, 4], [(0, 1, 1)], [6, 6])
        >>> packed = Assignment(pe_of=np.array([0, 0]), host_of=np.array([0]))
        >>> relieve(super_graph(problem), packed, Deadline.after(None)).pe_of.tolist()
        [0, 1]
    """
    if deadline.has_passed():
        return assignment
    live = Live(graph, graph.pes_of(assignment), assignment.host_of.tolist())
    Descent(live, np.random.default_rng(1), deadline, by_host_only=True).run(goal=1.0)
    relieved = graph.assignment(*live.pes())
    if measure(graph.problem, relieved).fits:
        return relieved
    found, _ = fitting(graph, deadline)
    return relieved if found is None else found
