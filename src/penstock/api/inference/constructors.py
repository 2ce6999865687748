"""What the constructor of an operator puts into the attributes of `self`: values that reading leaves alone, or not.

A dictionary or a compiled pattern can be read any number of times; an iterator is used up by it, and an object of an
unknown class may change itself.
"""

from __future__ import annotations

import ast

from penstock.api.inference.known import is_constant
from penstock.api.inference.sources import function_tree

_PLAIN_CALLS = frozenset(
    "bool bytes Counter compile Decimal defaultdict deque dict float frozenset int len list max min OrderedDict range "
    "round set sorted str sum tuple".split()
)

_CONTAINERS = (dict, list, set)


def holds_plain_value(owner: type | None, attribute: str) -> bool:
    """Whether what the constructor, or the class, gives an attribute stays as it is when it is read.

    Example:
        >>> class Mine:
        ...     limits = {"a": 1}
        >>> holds_plain_value(Mine, "limits"), holds_plain_value(Mine, "unknown")
        (True, False)
    """
    assigned = _assigned(owner, attribute)
    if assigned:
        return all(map(_is_plain, assigned))
    value = getattr(owner, attribute, ...)
    return value is not ... and (isinstance(value, _CONTAINERS) or is_constant(value))


def _assigned(owner: type | None, attribute: str) -> list[ast.expr]:
    """The expressions that the constructor assigns to an attribute of `self`."""
    tree = function_tree(getattr(owner, "__init__", None))
    if tree is None:
        return []
    found: list[ast.expr] = []
    for node in (n for s in tree.body for n in ast.walk(s)):
        match node:
            case ast.Assign(targets=targets, value=value):
                found.extend(value for target in targets if _is_own(target, attribute, tree.parameters[0]))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                found.extend([value] if _is_own(target, attribute, tree.parameters[0]) else [])
    return found


def _is_own(target: ast.expr, attribute: str, self_name: str) -> bool:
    match target:
        case ast.Attribute(value=ast.Name(id=name), attr=found):
            return name == self_name and found == attribute
    return False


def _is_plain(value: ast.expr) -> bool:
    """Constants, parameters, and containers and patterns made of anything; not generators or unknown objects."""
    match value:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in _PLAIN_CALLS
        case ast.GeneratorExp() | ast.Await() | ast.Yield() | ast.YieldFrom():
            return False
        case ast.IfExp(body=body, orelse=orelse):
            return _is_plain(body) and _is_plain(orelse)
        case ast.BoolOp(values=values):
            return all(map(_is_plain, values))
    return True
