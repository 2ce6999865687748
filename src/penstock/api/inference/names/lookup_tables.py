"""Lookup tables: dicts, lists and sets of the program that nothing changes.

Introduction
    `RATES = {"EUR": 1.1}` can change, and yet most of what is written so never does. It is as good as a constant if
    every use of it, in all modules of the user that are loaded, is seen to only read it.

Formulation
    A table is bound once, to a display (or a comprehension, or `dict(...)` and the like) that nobody else holds. It is
    reached by its name, by an attribute of that name, or by a name that another module imports it under. Each such use
    must be a read (`table_uses`): an item, `in`, `len`, `get`, a loop, a copy. Whoever could get at it in another way
    stands in the way of the proof: a string with its name, `globals`, `vars`, the module itself handed to somebody.

Example
    `RATES.get(t.currency, 1.0)` and `t.sym in WATCHED` are reads. `update(RATES)`, `x = RATES` and `RATES["EUR"] = 1`
    are not, wherever they stand.

When it does not apply
    Tables that functions make elsewhere, that are handed to functions of the program, or that hold what can change
    unless all of it is written as one literal. Modules that are loaded after the application was built are not seen.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import partial
from operator import is_
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

from penstock.api.inference.frames import bound_names
from penstock.api.inference.names.bindings import is_library
from penstock.api.inference.names.objects import fix
from penstock.api.inference.names.syntax_trees import FunctionTree, nodes_of, parse_module
from penstock.api.inference.names.table_uses import (
    TABLES,
    File,
    Table,
    is_flat_table,
    read_text,
    why_reflects,
    why_texts_change,
    why_used,
)
from penstock.api.inference.values import Owner, Thing, Value, join

_MOST_PARTS = 1000

_MAKERS = frozenset({"dict", "list", "set", "sorted"})
_DISPLAYS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
_LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Set, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load)


def fix_global(value: Any, function: FunctionType, name: str) -> Value | str:
    """The value of a table that a function reads as a global, or why it may change."""
    return _fix_of_module(value, function.__globals__, function.__code__.co_filename, name)


def fix_attribute(value: Any, module: ModuleType, name: str) -> Value | str:
    """The value of a table in a module, or why it may change."""
    return _fix_of_module(value, vars(module), str(getattr(module, "__file__", "")), name)


def fix_member(value: Any, cls: type, name: str) -> Value | str:
    """The value of a table in a class, or why it may change."""
    owner = next(base for base in cls.__mro__ if name in vars(base))
    module = sys.modules.get(owner.__module__)
    tree = _tree(str(getattr(module, "__file__", "")), vars(module) if module else {})
    classes = [n for n in nodes_of(tree) if isinstance(n, ast.ClassDef) and n.name == owner.__name__] if tree else []
    if len(classes) != 1:
        return _changes(value, "whose class cannot be read")
    made = [v for n, v in _assigned(classes[0].body) if n == name]
    if list(bound_names(classes[0].body)).count(name) != 1 or len(made) != 1:
        return _changes(value, "which its class does not simply assign")
    table, file = Table(value, frozenset({name})), File(tree, vars(module))  # type: ignore[arg-type]
    why = _why_not_fresh(value, made[0], vars(module)) or why_texts_change(table, {}, {owner.__name__})
    why = why or why_used(table, ast.walk(classes[0]), file, table.names)
    return _fix(value) if why is None else _changes(value, why)


def fix_default(value: Any, tree: FunctionTree, name: str) -> Value | str:
    """The value of a table that is the default of a parameter, or why it may change."""
    arguments = tree.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(positional), reversed(arguments.defaults), strict=False)]
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    made = next((default for argument, default in pairs if argument.arg == name), None)
    return _fix_local(value, tree, tree.node, name, made)


def fix_cell(value: Any, tree: FunctionTree, name: str) -> Value | str:
    """The value of a table that an enclosing function binds, or why it may change."""
    around = [n for n in ast.walk(tree.module) if isinstance(n, ast.FunctionDef) and tree.node in ast.walk(n)]
    holders = [n for n in around if n is not tree.node and name in bound_names(n.body)]
    made = [v for n, v in _assigned(holders[-1].body) if n == name] if holders else []
    return _fix_local(value, tree, holders[-1] if holders else tree.node, name, made[0] if len(made) == 1 else None)


def _fix_local(value: Any, tree: FunctionTree, scope: ast.AST, name: str, made: ast.expr | None) -> Value | str:
    namespace = tree.function.__globals__
    if made is None:
        return _changes(value, "it is not made where that can be seen")
    why = _why_not_fresh(value, made, namespace) or why_reflects(tree.module, tree.function.__code__.co_filename)
    inside = [n for n in ast.walk(scope) if isinstance(n, ast.Name)]
    table = Table(value, frozenset({name}))
    why = why or why_used(table, inside, File(tree.module, namespace), table.names)
    return _fix(value) if why is None else _changes(value, why)


def _fix_of_module(value: Any, namespace: dict[str, Any], path: str, name: str) -> Value | str:
    holders = {path: namespace, **_holders(value)}
    names = frozenset(n for held in holders.values() for n, v in held.items() if v is value)
    makers = [(p, n, made) for p, held in holders.items() for n, made in _module_bindings(p, held) if n in names]
    if len(makers) != 1:
        return _changes(value, "it is not made by one assignment that can be seen")
    owner, _, made = makers[0]
    modules = {str(held.get("__name__")).rpartition(".")[2] for held in holders.values()}
    why = _why_not_fresh(value, made, holders[owner]) or why_texts_change(Table(value, names), holders, modules)
    return _fix(value) if why is None else _changes(value, why)


def _changes(value: Any, why: str) -> str:
    return f"a {type(value).__name__} that can change: {why}"


# What it is.


def _fix(value: Any) -> Value | str:
    found = _fix_value(value)
    return found if isinstance(found, str) else frozenset({found})


def _fix_value(value: Any) -> Thing | str:
    is_dict = isinstance(value, dict | MappingProxyType)
    items = _fix_parts(value.values() if is_dict else value)
    keys = _fix_parts(value if is_dict else ())
    if isinstance(items, str) or isinstance(keys, str):
        return f"{_changes(value, 'it holds')} {items if isinstance(items, str) else keys}"
    return Thing(dict if is_dict else type(value), Owner.FIXED, items=items, keys=keys)


def _fix_parts(values: Any) -> Value | str:
    found: Value = frozenset()
    for value in values:
        part = _fix_value(value) if type(value) in TABLES else fix(value)
        if isinstance(part, str):
            return part
        found = join(found, frozenset({part}) if isinstance(part, Thing) else part)
        if len(found) > _MOST_PARTS:
            return "too much to follow"
    return found


# Where it comes from.


def _tree(path: str, namespace: dict[str, Any]) -> ast.Module | None:
    return None if is_library(path) or namespace.get("__file__") != path else parse_module(read_text(path))


def _holders(value: Any) -> dict[str, dict[str, Any]]:
    """The namespaces of the user's modules that hold an object, by their files."""
    modules = [m for m in list(sys.modules.values()) if isinstance(m, ModuleType) and getattr(m, "__file__", None)]
    own = [m for m in modules if any(map(partial(is_, value), list(vars(m).values())))]
    return {str(m.__file__): vars(m) for m in own}


def _module_bindings(path: str, namespace: dict[str, Any]) -> Iterator[tuple[str, ast.expr]]:
    tree = _tree(path, namespace)
    yield from _assigned(tree.body if tree else [])


def _assigned(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """The names that statements of a block assign alone, with what they assign."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _why_not_fresh(value: Any, made: ast.expr, namespace: dict[str, Any]) -> str | None:
    match made:
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if namespace.get(name) is MappingProxyType:
            made = inner
    if not is_flat_table([value]):
        is_literal = all(isinstance(n, _LITERALS) for n in ast.walk(made))
        return None if is_literal else "it holds what can change, and is not one literal"
    match made:
        case ast.Call(func=ast.Name(id=name)) if name in _MAKERS and name not in namespace:
            return None
    return None if isinstance(made, _DISPLAYS) else "it is not made where that can be seen"
