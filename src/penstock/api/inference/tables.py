"""Lookup tables: dicts, lists and sets of the program that nothing changes.

Introduction
    `RATES = {"EUR": 1.1}` can change, and yet most of what is written so never does. It is as good as a constant if
    every use of it, in all modules of the user that are loaded, is seen to only read it.

Formulation
    A table is bound once, to a display (or a comprehension, or `dict(...)` and the like) that nobody else holds. It is
    reached by its name, by an attribute of that name, or by a name that another module imports it under. Each such use
    must be one of `_reads`: an item, `in`, `len`, `get`, a loop, a copy. Whoever could get at it in another way stands
    in the way of the proof: a string with its name, `globals`, `vars`, the module itself handed to somebody.

Example
    `RATES.get(t.currency, 1.0)` and `t.sym in WATCHED` are reads. `update(RATES)`, `x = RATES` and `RATES["EUR"] = 1`
    are not, wherever they stand.

When it does not apply
    Tables that functions make elsewhere, that are handed to functions of the program, or that hold what can change
    unless all of it is written as one literal. Modules that are loaded after the application was built are not seen.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

from penstock.api.inference.bindings import is_library, user_texts
from penstock.api.inference.frames import Scope, bound_names
from penstock.api.inference.library import PURE
from penstock.api.inference.objects import fix
from penstock.api.inference.sources import FunctionTree, parse_module
from penstock.api.inference.values import Owner, Thing, Value, join

TABLES = (dict, list, set, MappingProxyType)
_MOST_PARTS = 1000

_READING_METHODS = frozenset(
    "get keys items values copy index count union intersection difference symmetric_difference issubset issuperset "
    "isdisjoint".split()
)
_READING_BUILTINS = frozenset(
    "len sorted sum any all list tuple set frozenset dict enumerate reversed iter bool str repr min max zip".split()
)
_MAKERS = frozenset({"dict", "list", "set", "sorted"})
_DISPLAYS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
_LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Set, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load)
_REFLECTION = frozenset("globals vars locals exec eval __import__".split())
_REFLECTING = frozenset(
    "__dict__ __globals__ __defaults__ __kwdefaults__ __closure__ cell_contents f_globals f_locals modules "
    "import_module getmembers get_objects get_referents get_referrers".split()
)


@dataclass(frozen=True, slots=True)
class _Table:
    """A table under proof: its object, and the names that it is known by."""

    value: Any
    names: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class _File:
    """A file that may use a table, with the names of its module as they are."""

    tree: ast.Module
    namespace: dict[str, Any]

    def parent(self, node: ast.AST) -> ast.AST:
        """What an expression stands in."""
        return _parents(self.tree)[id(node)]

    def is_builtin(self, name: str) -> bool:
        """Whether a name can only mean the builtin."""
        return name not in self.namespace and name not in _bound(self.tree, is_local=False)

    def meaning(self, name: str) -> Any:
        """What a name of the module means that no function binds as well."""
        return None if name in _bound(self.tree, is_local=True) else self.namespace.get(name)


def fix_global(value: Any, function: FunctionType, name: str) -> Value | str:
    """What a table is that a function reads as a global, or why it may change."""
    return _fix_of_module(value, function.__globals__, function.__code__.co_filename, name)


def fix_attribute(value: Any, module: ModuleType, name: str) -> Value | str:
    """What a table is that stands in a module, or why it may change."""
    return _fix_of_module(value, vars(module), str(getattr(module, "__file__", "")), name)


def fix_member(value: Any, cls: type, name: str) -> Value | str:
    """What a table is that stands in a class, or why it may change."""
    owner = next(base for base in cls.__mro__ if name in vars(base))
    module = sys.modules.get(owner.__module__)
    tree = _tree(str(getattr(module, "__file__", "")), vars(module) if module else {})
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == owner.__name__] if tree else []
    if len(classes) != 1:
        return _changes(value, "whose class cannot be read")
    made = [v for n, v in _assigned(classes[0].body) if n == name]
    if list(bound_names(classes[0].body)).count(name) != 1 or len(made) != 1:
        return _changes(value, "which its class does not simply assign")
    table, file = _Table(value, frozenset({name})), _File(tree, vars(module))  # type: ignore[arg-type]
    why = _why_not_fresh(value, made[0], vars(module)) or _why_texts_change(table, {}, {owner.__name__})
    why = why or _why_used(table, ast.walk(classes[0]), file, table.names)
    return _fix(value) if why is None else _changes(value, why)


def fix_default(value: Any, tree: FunctionTree, name: str) -> Value | str:
    """What a table is that is the default of a parameter, or why it may change."""
    arguments = tree.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(positional), reversed(arguments.defaults), strict=False)]
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    made = next((default for argument, default in pairs if argument.arg == name), None)
    return _fix_local(value, tree, tree.node, name, made)


def fix_cell(value: Any, tree: FunctionTree, name: str) -> Value | str:
    """What a table is that a function around binds, or why it may change."""
    around = [n for n in ast.walk(tree.module) if isinstance(n, ast.FunctionDef) and tree.node in ast.walk(n)]
    holders = [n for n in around if n is not tree.node and name in bound_names(n.body)]
    made = [v for n, v in _assigned(holders[-1].body) if n == name] if holders else []
    return _fix_local(value, tree, holders[-1] if holders else tree.node, name, made[0] if len(made) == 1 else None)


def _fix_local(value: Any, tree: FunctionTree, scope: ast.AST, name: str, made: ast.expr | None) -> Value | str:
    namespace = tree.function.__globals__
    if made is None:
        return _changes(value, "it is not made where that can be seen")
    why = _why_not_fresh(value, made, namespace) or _why_reflects(tree.module, tree.function.__code__.co_filename)
    inside = [n for n in ast.walk(scope) if isinstance(n, ast.Name)]
    table = _Table(value, frozenset({name}))
    why = why or _why_used(table, iter(inside), _File(tree.module, namespace), table.names)
    return _fix(value) if why is None else _changes(value, why)


def _fix_of_module(value: Any, namespace: dict[str, Any], path: str, name: str) -> Value | str:
    holders = {path: namespace, **_holders(value)}
    names = frozenset(n for held in holders.values() for n, v in held.items() if v is value)
    makers = [(p, n, made) for p, held in holders.items() for n, made in _module_bindings(p, held) if n in names]
    if len(makers) != 1:
        return _changes(value, "it is not made by one assignment that can be seen")
    owner, _, made = makers[0]
    modules = {str(held.get("__name__")).rpartition(".")[2] for held in holders.values()}
    why = _why_not_fresh(value, made, holders[owner]) or _why_texts_change(_Table(value, names), holders, modules)
    return _fix(value) if why is None else _changes(value, why)


def _changes(value: Any, why: str) -> str:
    return f"a {type(value).__name__} that can change: {why}"


# What it is.


def _parts(value: Any) -> list[Any]:
    """What a table holds."""
    return list(value.values() if isinstance(value, dict | MappingProxyType) else value)


def _is_flat(values: list[Any]) -> bool:
    """Whether tables hold no tables."""
    return not any(type(part) in TABLES for value in values for part in _parts(value))


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


@lru_cache(maxsize=256)
def _read(path: str) -> str:
    return "".join(linecache.getlines(path))


def _tree(path: str, namespace: dict[str, Any]) -> ast.Module | None:
    return None if is_library(path) or namespace.get("__file__") != path else parse_module(_read(path))


def _holders(value: Any) -> dict[str, dict[str, Any]]:
    """The namespaces of the user's modules that hold an object, by their files."""
    modules = [m for m in list(sys.modules.values()) if isinstance(m, ModuleType) and getattr(m, "__file__", None)]
    own = [m for m in modules if any(v is value for v in list(vars(m).values()))]
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
    if not _is_flat([value]):
        is_literal = all(isinstance(n, _LITERALS) for n in ast.walk(made))
        return None if is_literal else "it holds what can change, and is not one literal"
    match made:
        case ast.Call(func=ast.Name(id=name)) if name in _MAKERS and name not in namespace:
            return None
    return None if isinstance(made, _DISPLAYS) else "it is not made where that can be seen"


