"""What the local names of a Python function are aliases of, and which of them are keys.

A local name is an alias of whatever stands on the right of its assignments: of the input tuple, of another parameter,
of `self`, of the state of one key, or of nothing that outlives the call. What a call gives may be a part of any of its
arguments, unless it is known to make something new. A key is an attribute of the input tuple, a tuple of such, or a
local that is bound once to one.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum

from penstock.api.inference.known import FRESH_BUILTINS, FRESH_METHODS
from penstock.api.inference.sources import FunctionTree

Key = frozenset[str]


class Origin(Enum):
    """What a local name may be an alias of; of several, the last one in this list counts."""

    NOTHING = "nothing"
    TUPLE = "the input tuple"
    KEYED = "the state of one key"
    PARAMETER = "a parameter"
    SELF = "self"


_WORSE = list(Origin).index


def _worst(origins: Iterable[Origin]) -> Origin:
    return max(origins, key=_WORSE, default=Origin.NOTHING)


class Names:
    """The names of one function.

    Attributes:
        tree: The function.
        self_name: What it calls its instance, if it is a method.
        tuple_name: What it calls the input tuple, if that is known.
        locals: Every name that it binds.
    """

    def __init__(self, tree: FunctionTree, self_name: str | None, tuple_name: str | None) -> None:
        self.tree = tree
        self.self_name = self_name
        self.tuple_name = tuple_name
        self.locals = {node.id for node in self._names() if isinstance(node.ctx, ast.Store | ast.Del)}
        self.locals |= {a.arg for n in ast.walk(tree.node) if isinstance(n, ast.arguments) for a in _all_arguments(n)}
        self._keys: dict[str, Key] = {}
        outside = Origin.TUPLE if tuple_name is None else Origin.PARAMETER
        self._origins: dict[str, Origin] = {a.arg: outside for a in _all_arguments(tree.node.args)}
        if tuple_name is not None:
            self._origins[tuple_name] = Origin.TUPLE
        self._name_keys()
        self._find_origins()

    def _names(self) -> Iterator[ast.Name]:
        return (n for s in self.tree.body for n in ast.walk(s) if isinstance(n, ast.Name))

    def _find_origins(self) -> None:
        """Fixed point of: a local is an alias of whatever stands on the right of its assignments."""
        if self.self_name:
            self._origins[self.self_name] = Origin.SELF
        changed = True
        while changed:
            changed = False
            for name, value in self._bindings():
                before = self._origins.get(name, Origin.NOTHING)
                origin = _worst((before, self.origin(value)))
                if origin is not before:
                    self._origins[name] = origin
                    changed = True

    def _bindings(self) -> Iterator[tuple[str, ast.expr]]:
        """Every (local name, expression it takes its value from)."""
        for node in (n for s in self.tree.body for n in ast.walk(s)):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        yield from ((name, value) for name in _bound_names(target))
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    yield from ((name, value) for name in _bound_names(target))
                case ast.NamedExpr(target=target, value=value):
                    yield from ((name, value) for name in _bound_names(target))
                case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                    yield from ((name, value) for name in _bound_names(target))
                case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                    yield from ((name, value) for name in _bound_names(target))

    def origin(self, node: ast.expr) -> Origin:
        """What the value of an expression may be an alias of."""
        match node:
            case ast.Name(id=name):
                return self._origins.get(name, Origin.NOTHING)
            case ast.Subscript(value=ast.Attribute() as base, slice=index) if self.state_name(base):
                return Origin.KEYED if self.key_of(index) else Origin.SELF
            case ast.Attribute(value=base) | ast.Subscript(value=base) | ast.Starred(value=base):
                return self.origin(base)
            case ast.Call(func=ast.Attribute(value=ast.Attribute() as base, attr=method), args=[first, *_]) if (
                self.state_name(base) and method in ("get", "setdefault", "pop") and self.key_of(first)
            ):
                return Origin.KEYED
            case ast.Call(func=ast.Name(id=name)) if name in FRESH_BUILTINS and name not in self.locals:
                return Origin.NOTHING
            case ast.Call(func=ast.Attribute(attr=method)) if method in FRESH_METHODS:
                return Origin.NOTHING
            case ast.Compare() | ast.Constant() | ast.JoinedStr() | ast.Lambda():
                return Origin.NOTHING
        return _worst(self.origin(part) for part in _parts(node))

    def state_name(self, node: ast.expr) -> str | None:
        """The attribute's name if the expression is `self.x`."""
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name == self.self_name is not None:
                return attribute
        return None

    def _name_keys(self) -> None:
        """Find the locals that are bound once, by a plain assignment, to a key."""
        stores = Counter(n.id for n in self._names() if isinstance(n.ctx, ast.Store | ast.Del))
        stores.update(
            a.arg for n in ast.walk(self.tree.node) if isinstance(n, ast.arguments) for a in _all_arguments(n)
        )
        for node in (n for s in self.tree.body for n in ast.walk(s)):
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.NamedExpr(target=ast.Name(id=name), value=value)
                ):
                    if stores[name] == 1 and (key := self.key_of(value)):
                        self._keys[name] = key

    def key_of(self, node: ast.expr) -> Key | None:
        """The attributes that a key expression is made of, or None."""
        match node:
            case ast.Name(id=name):
                return self._keys.get(name)
            case ast.Attribute(value=ast.Name(id=base), attr=attribute) if base == self.tuple_name is not None:
                return None if self._is_rebound(base) else frozenset({attribute})
            case ast.Tuple(elts=elements) if elements:
                parts = [self.key_of(e) for e in elements]
                return None if None in parts else frozenset().union(*(p for p in parts if p))
        return None

    def _is_rebound(self, name: str) -> bool:
        return any(n.id == name and isinstance(n.ctx, ast.Store | ast.Del) for n in self._names())


def _bound_names(target: ast.expr) -> list[str]:
    """The plain names that an assignment target binds; a store into a part binds none."""
    match target:
        case ast.Name(id=name):
            return [name]
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return [name for element in elements for name in _bound_names(element)]
        case ast.Starred(value=inner):
            return _bound_names(inner)
    return []


def _parts(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that an expression is made of; those of a comprehension stand in its clauses."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.comprehension | ast.keyword):
            yield from _parts(child)


def _all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    stars = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *stars]
