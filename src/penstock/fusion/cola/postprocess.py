"""The post-processor of COLA: merge PEs again where everything still fits.

Introduction:
    Splits are made one after the other and never taken back, so some turn out to be needless.

Formulation:
    A pair of PEs is mergeable if the fusion with both merged is valid and the LPT scheduler finds an assignment that
    fits. Merge the mergeable pair that saves the most communication, until there is none.

Example:
    Two small PEs that were split off a large one early may go together once the large one has been split further.

When it does not apply:
    PEs between which nothing flows are left alone: merging them saves nothing.

Algorithm:
    A heap of pairs by what they save; one LPT schedule for each pair that is looked at. A pair that was turned down is
    looked at again in the next round, because every merge leaves the hosts less to carry; rounds end when one merges
    nothing.

Preserves:
    Validity and fit; the communication cost never grows.

Reference:
    Khandekar et al., Middleware 2009, section 2.2, post-processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.base.deadline import Deadline
from penstock.fusion.graph.merging import Merger
from penstock.fusion.graph.super_graph import Group, Pe, SuperGraph
from penstock.fusion.problem.costs import TOLERANCE


def merge_where_it_fits(
    graph: SuperGraph, groups: Iterable[Group], is_fine: Callable[[list[Pe]], bool], deadline: Deadline
) -> list[Group]:
    """Merge groups while the result is fine.

    Args:
        graph: What is fused.
        groups: A valid fusion.
        is_fine: Whether PEs can be scheduled well enough.
        deadline: When to stop.
    """
    if deadline.has_passed():
        return list(groups)
    merger = Merger(graph, groups, deadline)
    most = float(graph.problem.hosts.capacities.max())
    pes = {number: _row(graph, group) for number, group in merger.groups.items()}

    def is_wanted(one: int, other: int) -> bool:
        if deadline.has_passed() or not merger.may_merge(one, other):
            return False
        merged = _merged(graph, pes[one], pes[other])
        if max(pe.size for pe in merged) > most * (1 + TOLERANCE):
            return False
        rest = [pe for number, row in pes.items() if number not in (one, other) for pe in row]
        if not is_fine(rest + merged):
            return False
        pes[one] = merged
        del pes[other]
        return True

    before = 0
    while before != len(merger.groups):
        before = len(merger.groups)
        merger.merge_by_benefit(is_wanted, deadline)
    return list(merger.groups.values())


def _merged(graph: SuperGraph, one: list[Pe], other: list[Pe]) -> list[Pe]:
    """The PEs of two groups, merged replica by replica; what flows between the two is no longer paid at either end."""
    found = []
    for first, second in zip(one, other, strict=True):
        few, many = sorted((first.vertices, second.vertices), key=len)
        inside = set(many)
        saved = sum(cost for v in few for u, cost in graph.neighbours[v].items() if u in inside)
        vertices = first.vertices + second.vertices
        found.append(
            Pe(
                vertices=vertices,
                size=first.size + second.size - 2 * saved,
                need=graph.need(vertices),
                channels=min(first.channels, second.channels),
            )
        )
    return found


def _row(graph: SuperGraph, group: Group) -> list[Pe]:
    return [graph.pe(pe) for pe in graph.real(group)]