# How it is used.


def _why_texts_change(table: _Table, holders: dict[str, dict[str, Any]], reach: set[str]) -> str | None:
    """Why a module of the user may change a table; `reach` is what the module or class that holds it is called."""
    for path, text in {**dict(user_texts()), **{p: _read(p) for p in holders}}.items():
        reaches = path in holders or any(word in text for word in reach)
        tree = parse_module(text) if reaches or any(name in text for name in table.names) else None
        if tree is None:
            continue
        file = _File(tree, holders.get(path, {}))
        own = frozenset(n for n, v in file.namespace.items() if v is table.value)
        own |= _imported(tree, table.names) if holders else frozenset()
        why = (_why_reflects(tree, path) if reaches else None) or _why_used(table, ast.walk(tree), file, own)
        if why := why or (_why_module_escapes(file, path, reach, table.names) if holders else None):
            return why
    return None


def _imported(tree: ast.Module, names: frozenset[str]) -> frozenset[str]:
    """The names under which a file imports what bears one of these names."""
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    return frozenset(a.asname or a.name for n in imports for a in n.names if a.name in names)


def _why_reflects(tree: ast.Module, path: str) -> str | None:
    found = _reflection(tree)
    return None if found is None else f"{Path(path).name}, line {found[1]}, uses `{found[0]}`"


