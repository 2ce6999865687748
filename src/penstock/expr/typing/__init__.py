"""Builds typed expressions: the one place where both front ends get their nodes.

Every function takes typed operands and returns a typed node in which each implicit conversion stands as a `Cast`, or
raises a `UserError` at the span it was given.

Example:
    >>> from penstock.ir.expressions import Attribute
    >>> from penstock.ir.types import FLOAT64, INT32
    >>> price, volume = Attribute(name="price", type=FLOAT64), Attribute(name="volume", type=INT32)
    >>> binary(">", binary("*", price, volume), literal(100)).left.right
    Cast(type=Primitive(name='float64', bound=None), operand=Attribute(...name='volume', port=0))
"""

from __future__ import annotations

from penstock.expr.typing.access import (
    assign,
    check_assignable,
    check_type,
    field,
    index,
    list_literal,
    literal,
    map_literal,
    set_literal,
    slice_,
    tuple_literal,
    update,
)
from penstock.expr.typing.calls import call, takes
from penstock.expr.typing.convert import cast, convert, try_convert, unify
from penstock.expr.typing.operators import binary, conditional, unary
from penstock.expr.typing.rules import can_cast, can_convert, common_type, is_hashable, is_ordered

__all__ = [
    "assign",
    "binary",
    "call",
    "can_cast",
    "can_convert",
    "cast",
    "check_assignable",
    "check_type",
    "common_type",
    "conditional",
    "convert",
    "field",
    "index",
    "is_hashable",
    "is_ordered",
    "list_literal",
    "literal",
    "map_literal",
    "set_literal",
    "slice_",
    "takes",
    "try_convert",
    "tuple_literal",
    "unary",
    "unify",
    "update",
]
