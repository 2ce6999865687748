"""Operators that must share a PE in every solution: which ones, and what follows from that.

PE colocation says so directly. In an acyclic plan a cycle of operators shares a PE, and so does whatever lies between
two operators that do. What is glued in one replica of an isomorphic high availability is glued in all. Each of these
can bring about the others, so they are applied in turn until nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from penstock.fusion.problem.fusion_problem import FusionProblem, Ints, numbered
from penstock.ir.constraints import ConstraintKind


def glue(problem: FusionProblem, acyclic: bool, glued: Iterable[tuple[int, int]]) -> Ints:
    """The super operator of each operator: the closure of all that must share a PE.

    Args:
        problem: The problem.
        acyclic: Whether operators on a cycle must share a PE.
        glued: Further pairs of operators that do.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> loop = fusion_problem([1, 1, 1], [(0, 1, 5), (1, 2, 5), (2, 1, 5)], [9])
        >>> glue(loop, False, []).tolist(), glue(loop, True, []).tolist()
        ([0, 1, 2], [0, 1, 1])
    """
    index_of = problem.index_of
    pairs = list(glued)
    mirrored = []
    for constraint in problem.constraints:
        if constraint.kind is ConstraintKind.PE_COLOCATION:
            first, *others = (index_of[name] for name in constraint.operators)
            pairs += [(first, other) for other in others]
        elif constraint.isomorphic:
            mirrored.append(np.array([[index_of[name] for name in replica] for replica in constraint.replicas]))
    labels = united(problem.operators, pairs)
    while True:
        before = int(labels.max())
        if mirrored:
            labels = _mirror(labels, mirrored)
        if acyclic:
            labels = _without_cycles(problem, labels)
        if int(labels.max()) == before:
            return labels


def united(count: int, pairs: Sequence[tuple[int, int]]) -> Ints:
    """A number for each of some things, equal for those that pairs connect."""
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    graph = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    return numbered(connected_components(graph, directed=False)[1])


def _mirror(labels: Ints, mirrored: Sequence[Ints]) -> Ints:
    """Glue in every replica what is glued in one; of each isomorphic constraint, the operators in rows of replicas."""
    pairs = list(enumerate((labels + len(labels)).tolist()))
    for positions in mirrored:
        for row in labels[positions].tolist():
            first: dict[int, int] = {}
            for column, label in enumerate(row):
                if first.setdefault(label, column) != column:
                    pairs += [(int(p[first[label]]), int(p[column])) for p in positions]
    return numbered(united(2 * len(labels), pairs)[: len(labels)])


def cycles(problem: FusionProblem) -> list[list[int]]:
    """The sets of operators that lie on cycles, feedback aside; in an acyclic plan each of them shares a PE.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> cycles(fusion_problem([1, 1, 1], [(0, 1, 5), (1, 2, 5), (2, 1, 5)], [9]))
        [[1, 2]]
    """
    labels = _without_cycles(problem, np.arange(problem.operators))
    sizes = np.bincount(labels)
    return [np.flatnonzero(labels == label).tolist() for label in np.flatnonzero(sizes > 1)]


def _without_cycles(problem: FusionProblem, labels: Ints) -> Ints:
    """Glue the super operators of each cycle."""
    forward = ~problem.feedback
    ends = labels[problem.sources[forward]], labels[problem.targets[forward]]
    count = int(labels.max()) + 1
    graph = sparse.coo_array((np.ones(len(ends[0])), ends), shape=(count, count))
    return numbered(connected_components(graph, directed=True, connection="strong")[1][labels])
