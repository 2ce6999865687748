"""How the modules of the user use a lookup table: whether everything that can reach it only reads it."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from penstock.api.inference.calls.known_parts import PURE
from penstock.api.inference.frames import Scope, bound_names
from penstock.api.inference.names.bindings import has_word, user_texts
from penstock.api.inference.names.syntax_trees import nodes_of, parse_module

TABLES = (dict, list, set, MappingProxyType)

_READING_METHODS = frozenset(
    "get keys items values copy index count union intersection difference symmetric_difference issubset issuperset "
    "isdisjoint".split()
)
_READING_BUILTINS = frozenset(
    "len sorted sum any all list tuple set frozenset dict enumerate reversed iter bool str repr min max zip".split()
)
_REFLECTION = frozenset("globals vars locals exec eval __import__".split())
_REFLECTING = frozenset(
    "__dict__ __globals__ __defaults__ __kwdefaults__ __closure__ cell_contents f_globals f_locals modules "
    "import_module getmembers get_objects get_referents get_referrers".split()
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table under proof: its object, and the names that it is known by."""

    value: Any
    names: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """A file that may use a table, with the names of its module as they are."""

    tree: ast.Module
    namespace: dict[str, Any]

    def parent(self, node: ast.AST) -> ast.AST:
        """The parent of a node in the syntax tree."""
        return _parents(self.tree)[id(node)]

    def is_builtin(self, name: str) -> bool:
        """Whether a name can only mean the builtin."""
        return name not in self.namespace and name not in _bound(self.tree, is_local=False)

    def meaning(self, name: str) -> Any:
        """The value of a name in the module; None if it has none, or if a function binds the name as well."""
        return None if name in _bound(self.tree, is_local=True) else self.namespace.get(name)


@lru_cache(maxsize=256)
def read_text(path: str) -> str:
    """The text of a file."""
    return "".join(linecache.getlines(path))


def parts_of_table(value: Any) -> list[Any]:
    """The values of a mapping, or the elements of another table."""
    return list(value.values() if isinstance(value, dict | MappingProxyType) else value)


def is_flat_table(values: list[Any]) -> bool:
    """Whether tables hold no tables."""
    return not any(type(part) in TABLES for value in values for part in parts_of_table(value))


def why_texts_change(table: Table, holders: dict[str, dict[str, Any]], reach: set[str]) -> str | None:
    """Why a module of the user may change a table; `reach` is what the module or class that holds it is called."""
    for path, text in {**dict(user_texts()), **{p: read_text(p) for p in holders}}.items():
        reaches = path in holders or has_word(text, reach)
        tree = parse_module(text) if reaches or has_word(text, table.names) else None
        if tree is None:
            continue
        file = File(tree, holders.get(path, {}))
        own = frozenset(n for n, v in file.namespace.items() if v is table.value)
        own |= _imported(tree, table.names) if holders else frozenset()
        why = (why_reflects(tree, path) if reaches else None) or why_used(table, nodes_of(tree), file, own)
        if why := why or (_why_module_escapes(file, path, reach, table.names) if holders else None):
            return why
    return None


def _imported(tree: ast.Module, names: frozenset[str]) -> frozenset[str]:
    """The names under which a file imports what bears one of these names."""
    imports = [n for n in nodes_of(tree) if isinstance(n, ast.ImportFrom)]
    return frozenset(a.asname or a.name for n in imports for a in n.names if a.name in names)


def why_reflects(tree: ast.Module, path: str) -> str | None:
    """Why a file may reach a table without naming it."""
    found = _reflection(tree)
    return None if found is None else f"{Path(path).name}, line {found[1]}, uses `{found[0]}`"


@lru_cache(maxsize=256)
def _reflection(tree: ast.Module) -> tuple[str, int] | None:
    for node in nodes_of(tree):
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


def _why_module_escapes(file: File, path: str, reach: set[str], names: frozenset[str]) -> str | None:
    """Why a module that holds the table may be handed to somebody."""
    imports = [a for n in nodes_of(file.tree) if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names]
    bound = {a.asname or a.name.partition(".")[0] for a in imports if reach & set(a.name.split("."))} - names
    for node in nodes_of(file.tree):
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


def why_used(table: Table, nodes: Iterable[ast.AST], file: File, own: frozenset[str]) -> str | None:
    """Why a use of a table, by one of its own names or as an attribute, may change it or hand it on."""
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


def _is_export(node: ast.AST, file: File) -> bool:
    """Whether a string stands in `__all__`, or alone."""
    parent = file.parent(node)
    match file.parent(parent) if not isinstance(parent, ast.Module) else parent:
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
    return False


def _reads(node: ast.expr, values: list[Any], file: File) -> bool:
    """Whether what stands around an expression only looks into its value, one of some tables."""
    parent, is_flat = file.parent(node), is_flat_table(values)
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


def _reads_items(item: ast.expr, index: ast.expr, values: list[Any], file: File) -> bool:
    """Whether an item of a table cannot change, or is only looked into as well."""
    parts = [part for value in values for part in _items(value, index)]
    tables = [part for part in parts if type(part) in TABLES]
    return not tables or _reads(item, tables, file)


def _items(value: Any, index: ast.expr) -> list[Any]:
    """The items that an index may mean."""
    match index:
        case ast.Constant(value=key) if isinstance(value, dict | MappingProxyType):
            return [value[key]] if key in value else []
    return parts_of_table(value)


def _asks_length(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "len"


def _is_reading_call(function: ast.expr, file: File, arguments: list[ast.expr], node: ast.AST) -> bool:
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
    return {id(child): node for node in nodes_of(tree) for child in ast.iter_child_nodes(node)}


@lru_cache(maxsize=256)
def _bound(tree: ast.Module, *, is_local: bool) -> frozenset[str]:
    """The names that a file binds, or that its functions and classes bind inside."""
    scopes = [n for n in nodes_of(tree) if isinstance(n, Scope)]
    inside = [n.body if isinstance(n.body, list) else [n.body] for n in scopes]
    loops = [n for n in nodes_of(tree) if isinstance(n, ast.comprehension)]
    names = {name for body in (*inside, *([] if is_local else [tree.body])) for name in bound_names(body)}
    names |= {name for loop in loops for name in bound_names([loop.target])}
    arguments = [
        a.arg for n in nodes_of(tree) if isinstance(n, ast.arguments) for a in ast.walk(n) if isinstance(a, ast.arg)
    ]
    return frozenset({*names, *arguments})
