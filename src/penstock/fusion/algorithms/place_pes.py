"""Hosts for the PEs that an algorithm has formed."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.base.deadline import Deadline
from penstock.fusion.cola.pe_scheduler import schedule
from penstock.fusion.graph.super_graph import Group, SuperGraph
from penstock.fusion.problem.fusion_problem import Assignment


class NoHosts(Exception):
    """No valid hosts were found for PEs for which there should be some."""


def place_pes(graph: SuperGraph, pes: Sequence[Group], deadline: Deadline) -> Assignment:
    """Schedule PEs of super operators for the least utilization.

    Raises:
        NoHosts: No valid assignment was found in time.
    """
    host_of = schedule(graph, [graph.pe(pe) for pe in pes], deadline=deadline).host_of
    if host_of is None:
        raise NoHosts
    return graph.assignment(pes, host_of)
