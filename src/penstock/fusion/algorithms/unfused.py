"""No fusion: a PE for each operator.

Introduction:
    The strategy NONE of the COLA paper. It needs no costs, so it is what a first profile runs on, and the yardstick
    that gains are measured against.

Formulation:
    The finest partition; then the scheduler decides on hosts for the least utilization (`scheduling.schedule`).

Example:
    A chain of four operators becomes four PEs, and all three streams are cut.

When it does not apply:
    Operators that must share a PE do so: PE colocation, and in acyclic plans a cycle of operators.

Algorithm:
    The cost of the schedule.

Preserves:
    Validity: a demand that any fusion keeps, the finest one keeps.

Reference:
    Khandekar et al., Middleware 2009, section 4.
"""

from __future__ import annotations

from penstock.base.deadline import Deadline
from penstock.fusion.algorithms.place_pes import place_pes
from penstock.fusion.graph.super_graph import SuperGraph
from penstock.fusion.problem.fusion_problem import Assignment
from penstock.fusion.problem.settings import Settings


def leave_unfused(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """Make a PE of each super operator.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> graph = super_graph(fusion_problem([1, 1], [(0, 1, 5)], [9]))
        >>> leave_unfused(graph, Settings(), Deadline.after(None)).pe_of.tolist()
        [0, 1]
    """
    return place_pes(graph, [(v,) for v in range(graph.vertices)], deadline)
