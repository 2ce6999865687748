"""How many tuples a function gives on each path through it.

Section 3.2 of the auto-parallelization paper counts `submit` calls by data flow; here `yield` and `submit(...)`
count alike. Branches give the least and the greatest count, a loop around either gives no upper bound.

Example:
    >>> tree = ast.parse('''
    ... def process(self, t):
    ...     if t.price <= 0:
    ...         return
    ...     yield t
    ... ''').body[0]
    >>> count_emissions(tree.body)
    Count(least=0, most=1)
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.api.inference.sources import FunctionTree, function_tree


@dataclass(frozen=True, slots=True)
class Count:
    """Between `least` and `most` tuples; `most` is infinite where a loop submits."""

    least: float
    most: float

    def __add__(self, other: Count) -> Count:
        return Count(self.least + other.least, self.most + other.most)

    def __or__(self, other: Count) -> Count:
        return Count(min(self.least, other.least), max(self.most, other.most))


NONE = Count(0, 0)
ANY = Count(0, math.inf)


@dataclass(frozen=True, slots=True)
class _Flow:
    """The counts of paths that reach the end of a block, and of those that leave the function before."""

    through: Count | None
    left: Count | None

    def then(self, following: _Flow) -> _Flow:
        if self.through is None:
            return self
        return _Flow(_shift(self.through, following.through), _join(self.left, _shift(self.through, following.left)))

    def __or__(self, other: _Flow) -> _Flow:
        return _Flow(_join(self.through, other.through), _join(self.left, other.left))


def _shift(before: Count, after: Count | None) -> Count | None:
    return None if after is None else before + after


def _join(one: Count | None, other: Count | None) -> Count | None:
    if one is None or other is None:
        return one or other
    return one | other


def count_emissions(body: Iterable[ast.stmt]) -> Count:
    """The number of tuples that one call of a function with this body gives."""
    flow = _block(body)
    return _join(flow.through, flow.left) or NONE


def submits_elsewhere(tree: FunctionTree, owner: type) -> bool:
    """Whether a method submits through other methods of its class, or passes `self.submit` on."""
    ready, seen = [tree], {tree.node.lineno}
    while ready:
        method = ready.pop()
        nodes = [n for s in method.body for n in ast.walk(s)]
        called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
        for attribute, is_called in _own_attributes(method, nodes, called):
            if attribute == "submit" and (method is not tree or not is_called):
                return True
            other = function_tree(getattr(owner, attribute, None))
            if other is not None and other.node.lineno not in seen:
                seen.add(other.node.lineno)
                ready.append(other)
    return False


def _own_attributes(method: FunctionTree, nodes: list[ast.AST], called: set[int]) -> Iterator[tuple[str, bool]]:
    """The attributes of `self` that a method uses, and whether it calls them."""
    self_name = method.parameters[0] if method.parameters else None
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name == self_name:
                yield attribute, id(node) in called


def returned_count(value: ast.expr | None) -> Count:
    """The number of tuples in a returned list: known for a literal, unknown otherwise."""
    match value:
        case None | ast.Constant(value=None):
            return NONE
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            starred = any(isinstance(e, ast.Starred) for e in elements)
            return ANY if starred else Count(len(elements), len(elements))
        case ast.IfExp(body=body, orelse=orelse):
            return returned_count(body) | returned_count(orelse)
    return ANY


def _block(statements: Iterable[ast.stmt]) -> _Flow:
    flow = _Flow(NONE, None)
    for statement in statements:
        flow = flow.then(_statement(statement))
    return flow


def _statement(statement: ast.stmt) -> _Flow:
    match statement:
        case ast.Return(value=value):
            return _Flow(None, _expression(value))
        case ast.Raise():
            return _Flow(None, None)
        case ast.If(test=test, body=body, orelse=orelse):
            return _straight(test).then(_block(body) | _block(orelse))
        case ast.For(iter=head, body=body, orelse=orelse) | ast.While(test=head, body=body, orelse=orelse):
            return _straight(head).then(_loop(_block(body))).then(_block(orelse))
        case ast.With(items=items, body=body):
            heads = [_straight(item.context_expr) for item in items]
            return _sequence([*heads, _block(body)])
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            return _try(body, [h.body for h in handlers], orelse).then(_block(finalbody))
        case ast.Match(subject=subject, cases=cases):
            branches = _Flow(NONE, None)
            for case in cases:
                branches = branches | _block(case.body)
            return _straight(subject).then(branches)
        case ast.Break() | ast.Continue():
            return _Flow(NONE, None)
        case ast.FunctionDef() | ast.ClassDef():
            return _Flow(NONE, None)
    return _Flow(_sum(_expression(e) for e in ast.iter_child_nodes(statement) if isinstance(e, ast.expr)), None)


def _loop(body: _Flow) -> _Flow:
    """Zero or more rounds: any number of tuples as soon as one round can give one."""
    counts = [c for c in (body.through, body.left) if c is not None]
    submits = any(c.most > 0 for c in counts)
    return _Flow(ANY if submits else NONE, None if body.left is None else (ANY if submits else NONE))


def _try(body: list[ast.stmt], handlers: list[list[ast.stmt]], orelse: list[ast.stmt]) -> _Flow:
    """The body may be left at any point for a handler, so a handler follows any part of it."""
    whole = _block(body)
    most = max((c.most for c in (whole.through, whole.left) if c is not None), default=0)
    part = _Flow(Count(0, most), None)
    flow = whole.then(_block(orelse))
    for handler in handlers:
        flow = flow | part.then(_block(handler))
    return flow


def _straight(expression: ast.expr) -> _Flow:
    return _Flow(_expression(expression), None)


def _sequence(flows: Iterable[_Flow]) -> _Flow:
    total = _Flow(NONE, None)
    for flow in flows:
        total = total.then(flow)
    return total


def _expression(node: ast.AST | None) -> Count:
    """The tuples that evaluating an expression gives; a part that may be skipped counts from zero."""
    match node:
        case None | ast.Lambda():
            return NONE
        case ast.Yield(value=value):
            return Count(1, 1) + _expression(value)
        case ast.YieldFrom():
            return ANY
        case ast.Call(func=ast.Attribute(attr="submit", value=ast.Name(id="self"))):
            return Count(1, 1) + _sum(_expression(child) for child in ast.iter_child_nodes(node))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _expression(test) + (_expression(body) | _expression(orelse))
        case ast.BoolOp(values=[first, *rest]):
            return _expression(first) + (NONE | _sum(_expression(value) for value in rest))
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            inside = _sum(_expression(child) for child in ast.walk(node) if isinstance(child, ast.Call | ast.Yield))
            return ANY if inside.most else NONE
    return _sum(_expression(child) for child in ast.iter_child_nodes(node))


def _sum(counts: Iterable[Count]) -> Count:
    total = NONE
    for count in counts:
        total = total + count
    return total
