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
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from penstock.api.inference.frames import outer_parts, walk_scope


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


def count_emissions(body: Iterable[ast.stmt], submits: frozenset[int] = frozenset()) -> Count:
    """The number of tuples that one call of a function with this body gives.

    Args:
        body: Its statements.
        submits: The calls in it that submit a tuple, by the identity of their nodes.
    """
    flow = _Paths(submits).block(body)
    return _join(flow.through, flow.left) or NONE


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


@dataclass(frozen=True, slots=True)
class _Paths:
    """The counts of statements and expressions, given which calls submit."""

    submits: frozenset[int]

    def block(self, statements: Iterable[ast.stmt]) -> _Flow:
        flow = _Flow(NONE, None)
        for statement in statements:
            flow = flow.then(self._statement(statement))
        return flow

    def _statement(self, statement: ast.stmt) -> _Flow:
        match statement:
            case ast.Return(value=value):
                return _Flow(None, self._expression(value))
            case ast.Raise():
                return _Flow(None, None)
            case ast.If(test=test, body=body, orelse=orelse):
                return self._straight(test).then(self.block(body) | self.block(orelse))
            case ast.For(iter=head, body=body, orelse=orelse) | ast.While(test=head, body=body, orelse=orelse):
                # A loop that is left by `break` skips what `else` says.
                skipped = [_Flow(NONE, None)] if any(isinstance(n, ast.Break) for n in walk_scope(body)) else []
                last = _either([self.block(orelse), *skipped])
                return self._straight(head).then(_loop(self.block(body))).then(last)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                # A context manager may swallow an exception, so that any part of the body may have run.
                heads = [self._straight(item.context_expr) for item in items]
                return _sequence([*heads, self._try(body, [[]], [])])
            case (
                ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=last)
                | ast.TryStar(body=body, handlers=handlers, orelse=orelse, finalbody=last)
            ):
                return _finally(self._try(body, [h.body for h in handlers], orelse), self.block(last))
            case ast.Match(subject=subject, cases=cases):
                # Any number of guards may have been tried before a case is taken.
                guards = _Flow(NONE | _sum(self._expression(case.guard) for case in cases), None)
                branches = _either([_Flow(NONE, None), *(self.block(case.body) for case in cases)])
                return self._straight(subject).then(guards).then(branches)
            case ast.Break() | ast.Continue():
                return _Flow(NONE, None)
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                return _Flow(_sum(map(self._expression, outer_parts(statement))), None)
            case ast.Assert(test=test, msg=message):
                return _Flow(self._expression(test) + (NONE | self._expression(message)), None)
        parts = (e for e in ast.iter_child_nodes(statement) if isinstance(e, ast.expr))
        return _Flow(_sum(map(self._expression, parts)), None)

    def _try(self, body: list[ast.stmt], handlers: list[list[ast.stmt]], orelse: list[ast.stmt]) -> _Flow:
        """The body may be left at any point for a handler, so a handler follows any part of it."""
        whole = self.block(body)
        most = self._most(body)
        part = _Flow(Count(0, most), None)
        flow = whole.then(self.block(orelse))
        for handler in handlers:
            flow = flow | part.then(self.block(handler))
        return flow

    def _most(self, body: Iterable[ast.AST]) -> float:
        """The most that any part of a block may give before it is left by an exception."""
        nodes = list(walk_scope(body))
        loops = [n for n in nodes if isinstance(n, ast.For | ast.While | ast.AsyncFor | ast.comprehension)]
        found = [n for n in nodes if isinstance(n, ast.Yield | ast.YieldFrom) or id(n) in self.submits]
        is_open = any(isinstance(n, ast.YieldFrom) for n in found) or (bool(loops) and bool(found))
        return ANY.most if is_open else len(found)

    def _straight(self, expression: ast.expr) -> _Flow:
        return _Flow(self._expression(expression), None)

    def _expression(self, node: ast.AST | None) -> Count:
        """The tuples that evaluating an expression gives; a part that may be skipped counts from zero."""
        match node:
            case None:
                return NONE
            case ast.Lambda():
                return _sum(map(self._expression, outer_parts(node)))
            case ast.Compare(left=left, comparators=[first, *rest]):
                # `a < b < c` looks at c only if a < b.
                return _sum(map(self._expression, (left, first))) + (NONE | _sum(map(self._expression, rest)))
            case ast.Yield(value=value):
                return Count(1, 1) + self._expression(value)
            case ast.YieldFrom():
                return ANY
            case ast.Call() if id(node) in self.submits:
                return Count(1, 1) + _sum(map(self._expression, ast.iter_child_nodes(node)))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._expression(test) + (self._expression(body) | self._expression(orelse))
            case ast.BoolOp(values=[first, *rest]):
                return self._expression(first) + (NONE | _sum(map(self._expression, rest)))
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                parts = (child for child in ast.walk(node) if isinstance(child, ast.Call | ast.Yield))
                return ANY if _sum(map(self._expression, parts)).most else NONE
        return _sum(map(self._expression, ast.iter_child_nodes(node)))


def _loop(body: _Flow) -> _Flow:
    """Zero or more rounds: any number of tuples as soon as one round can give one."""
    counts = [c for c in (body.through, body.left) if c is not None]
    submits = any(c.most > 0 for c in counts)
    return _Flow(ANY if submits else NONE, None if body.left is None else (ANY if submits else NONE))


def _finally(flow: _Flow, last: _Flow) -> _Flow:
    """The flow of a `try` with its `finally`, which every path runs through."""
    after = _join(last.through, last.left)
    left = None if flow.left is None else flow.left + (after or NONE)
    through = None if flow.through is None else _shift(flow.through, last.through)
    leaves = _join(left, None if flow.through is None else _shift(flow.through, last.left))
    # An exception that is not caught may be replaced by a `return` in `finally`.
    return _Flow(through, _join(leaves, None if last.left is None else Count(0, ANY.most)))


def _either(flows: Iterable[_Flow]) -> _Flow:
    return reduce(operator.or_, flows)


def _sequence(flows: Iterable[_Flow]) -> _Flow:
    total = _Flow(NONE, None)
    for flow in flows:
        total = total.then(flow)
    return total


def _sum(counts: Iterable[Count]) -> Count:
    total = NONE
    for count in counts:
        total = total + count
    return total
