"""Full fusion: as few PEs as the demands allow.

Introduction:
    The other end of the spectrum: no communication between PEs, and no parallelism either. Right for light operators on
    one host.

Formulation:
    A partition that no valid merge makes coarser (`merging.Merger.may_merge`); capacities are not looked at.

Example:
    A chain of four operators becomes one PE, and nothing is cut.

When it does not apply:
    Regions, exlocation, dedication, high availability and different resource matches keep PEs apart.

Algorithm:
    Connected PEs are merged first, the largest benefit first; then any two that may be merged, first fit. Without
    demands there is nothing to check. O(E log E) for the first part, quadratic in the PEs of a kind that are left for
    the second, which ends at the deadline.

Preserves:
    Validity: every merge is checked before it is made.

Reference:
    Khandekar et al., Middleware 2009, sections 1.1 and 4, where one PE is always possible. Demands are ours.
"""

from __future__ import annotations

from penstock.base.deadline import Deadline
from penstock.fusion.algorithms.place_pes import place_pes
from penstock.fusion.graph.merging import Merger, pairs_of
from penstock.fusion.graph.super_graph import SuperGraph
from penstock.fusion.problem.fusion_problem import Assignment
from penstock.fusion.problem.settings import Settings


def fuse_all(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """Merge whatever may be merged.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> graph = super_graph(fusion_problem([1, 1, 1], [(0, 1, 5)], [9], regions=["r", "r", None]))
        >>> fuse_all(graph, Settings(), Deadline.after(None)).pe_of.tolist()
        [0, 0, 1]
    """
    if graph.may_share_pe(range(graph.vertices)) and all(len(template) == 1 for template in graph.templates):
        return place_pes(graph, [tuple(range(graph.vertices))], deadline)
    merger = Merger(graph, deadline=deadline)
    merger.merge_by_benefit(lambda one, other: True, deadline)
    for one, other in pairs_of(merger):
        if deadline.has_passed():
            break
        if merger.may_merge(one, other):
            merger.merge(one, other)
    return place_pes(graph, merger.pes(), deadline)