@lru_cache(maxsize=256)
def _reflection(tree: ast.Module) -> tuple[str, int] | None:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in _REFLECTION:
                return name, node.lineno
            case ast.Attribute(attr=name) if name in _REFLECTING:
                return name, node.lineno
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(), *_]):
                pass
            case ast.Call(func=ast.Name(id="getattr")):
                return "getattr", node.lineno
            case ast.alias(name=name) if name in _REFLECTING | _REFLECTION:
                return name, node.lineno
    return None


def _why_module_escapes(file: _File, path: str, reach: set[str], names: frozenset[str]) -> str | None:
    """Why a module that holds the table may be handed to somebody."""
    imports = [a for n in ast.walk(file.tree) if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names]
    bound = {a.asname or a.name.partition(".")[0] for a in imports if reach & set(a.name.split("."))} - names
    for node in ast.walk(file.tree):
        match node:
            case ast.ImportFrom(module=module, names=[ast.alias(name="*")]) if reach & set(str(module).split(".")):
                return f"{Path(path).name}, line {node.lineno}, imports `*`"
            case ast.Name(id=name, ctx=ast.Load()) if name in bound:
                pass
            case ast.Attribute(attr=name, ctx=ast.Load()) if name in reach:
                pass
            case _:
                continue
        if not isinstance(file.parent(node), ast.Attribute):
            return f"{Path(path).name}, line {node.lineno}, hands on `{name}`"
    return None


def _why_used(table: _Table, nodes: Iterator[ast.AST], file: _File, own: frozenset[str]) -> str | None:
    for node in nodes:
        match node:
            case ast.Constant(value=str() as name) if name in table.names and not _is_export(node, file):
                return f"line {node.lineno} names `{name}` in a string"
            case ast.Name(id=name, ctx=ast.Load()) if name in own:
                pass
            case ast.Attribute(attr=name, ctx=ast.Load()) if name in table.names:
                pass
            case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()) if name in table.names:
                return f"line {node.lineno} stores `{name}`"
            case ast.Name(id=name, ctx=ast.Del()) if name in own:
                return f"line {node.lineno} deletes `{name}`"
            case _:
                continue
        if isinstance(node, ast.Name | ast.Attribute) and not _reads(node, [table.value], file):
            return f"line {node.lineno} uses `{name}` otherwise than by looking something up"
    return None


def _is_export(node: ast.AST, file: _File) -> bool:
    """Whether a string stands in `__all__`, or alone."""
    parent = file.parent(node)
    match file.parent(parent) if not isinstance(parent, ast.Module) else parent:
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
    return False


