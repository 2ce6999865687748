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
    METIS parts are looked at, too (`cut_starts`). If none of them does, the integer program places the
    least loaded one, and then single operators are moved (`relief`).

Preserves:
    Validity.

Reference:
    Ours; the COLA paper does not discuss "pathological cases".
"""

from __future__ import annotations

from penstock.base.deadline import Deadline
from penstock.fusion.algorithms.place_pes import NoHosts, place_pes
from penstock.fusion.cola.pe_scheduler import quick
from penstock.fusion.cola.relief import relieve
from penstock.fusion.cuts.cut_starts import cut_starts
from penstock.fusion.graph.merging import Merger
from penstock.fusion.graph.splitting import Splitter
from penstock.fusion.graph.super_graph import Group, SuperGraph
from penstock.fusion.problem.costs import TOLERANCE
from penstock.fusion.problem.fusion_problem import Assignment
from penstock.fusion.problem.objective import Goal
from penstock.fusion.problem.settings import Settings

_PARTS_OF_A_HOST = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15)
"""Up to which PEs are merged that do not fit. Large PEs save the most; small ones are easier to place."""

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


def make_fit(graph: SuperGraph, groups: list[Group], settings: Settings, deadline: Deadline) -> Assignment:
    """The least overloaded of many fusions, relieved; `groups` is a valid one that does not fit.

    Raises:
        NoHosts: No valid hosts were found for any.
    """
    found = list(cut_starts(graph, settings, deadline.share(0.5)))
    for state in (groups, [(template,) for template in range(len(graph.templates))]):
        if found and deadline.has_passed():
            break
        try:
            found.append(place_pes(graph, [pe for group in state for pe in graph.real(group)], deadline.share(0.5)))
        except NoHosts:
            continue
    if not found:
        raise NoHosts
    best: Assignment | None = None
    for start in sorted(found, key=lambda start: _CUT.rank(graph.problem, start))[:3]:
        relieved = relieve(graph, start, deadline.share(0.5))
        if best is None or _CUT.rank(graph.problem, relieved) < _CUT.rank(graph.problem, best):
            best = relieved
        if not _CUT.rank(graph.problem, best)[0] or deadline.has_passed():
            break
    assert best is not None
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
