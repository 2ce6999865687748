"""Manual fusion: the PEs that the user's pragmas name.

Introduction:
    What a designer decides by hand, to be compared with what the optimizer decides.

Formulation:
    Operators with the same pragma (`"pe"` in the problem file) share a PE, in addition to those of each PE colocation
    constraint; every other operator is a PE by itself. Then the scheduler decides on hosts.

Example:
    A chain a, b, c, d where b and c carry the pragma `middle` becomes the PEs a | b, c | d.

When it does not apply:
    A pragma that contradicts a demand is refused: the user has said two things, and only the user can choose.

Algorithm:
    Gluing, then the cost of the schedule.

Preserves:
    Validity.

Reference:
    Gedik et al., CIKM 2009, section 5 compares with manual fusion; `partitionColocation` in SPL.
"""

from __future__ import annotations

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.fusion.algorithms.unfused import leave_unfused
from penstock.fusion.graph.super_graph import Contradiction, SuperGraph, super_graph
from penstock.fusion.problem.fusion_problem import Assignment, FusionProblem
from penstock.fusion.problem.settings import Settings


def fuse_manually(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """Make the PEs that the user's pragmas name.

    Raises:
        Infeasible: A pragma contradicts a demand.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> problem = fusion_problem([1, 1, 1], [(0, 1, 5)], [9], pragmas=[None, "back", "back"])
        >>> fuse_manually(super_graph(problem), Settings(), Deadline.after(None)).pe_of.tolist()
        [0, 1, 1]
    """
    wanted = _pragmas(graph.problem)
    try:
        glued = _glued(graph, list(wanted.values()))
    except Contradiction:
        clashing = [name for name, operators in wanted.items() if not _is_possible(graph, operators)]
        named = ", ".join(f"`{name}`" for name in clashing or wanted)
        raise Infeasible(
            f"the PE pragmas {named} contradict the constraints, the regions or the order of the plan",
            conflicts=[f"the PE pragma `{name}`" for name in clashing or wanted],
        ) from None
    return leave_unfused(glued, settings, deadline)


def _pragmas(problem: FusionProblem) -> dict[str, list[int]]:
    wanted: dict[str, list[int]] = {}
    for operator, pragma in enumerate(problem.pragmas):
        if pragma is not None:
            wanted.setdefault(pragma, []).append(operator)
    return wanted


def _glued(graph: SuperGraph, wanted: list[list[int]]) -> SuperGraph:
    pairs = [(group[0], other) for group in wanted for other in group[1:]]
    return super_graph(graph.problem, acyclic=graph.acyclic, glued=pairs)


def _is_possible(graph: SuperGraph, operators: list[int]) -> bool:
    try:
        _glued(graph, [operators])
    except Contradiction:
        return False
    return True