def _reads(node: ast.expr, values: list[Any], file: _File) -> bool:
    """Whether what stands around an expression only looks into its value, one of some tables."""
    parent, is_flat = file.parent(node), _is_flat(values)
    match parent:
        case ast.Subscript(value=holder, slice=index, ctx=ast.Load()) if holder is node:
            return is_flat or (not isinstance(index, ast.Slice) and _reads_items(parent, index, values, file))
        case ast.Attribute(attr="get", ctx=ast.Load()) if not is_flat:
            called = file.parent(parent)
            is_call = isinstance(called, ast.Call) and called.func is parent and bool(called.args)
            return is_call and _reads_items(called, called.args[0], values, file)  # type: ignore[arg-type,attr-defined]
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in _READING_METHODS:
            called = file.parent(parent)
            return is_flat and isinstance(called, ast.Call) and called.func is parent
        case ast.Compare(left=left, ops=ops):
            return left is not node and all(isinstance(op, ast.In | ast.NotIn) for op in ops)
        case ast.For(iter=source) | ast.comprehension(iter=source):
            return is_flat and source is node
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return test is node
        case ast.UnaryOp(op=ast.Not()) | ast.FormattedValue():
            return True
        case ast.Starred(ctx=ast.Load()) | ast.keyword(arg=None):
            return is_flat
        case ast.Dict(keys=keys, values=held):
            return is_flat and any(k is None and v is node for k, v in zip(keys, held, strict=True))
        case ast.Call(func=function, args=arguments) if node in arguments:
            return _is_reading_call(function, file, arguments, node) and (is_flat or _asks_length(function))
    return False


def _reads_items(item: ast.expr, index: ast.expr, values: list[Any], file: _File) -> bool:
    """Whether an item of a table cannot change, or is only looked into as well."""
    parts = [part for value in values for part in _items(value, index)]
    tables = [part for part in parts if type(part) in TABLES]
    return not tables or _reads(item, tables, file)


def _items(value: Any, index: ast.expr) -> list[Any]:
    """The items that an index may mean."""
    match index:
        case ast.Constant(value=key) if isinstance(value, dict | MappingProxyType):
            return [value[key]] if key in value else []
    return _parts(value)


def _asks_length(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "len"


def _is_reading_call(function: ast.expr, file: _File, arguments: list[ast.expr], node: ast.AST) -> bool:
    """Whether a function is known to look at an argument only, and not to return it."""
    match function:
        case ast.Name(id=("min" | "max") as name) if file.is_builtin(name):
            return len(arguments) == 1
        case ast.Name(id=("map" | "filter") as name) if file.is_builtin(name):
            return len(arguments) == 2 and arguments[1] is node
        case ast.Name(id=name) if name in _READING_BUILTINS and file.is_builtin(name):
            return arguments[0] is node or name == "zip"
        case ast.Name(id=name):
            return arguments[0] is node and _is_pure(file.meaning(name))
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if isinstance(file.meaning(name), ModuleType):
            return arguments[0] is node and _is_pure(getattr(file.meaning(name), attribute, None))
        case ast.Attribute(value=ast.Constant(value=str()), attr="join"):
            return True
    return False


def _is_pure(function: Any) -> bool:
    try:
        return function is not None and function in PURE
    except TypeError:
        return False


@lru_cache(maxsize=256)
def _parents(tree: ast.Module) -> dict[int, ast.AST]:
    return {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


@lru_cache(maxsize=256)
def _bound(tree: ast.Module, *, is_local: bool) -> frozenset[str]:
    """The names that a file binds, or that its functions and classes bind inside."""
    scopes = [n for n in ast.walk(tree) if isinstance(n, Scope)]
    inside = [n.body if isinstance(n.body, list) else [n.body] for n in scopes]
    loops = [n for n in ast.walk(tree) if isinstance(n, ast.comprehension)]
    names = {name for body in (*inside, *([] if is_local else [tree.body])) for name in bound_names(body)}
    names |= {name for loop in loops for name in bound_names([loop.target])}
    arguments = [
        a.arg for n in ast.walk(tree) if isinstance(n, ast.arguments) for a in ast.walk(n) if isinstance(a, ast.arg)
    ]
    return frozenset({*names, *arguments})
