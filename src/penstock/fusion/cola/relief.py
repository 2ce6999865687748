"""Making a fusion fit that does not: single moves, then for small graphs a complete search."""

from __future__ import annotations

import numpy as np

from penstock.base.deadline import Deadline
from penstock.fusion.graph.super_graph import SuperGraph
from penstock.fusion.problem.costs import measure
from penstock.fusion.problem.fusion_problem import Assignment
from penstock.fusion.search.complete import fitting
from penstock.fusion.search.descent import Descent
from penstock.fusion.search.live import Live


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
