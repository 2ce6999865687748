"""Operators that must be fused into one PE, as groups: the fusion dependencies that a region must keep local."""

from __future__ import annotations

from penstock.ir.constraints import ConstraintKind
from penstock.ir.graph import Application


def fusion_groups(application: Application) -> dict[str, tuple[str, ...]]:
    """From each operator with a fusion dependency to its whole group, in order of declaration.

    Colocation is transitive: operators that share a PE with the same operator share it with each other.

    Example:
        >>> from penstock.ir.constraints import Constraint
        >>> from penstock.ir.graph import Operator
        >>> kind = ConstraintKind.PE_COLOCATION
        >>> together = [Constraint(kind=kind, operators=ids) for ids in (("a", "b"), ("b", "c"))]
        >>> operators = tuple(Operator(id=id_, kind="Functor") for id_ in "abcd")
        >>> fusion_groups(Application(name="Main", operators=operators, constraints=tuple(together)))
        {'a': ('a', 'b', 'c'), 'b': ('a', 'b', 'c'), 'c': ('a', 'b', 'c')}
    """
    parent: dict[str, str] = {}
    for constraint in application.constraints:
        if constraint.kind is ConstraintKind.PE_COLOCATION and constraint.operators:
            first = _root(parent, constraint.operators[0])
            for other in constraint.operators[1:]:
                parent[_root(parent, other)] = first
    members: dict[str, list[str]] = {}
    for operator in application.operators:
        if operator.id in parent:
            members.setdefault(_root(parent, operator.id), []).append(operator.id)
    return {id_: tuple(group) for group in members.values() if len(group) > 1 for id_ in group}


def _root(parent: dict[str, str], id_: str) -> str:
    """The representative of a group, with the path to it shortened."""
    path = []
    while parent.setdefault(id_, id_) != id_:
        path.append(id_)
        id_ = parent[id_]
    parent.update(dict.fromkeys(path, id_))
    return id_
