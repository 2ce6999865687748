"""Operators that must be fused into one PE, as groups: the fusion dependencies that a region must keep local."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

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
    together = [c.operators for c in application.constraints if c.kind is ConstraintKind.PE_COLOCATION]
    number = {o.id: i for i, o in enumerate(application.operators)}
    groups = [tuple(sorted(group, key=number.__getitem__)) for group in joined(together)]
    return {id_: group for group in sorted(groups, key=lambda g: number[g[0]]) if len(group) > 1 for id_ in group}


Member = TypeVar("Member", bound=Hashable)


def joined(groups: Iterable[Sequence[Member]]) -> list[tuple[Member, ...]]:
    """Groups united wherever they have a member in common, in order of their first members.

    Example:
        >>> joined([("a", "b"), ("c", "d"), ("b", "e")])
        [('a', 'b', 'e'), ('c', 'd')]
    """
    parent: dict[Member, Member] = {}
    for group in groups:
        for other in group:
            parent[_root(parent, other)] = _root(parent, group[0])
    members: dict[Member, list[Member]] = {}
    for id_ in parent:
        members.setdefault(_root(parent, id_), []).append(id_)
    return [tuple(found) for found in members.values()]


def _root(parent: dict[Member, Member], id_: Member) -> Member:
    """The representative of a group, with the path to it shortened."""
    path = []
    while parent.setdefault(id_, id_) != id_:
        path.append(id_)
        id_ = parent[id_]
    parent.update(dict.fromkeys(path, id_))
    return id_
