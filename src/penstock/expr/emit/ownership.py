"""Who owns a collection: when emitted code must copy.

Values have value semantics, but collections are changed in place, so no two owners may share one that either can
change. What an expression gives is

- FRESH: made by the expression itself; nobody else has it.
- SHARED: part of something that never changes, such as a tuple on a stream. It may be shared, but not changed.
- OWNED: part of a variable that can change.

A variable that can change takes a copy of everything that is not fresh. Everything else (a tuple that is submitted, a
constant, an element of a literal) takes a copy only of what is owned. Values without collections need none of this.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from penstock.expr.emit.scope import Scope
from penstock.ir.expressions import (
    Attribute,
    Binary,
    Cast,
    Conditional,
    Expression,
    Field,
    Index,
    InputTuple,
    ListLiteral,
    MapLiteral,
    SetLiteral,
    Slice,
    TupleLiteral,
    Unary,
    Update,
    Variable,
)
from penstock.ir.types import has_collection, is_collection


class Ownership(IntEnum):
    """Who else may have a value."""

    FRESH = 0
    SHARED = 1
    OWNED = 2


def ownership(x: Expression, scope: Scope) -> Ownership:
    """Who else may have the value of an expression."""
    if not has_collection(x.type):
        return Ownership.FRESH
    match x:
        case Variable(name=name):
            return Ownership.OWNED if scope.variables[name].owned else Ownership.SHARED
        case Attribute(port=port) | InputTuple(port=port):
            return Ownership.OWNED if port in scope.owned_ports else Ownership.SHARED
        case Update():
            return Ownership.OWNED
        case ListLiteral() | SetLiteral() | MapLiteral() | TupleLiteral():
            # A literal copies what is owned, so only what is shared is left in it.
            return min(_most(x.children(), scope), Ownership.SHARED)
        case Conditional(then=then, otherwise=otherwise):
            return max(ownership(then, scope), ownership(otherwise, scope))
        case Field(base=base) | Index(base=base) | Cast(operand=base) | Unary(operand=base):
            return ownership(base, scope)
        case Binary(left=left, right=right) if x.operator == "?:" or not _is_flat(x):
            return max(ownership(left, scope), ownership(right, scope))
        case Binary():
            return Ownership.FRESH
        case Slice() if _is_flat(x):
            return Ownership.FRESH
    # A call may give a part of an argument.
    return _most(x.children(), scope)


def _is_flat(x: Expression) -> bool:
    """Whether the value is a new collection whose elements hold no collections."""
    inner = [part for part in x.type.walk() if part is not x.type]
    return is_collection(x.type) and not any(is_collection(part) for part in inner)


def _most(parts: Iterable[Expression], scope: Scope) -> Ownership:
    return max((ownership(part, scope) for part in parts), default=Ownership.FRESH)


def needs_copy(x: Expression, scope: Scope, *, into_owned: bool) -> bool:
    """Whether a value must be copied on its way into a variable that can change, or into anything else."""
    limit = Ownership.FRESH if into_owned else Ownership.SHARED
    return ownership(x, scope) > limit
