"""Finds what the instances of a keyed operator share and change.

The instances of a `KeyedOperator` must not know of each other: they may live in different processes, and what they
share there is neither kept nor restored. A class attribute, a global or a variable of a function around the class that
a method changes in place is such a thing, and is refused.

    Functions of the program that a method calls by name are looked at as well, and so are local names for such things.

When it does not apply:
    This is no proof. What is changed in a roundabout way is not seen here; `--verify-models` compares what an operator
    does with what it does on channels.
"""

from __future__ import annotations

import ast
import inspect
from collections import deque
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from penstock.api.inference.names.bindings import is_library
from penstock.api.inference.names.syntax_trees import FunctionTree, function_tree
from penstock.base.diagnostics import UserError

_CONTAINERS = (list, dict, set, deque, bytearray)
_CHANGES = frozenset(
    "add append appendleft clear difference_update discard extend extendleft insert intersection_update pop popitem "
    "popleft remove reverse setdefault sort subtract symmetric_difference_update update".split()
)


def check_keeps_apart(owner: type, base: type) -> None:
    """Refuse a class whose methods change what all instances share.

    Args:
        owner: The user's class.
        base: Where the user's classes end.

    Raises:
        UserError: Something is shared and changed; the message names it.
    """
    trees = [tree for method in _methods(owner, base) if (tree := function_tree(method)) is not None]
    own = {name for tree in trees for name in _set_on_self(tree)}
    helpers = _helpers(trees)
    for tree in (*trees, *helpers):
        shared = next((name for name in _shared(tree, owner if tree in trees else object, own)), None)
        if shared is not None:
            holder = f" of `{owner.__name__}`" if tree in trees else f", which `{owner.__name__}` calls,"
            where = f"`{tree.function.__name__}`{holder}"
            message = f"{where} changes `{shared}`, which the instances of all keys share"
            hint = "make it in `__init__` as an attribute of `self`; a cache of what never changes is `functools.cache`"
            raise UserError(message, hint=hint)


def _methods(owner: type, base: type) -> Iterator[FunctionType]:
    for class_ in owner.__mro__:
        if issubclass(class_, base) and class_ is not base:
            for value in vars(class_).values():
                method = value.__func__ if isinstance(value, classmethod | staticmethod) else value
                method = method.fget if isinstance(method, property) else method
                if isinstance(method, FunctionType):
                    yield method


def _helpers(trees: list[FunctionTree]) -> list[FunctionTree]:
    """The functions of the program that some functions call by name, and those that they call."""
    found: dict[FunctionType, FunctionTree] = {}
    ready = list(trees)
    while ready:
        tree = ready.pop()
        names = [n.func.id for n in ast.walk(tree.node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
        for function in (_meaning(tree, name) for name in names if name not in _bound(tree)):
            is_own = isinstance(function, FunctionType) and not is_library(function.__code__.co_filename)
            called = function_tree(function) if is_own and function not in found else None
            if called is not None:
                found[function] = called
                ready.append(called)
    return list(found.values())


def _set_on_self(tree: FunctionTree) -> Iterator[str]:
    """The attributes that a method gives its instance; `+=` gives what there was before."""
    added = {id(node.target) for node in ast.walk(tree.node) if isinstance(node, ast.AugAssign)}
    for node in ast.walk(tree.node):
        is_set = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and id(node) not in added
        if is_set and isinstance(node, ast.Attribute) and _is_self(node.value, tree):
            yield node.attr


def _is_self(node: ast.AST, tree: FunctionTree) -> bool:
    return isinstance(node, ast.Name) and node.id == next(iter(tree.parameters), None)


def _shared(tree: FunctionTree, owner: type, own: set[str]) -> Iterator[str]:
    """The names of the shared objects that a method changes."""
    outside = {
        name for node in ast.walk(tree.node) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
    }
    bound = _bound(tree) - outside
    aliases = _aliases(tree)
    for changed in _changed(tree):
        match _unalias(changed, aliases):
            case ast.Name(id=name) if name in outside:
                yield name
            case ast.Attribute(value=holder, attr=name) if _is_class(holder, tree, bound):
                yield f"{ast.unparse(holder) if owner is object else owner.__name__}.{name}"
            case ast.Attribute(value=holder, attr=name) if _is_self(holder, tree) and name not in own:
                if isinstance(inspect.getattr_static(owner, name, None), _CONTAINERS):
                    yield f"{owner.__name__}.{name}"
            case ast.Name(id=name) if name not in bound and isinstance(_meaning(tree, name), _CONTAINERS):
                yield name


def _aliases(tree: FunctionTree) -> dict[str, ast.expr]:
    """The local names that only ever mean one other name or attribute, with that."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree.node):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute() as value):
                found[name] = value
    written = [n.id for n in ast.walk(tree.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return {name: value for name, value in found.items() if written.count(name) == 1}


def _unalias(changed: ast.expr, aliases: dict[str, ast.expr]) -> ast.expr:
    """The expression that a name changed in place is an alias of; a name that is bound is returned as it is."""
    is_used = isinstance(changed, ast.Name) and isinstance(changed.ctx, ast.Load)
    return aliases.get(changed.id, changed) if is_used and isinstance(changed, ast.Name) else changed


def _bound(tree: FunctionTree) -> set[str]:
    """The names that the function binds, itself or in something inside of it."""
    names = {node.id for node in ast.walk(tree.node) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.arg for node in ast.walk(tree.node) if isinstance(node, ast.arg)}


def _changed(tree: FunctionTree) -> Iterator[ast.expr]:
    """The expressions whose value is changed in place, and the names and attributes that are set."""
    for node in ast.walk(tree.node):
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield _container(node.value)
        elif isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
            yield _container(node.func.value)


def _container(node: ast.expr) -> ast.expr:
    """The name or attribute that holds what an element is taken of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _is_class(node: ast.expr, tree: FunctionTree, bound: set[str]) -> bool:
    """Whether an expression is a class: by its name, or that of the instance."""
    match node:
        case ast.Name(id=name):
            is_first = name == next(iter(tree.parameters), None)
            return isinstance(_meaning(tree, name), type) if name not in bound else is_first and name == "cls"
        case ast.Call(func=ast.Name(id="type"), args=[argument]):
            return _is_self(argument, tree)
        case ast.Attribute(value=holder, attr="__class__"):
            return _is_self(holder, tree)
    return False


def _meaning(tree: FunctionTree, name: str) -> Any:
    """The value of a name that the function does not bind; None if it has none."""
    function = tree.function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    try:
        return cells[name].cell_contents if name in cells else function.__globals__.get(name)
    except ValueError:  # not set yet
        return None
