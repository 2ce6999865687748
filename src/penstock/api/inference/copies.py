"""Which attributes a Python function copies unchanged from the tuple it takes to every tuple it gives.

An attribute is forwarded if each place that gives a tuple builds it in a way we understand and puts there, under the
same name, the input's attribute itself.

Example:
    >>> tree = ast.parse("lambda t: {'sym': t.sym, 'price': t.price * 2}", mode="eval").body
    >>> sorted(copied(tree.body, Copies(parameter="t", inputs=("sym", "price"), outputs=("sym", "price"))))
    ['sym']
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.api.inference.known import is_plain_record
from penstock.api.inference.sources import FunctionTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """What a copy looks like in one function.

    Attributes:
        parameter: The name of the input tuple.
        inputs: The attribute names of the input schema.
        outputs: The attribute names of the output schema.
        aliases: Locals that are bound once, to an attribute of the input.
        lookup: The object that a free name means.
    """

    parameter: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    aliases: dict[str, str] = field(default_factory=dict)
    lookup: Callable[[str], Any] | None = None


def forwarded(tree: FunctionTree, parameter: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> frozenset[str]:
    """The attributes that every tuple given by a function copies from its parameter."""
    nodes = [n for s in tree.body for n in ast.walk(s)]
    if any(isinstance(n, ast.Name) and n.id == parameter and not isinstance(n.ctx, ast.Load) for n in nodes):
        return frozenset()
    copies = Copies(
        parameter=parameter, inputs=inputs, outputs=outputs, aliases=_aliases(nodes, parameter), lookup=tree.lookup
    )
    given = list(_given(nodes))
    if not given:
        return frozenset()
    return frozenset.intersection(*(copied(value, copies) for value in given))


def copied(value: ast.expr, copies: Copies) -> frozenset[str]:
    """The attributes that one expression, whose value becomes a tuple of the output, copies."""
    match value:
        case ast.Name(id=name) if name == copies.parameter:
            return frozenset(copies.inputs) & frozenset(copies.outputs)
        case ast.Dict(keys=keys, values=values):
            return _matching(_last_given(keys, values), copies)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="_replace"), keywords=changes) if (
            name == copies.parameter and all(k.arg for k in changes)
        ):
            kept = frozenset(copies.inputs) & frozenset(copies.outputs)
            return kept - {str(k.arg) for k in changes}
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords) if _is_record(name, copies):
            fields = _record_fields(name, copies)
            positional = list(zip(fields, arguments, strict=False)) if not _has_star(arguments) else []
            return _matching([*positional, *((k.arg, k.value) for k in keywords)], copies)
        case ast.Tuple(elts=elements) | ast.List(elts=elements) if not _has_star(elements):
            return _matching(list(zip(copies.outputs, elements, strict=False)), copies)
        case ast.IfExp(body=body, orelse=orelse):
            return copied(body, copies) & copied(orelse, copies)
    return frozenset()


def _given(nodes: list[ast.AST]) -> Iterator[ast.expr]:
    """The expressions that become tuples: what is yielded, submitted, or returned (alone or in a list)."""
    yields = any(isinstance(n, ast.Yield | ast.YieldFrom) for n in nodes)
    for node in nodes:
        match node:
            case ast.Yield(value=ast.expr() as value):
                yield value
            case ast.YieldFrom(value=ast.List(elts=elements)):
                yield from elements
            case ast.YieldFrom():
                yield ast.Constant(value=...)
            case ast.Call(args=[value, *_]) if _is_submit(node):
                yield value
            case ast.Return(value=ast.List(elts=elements)) if not yields:
                yield from elements
            case ast.Return(value=ast.expr() as value) if not yields:
                if not (isinstance(value, ast.Constant) and value.value is None):
                    yield value


def _is_submit(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="submit", value=ast.Name(id="self"))):
            return True
    return False


def _matching(named: list[tuple[Any, ast.expr]], copies: Copies) -> frozenset[str]:
    return frozenset(name for name, value in named if name is not None and _source(value, copies) == name)


def _last_given(keys: list[ast.expr | None], values: list[ast.expr]) -> list[tuple[Any, ast.expr]]:
    """The items of a dictionary display that nothing after them can replace."""
    given: dict[Any, ast.expr] = {}
    for key, value in zip(keys, values, strict=True):
        if isinstance(key, ast.Constant):
            given[key.value] = value
        else:
            given.clear()
    return list(given.items())


def _is_record(name: str, copies: Copies) -> bool:
    """Whether a name means a class that holds what it is given under the names it is given."""
    try:
        meant = copies.lookup(name) if copies.lookup else None
    except (KeyError, ValueError):
        return False
    return meant is dict or is_plain_record(meant)


def _source(value: ast.expr, copies: Copies) -> str | None:
    """The input attribute that an expression is, if it is one."""
    match value:
        case ast.Attribute(value=ast.Name(id=base), attr=attribute) if base == copies.parameter:
            return attribute
        case ast.Name(id=name):
            return copies.aliases.get(name)
    return None


def _aliases(nodes: list[ast.AST], parameter: str) -> dict[str, str]:
    found: dict[str, str] = {}
    stores = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(value=ast.Name(id=base), attr=attribute)):
                if base == parameter and stores.count(name) == 1:
                    found[name] = attribute
    return found


def _record_fields(name: str, copies: Copies) -> tuple[str, ...]:
    try:
        record = copies.lookup(name) if copies.lookup else None
    except (KeyError, ValueError):
        return ()
    fields = getattr(record, "_fields", None) or tuple(getattr(record, "__dataclass_fields__", ()))
    return tuple(fields)


def _has_star(elements: list[ast.expr]) -> bool:
    return any(isinstance(e, ast.Starred) for e in elements)
