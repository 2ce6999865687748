"""Whether a name still means at run time what it means at compile time.

A free name is resolved when the application is built; the operator reads it later, perhaps in another process. The two
agree if nothing rebinds the name in between: no `global` or `nonlocal`, one binding, and no store into the module or
class from outside. What reads like a store is looked for in the text of all modules of the user that are loaded.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from penstock.api.inference.frames import Scope, arguments_of, bound_names, walk_scope
from penstock.api.inference.names.syntax_trees import FunctionTree, parse_module

_LIBRARIES = tuple(
    str(Path(path).resolve())
    for path in {
        *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")),
        str(Path(__file__).parents[3]),
    }
)

_PROGRAMS = tuple(str(Path(__file__).parents[3].resolve() / name) for name in ("bench", "demo"))
"""Folders of Penstock that hold applications: they are read as a user's are."""

_MOST_FILES = 8192
"""What is kept for each file is kept for more of them than programs have: they are all asked about every name."""

_REFLECTION = frozenset("globals vars exec eval setattr delattr __import__".split())
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Stores:
    """The names that a file may rebind: those declared global or nonlocal, stored as attributes, or given to `setattr`.

    `reflects`: whether it changes names that cannot be read off, as in `globals()[name] = ...`.
    """

    declared: frozenset[str]
    attributes: frozenset[str]
    reflects: bool


def is_library(path: str | None) -> bool:
    """Whether a file belongs to Python, to an installed package or to Penstock itself, its own programs apart."""
    return path is None or _lies_in_library(os.path.abspath(path))


@lru_cache(maxsize=_MOST_FILES)
def _lies_in_library(path: str) -> bool:
    place = os.path.realpath(path)
    return place.startswith(_LIBRARIES) and not place.startswith(_PROGRAMS)


def why_global_moves(function: FunctionType, name: str) -> str | None:
    """Why a global may mean something else at run time, or None where it cannot."""
    if not is_library(function.__code__.co_filename) and "__name__" not in function.__globals__:
        return "which is no name of a module"
    return why_text_moves(function.__code__.co_filename, function.__globals__, name)


def why_text_moves(path: str, namespace: dict[str, Any], name: str) -> str | None:
    """Why a name of the module in a file may mean something else at run time."""
    text = "".join(linecache.getlines(path, namespace))
    module = parse_module(text)
    if module is None or is_library(path):
        return None
    stores = _stores(text)
    if name in stores.declared:
        return "which other code writes"
    if stores.reflects:
        return "whose module changes names as it runs"
    if _is_bound_often(module, name):
        return "which is bound more than once"
    return why_attribute_moves(name)


def why_attribute_moves(name: str) -> str | None:
    """Why an attribute of a module or a class may be stored into, or None where no loaded module of the user does."""
    written = {name, re.sub(r"^_[^_]\w*?(?=__\w)", "", name)}  # a private name stands there without its class
    for path, text in user_texts():
        if any(n in _mentioned(text) and n in _stores(text).attributes for n in written):
            return f"which {Path(path).name} stores into"
    return None


def why_cell_moves(tree: FunctionTree, name: str) -> str | None:
    """Why a variable of an enclosing function may mean something else later, or None where it cannot."""
    if any(isinstance(n, ast.Nonlocal) and name in n.names for n in ast.walk(tree.module)):
        return "which other code writes"
    around = [s for s in _enclosing(tree.module, tree.node) if _binds(s, name)]
    if not around:
        return None
    scope = around[-1]
    if not isinstance(scope, ast.FunctionDef | ast.Lambda | ast.AsyncFunctionDef):
        return "which a loop binds again and again"
    bound = [*arguments_of(scope.args), *bound_names(_body(scope))]
    if bound.count(name) > 1 or name in _bound_in_loops(_body(scope)):
        return "which is bound more than once"
    return None


def _binds(scope: ast.AST, name: str) -> bool:
    if isinstance(scope, ast.FunctionDef | ast.Lambda | ast.AsyncFunctionDef):
        return name in arguments_of(scope.args) or name in bound_names(_body(scope))
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(scope))


def _body(scope: ast.AST) -> list[ast.AST]:
    body = getattr(scope, "body", [])
    return body if isinstance(body, list) else [body]


def _enclosing(module: ast.Module, node: ast.AST) -> list[ast.AST]:
    """The functions and comprehensions around a definition, from the outside in."""
    kinds = (*_LOOPS[2:], ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef)
    return [n for n in ast.walk(module) if isinstance(n, kinds) and n is not node and node in ast.walk(n)]


def _bound_in_loops(body: list[ast.AST]) -> set[str]:
    loops = [n for n in walk_scope(body) if isinstance(n, ast.For | ast.While | ast.AsyncFor)]
    return {name for loop in loops for name in bound_names([loop])}


def _is_bound_often(module: ast.Module, name: str) -> bool:
    """Whether statements of the module bind a name more than once, other than to literals or by imports."""
    if name in _bound_in_loops(list(module.body)):
        return True
    if _bindings(module)[name] <= 1:
        return False
    binding = [s for s in walk_scope(module.body) if isinstance(s, ast.stmt) and name in _own_names(s)]
    return not all(isinstance(s, ast.Import | ast.ImportFrom) or _is_literal(s) for s in binding)


