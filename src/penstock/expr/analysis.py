"""Analyses of expressions and statements for compilers: what they use, change and do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from penstock.expr.functions.registry import overloads, resolve
from penstock.ir.expressions import (
    Attribute,
    Call,
    Expression,
    Field,
    Index,
    InputTuple,
    Update,
    Variable,
)
from penstock.ir.statements import Assign, Function, Logic, Statement
from penstock.ir.types import Schema, Type, has_collection

Root = tuple[str, object]
"""The variable or port that an expression is a part of: `("variable", name)` or `("port", number)`."""


def transform(x: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The tree with every node replaced by what `change` makes of it, leaves first; shared where nothing changed.

    Example:
        >>> from penstock.expr.typing import binary, literal
        >>> x = Variable(name="x", type=literal(1).type)
        >>> def fill(node):
        ...     return literal(5) if node == x else node
        >>> transform(binary("+", x, literal(1)), fill).left.value
        5
    """
    changes = {}
    for f in fields(x):
        old = getattr(x, f.name)
        new = _transform_part(old, change)
        if new is not old:
            changes[f.name] = new
    return change(replace(x, **changes) if changes else x)


def _transform_part(part: Any, change: Callable[[Expression], Expression]) -> Any:
    if isinstance(part, Expression):
        return transform(part, change)
    if isinstance(part, tuple) and any(isinstance(p, Expression) for p in part):
        new = tuple(_transform_part(p, change) for p in part)
        return part if all(a is b for a, b in zip(part, new, strict=True)) else new
    return part


def attributes_of(*expressions: Expression, schemas: Sequence[Schema] = ()) -> tuple[tuple[int, str], ...]:
    """The attributes that expressions read, as (port, name), in order of first use.

    Args:
        expressions: Any.
        schemas: Of the ports; needed where a whole tuple is used, which means all its attributes.

    Example:
        >>> from penstock.expr.typing import binary
        >>> from penstock.ir.types import INT32
        >>> a, b = Attribute(name="a", type=INT32), Attribute(name="b", type=INT32, port=1)
        >>> attributes_of(binary("+", b, a))
        ((1, 'b'), (0, 'a'))
    """
    found: dict[tuple[int, str], None] = {}
    for expression in expressions:
        for node in expression.walk():
            if isinstance(node, Attribute):
                found[node.port, node.name] = None
            elif isinstance(node, InputTuple):
                found.update(dict.fromkeys((node.port, name) for name in schemas[node.port].names))
    return tuple(found)


def variables_of(*expressions: Expression) -> frozenset[str]:
    """The names of the variables that expressions read or change."""
    return frozenset(n.name for x in expressions for n in x.walk() if isinstance(n, Variable))


def calls_of(*parts: Expression | Statement) -> Iterator[Call]:
    """All calls in expressions and statements."""
    for part in parts:
        for expression in expressions_of(part):
            yield from (n for n in expression.walk() if isinstance(n, Call))


def expressions_of(part: Expression | Statement) -> Iterator[Expression]:
    """The expression itself, or the expressions that stand anywhere in a statement."""
    if isinstance(part, Expression):
        yield part
    else:
        for statement in part.walk():
            yield from statement.expressions()


def logic_parts(logic: Logic) -> tuple[Statement, ...]:
    """The statements of a logic clause, outermost ones only."""
    process = () if logic.on_process is None else (logic.on_process,)
    return (*logic.state, *(h.body for h in (*logic.on_tuple, *logic.on_punctuation)), *process)


def own_function(x: Call, functions: Iterable[Function]) -> Function | None:
    """The application's function that a call means, if it is not a standard one."""
    types = [a.type for a in x.arguments]
    return next((f for f in functions if f.name == x.function and [p.type for p in f.parameters] == types), None)


def functions_used(parts: Iterable[Expression | Statement], functions: Sequence[Function]) -> tuple[Function, ...]:
    """The application's functions that code calls, directly or through others, in order of first use."""
    found: dict[tuple[str, tuple[Type, ...]], Function] = {}
    waiting = list(parts)
    while waiting:
        for call in calls_of(waiting.pop(0)):
            function = own_function(call, functions)
            if function is not None:
                key = (function.name, tuple(p.type for p in function.parameters))
                if key not in found:
                    found[key] = function
                    waiting.append(function.body)
    return tuple(found.values())


def is_pure(x: Expression, functions: Sequence[Function] = ()) -> bool:
    """Whether evaluating the expression has no effect and always gives the same value for the same tuple.

    Example:
        >>> from penstock.expr.typing import literal
        >>> is_pure(literal(1))
        True
    """
    if any(isinstance(n, Update) for n in x.walk()):
        return False
    bodies = (f for f in functions_used([x], functions))
    return all(map(_is_pure_call, calls_of(x))) and all(not f.stateful and _is_pure_body(f) for f in bodies)


def _is_pure_body(function: Function) -> bool:
    return not any(p.mutable for p in function.parameters) and all(map(_is_pure_call, _effects(function)))


def _effects(function: Function) -> Iterator[Call]:
    """The calls in a function that may have an effect beyond its own variables."""
    return (c for c in calls_of(function.body) if any(d.stateful for d in overloads(c.function)))


def _is_pure_call(x: Call) -> bool:
    found = overloads(x.function)
    return not any(d.stateful or d.mutable_positions for d in found)


def mutable_arguments(x: Call, functions: Sequence[Function]) -> tuple[Expression, ...]:
    """The arguments that a call changes."""
    own = own_function(x, functions)
    if own is not None:
        return tuple(a for a, p in zip(x.arguments, own.parameters, strict=True) if p.mutable)
    if not any(d.mutable_positions for d in overloads(x.function)):
        return ()
    found = resolve(x.function, [a.type for a in x.arguments])
    return tuple(x.arguments[i] for i in found.definition.mutable_positions)


def targets_of(part: Expression | Statement, functions: Sequence[Function]) -> Iterator[Expression]:
    """Everything that code changes: targets of assignments and updates, mutable arguments."""
    if isinstance(part, Statement):
        yield from (s.target for s in part.walk() if isinstance(s, Assign))
    for expression in expressions_of(part):
        yield from (n.target for n in expression.walk() if isinstance(n, Update))
    for call in calls_of(part):
        yield from mutable_arguments(call, functions)


def root_of(x: Expression) -> Root | None:
    """The variable or port that an expression is a part of; None if there is none."""
    match x:
        case Variable(name=name):
            return "variable", name
        case Attribute(port=port) | InputTuple(port=port):
            return "port", port
        case Field(base=base) | Index(base=base):
            return root_of(base)
    return None


def changed_roots(part: Expression | Statement, functions: Sequence[Function]) -> frozenset[Root]:
    """The variables and tuples that code changes, in whole or in part."""
    return frozenset(r for t in targets_of(part, functions) if (r := root_of(t)) is not None)


def ports_changed_in_place(part: Statement, functions: Sequence[Function]) -> frozenset[int]:
    """The ports whose current tuple holds a collection that code changes; an assigned attribute makes a new tuple."""
    roots = (root_of(t) for t in targets_of(part, functions) if _reaches_collection(t))
    return frozenset(r[1] for r in roots if r is not None and r[0] == "port" and isinstance(r[1], int))


def _reaches_collection(target: Expression) -> bool:
    part = target
    while isinstance(part, Field | Index):
        if isinstance(part, Index):
            return True
        part = part.base
    return has_collection(target.type)