def _own_names(statement: ast.stmt) -> set[str]:
    """The names that a statement binds itself, not by the statements inside it."""
    if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While | ast.Match):
        return set()
    return set(bound_names([statement]))


def _is_literal(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return all(
                isinstance(n, ast.Constant | ast.Tuple | ast.UnaryOp | ast.Load | ast.USub) for n in ast.walk(value)
            )
        case ast.AnnAssign(value=None):
            return True
    return False


@lru_cache(maxsize=256)
def _bindings(module: ast.Module) -> Counter[str]:
    return Counter(bound_names(module.body))


def user_texts() -> Iterator[tuple[str, str]]:
    """The text of every loaded module of the user."""
    return iter(_texts(len(sys.modules)))


@lru_cache(maxsize=2)
def _texts(count: int) -> tuple[tuple[str, str], ...]:
    paths = {getattr(m, "__file__", None) for m in list(sys.modules.values()) if isinstance(m, ModuleType)}
    user = sorted(p for p in paths if isinstance(p, str) and p.endswith(".py") and not is_library(p))
    return tuple((path, "".join(linecache.getlines(path))) for path in user)


def has_word(text: str, words: Iterable[str]) -> bool:
    """Whether one of some names may stand in a text; where one is no identifier, its parts do."""
    return any(_words(text).issuperset(re.findall(r"\w+", word)) for word in words)


@lru_cache(maxsize=_MOST_FILES)
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


@lru_cache(maxsize=_MOST_FILES)
def _mentioned(text: str) -> frozenset[str]:
    """The names that a text has behind a dot or in quotes."""
    return frozenset(re.findall(r"\.\s*(\w+)", text)) | frozenset(re.findall(r"""["'](?=(\w+)["'])""", text))


@lru_cache(maxsize=_MOST_FILES)
def _stores(text: str) -> Stores:
    module = parse_module(text)
    if module is None:
        return Stores(frozenset(), frozenset(), False)
    declared, stored, reflects = set(), set(), False
    for node, own in _with_own_names(module, frozenset()):
        match node:
            case ast.Global(names=names):
                declared.update(names)
            case ast.Attribute(value=base, attr=name, ctx=ast.Store() | ast.Del()):
                if not (isinstance(base, ast.Name) and base.id in own):
                    stored.add(name)
            case ast.Subscript(value=base, slice=index, ctx=ast.Store() | ast.Del()) if _is_namespace(base, own):
                stored.add(str(index.value) if isinstance(index, ast.Constant) else "")
                reflects |= not isinstance(index, ast.Constant)
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[_, ast.Constant(value=str() as name), *_]):
                stored.add(name)
            case ast.Call(
                func=ast.Attribute(attr="setattr" | "delattr" | "__setattr__" | "__delattr__"),
                args=[base, ast.Constant(value=str() as name), *_],
            ):
                if not (isinstance(base, ast.Name) and base.id in own):
                    stored.add(name)
            case ast.Call(func=ast.Name(id=name)) if name in _REFLECTION - {"vars", "globals"}:
                reflects = True
            case ast.Call(
                func=ast.Attribute(value=base, attr="update" | "__setitem__" | "pop" | "setdefault" | "clear")
            ):
                reflects |= _is_namespace(base, own)
    return Stores(frozenset(declared), frozenset(stored), reflects)


def _is_namespace(node: ast.expr, own: frozenset[str]) -> bool:
    """Whether an expression is the dict behind a module or class; that of an instance is its own affair."""
    match node:
        case (
            ast.Call(func=ast.Name(id="vars"), args=[ast.Name(id=name)])
            | ast.Attribute(value=ast.Name(id=name), attr="__dict__")
        ):
            return name not in own
        case ast.Call(func=ast.Name(id="globals" | "vars")) | ast.Attribute(attr="__dict__" | "__globals__"):
            return True
    return False


_OF_CLASSES = ("__new__", "__init_subclass__", "__class_getitem__", "mro")
"""Methods that take a class though nothing says so."""


def _takes_instance(method: ast.FunctionDef | ast.Lambda | ast.AsyncFunctionDef) -> bool:
    """Whether the first parameter of a method is its instance, and stays so."""
    first = next((a.arg for a in (*method.args.posonlyargs, *method.args.args)), None)
    is_plain = not getattr(method, "decorator_list", []) and getattr(method, "name", "") not in _OF_CLASSES
    return is_plain and first not in ("cls", "mcs", *bound_names(_body(method)))


def _with_own_names(node: ast.AST, own: frozenset[str]) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Every node, with the names by which the methods around it call their instance."""
    for child in ast.iter_child_nodes(node):
        inner = own
        if isinstance(child, Scope) and not isinstance(child, ast.ClassDef):
            arguments = [a.arg for a in (*child.args.posonlyargs, *child.args.args)]
            is_own = isinstance(node, ast.ClassDef) and _takes_instance(child)
            inner = frozenset(arguments[:1]) if is_own else own - set(arguments_of(child.args))
        yield child, inner
        yield from _with_own_names(child, inner)
