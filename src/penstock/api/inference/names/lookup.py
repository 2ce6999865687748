"""Lookup of names: locals, variables of enclosing functions, globals and builtins, each as it is at compile time."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from penstock.api.inference.analysis import Analysis
from penstock.api.inference.frames import Frame
from penstock.api.inference.names.bindings import why_attribute_moves, why_cell_moves, why_global_moves
from penstock.api.inference.names.lookup_tables import fix_cell, fix_global
from penstock.api.inference.names.objects import fix
from penstock.api.inference.names.syntax_trees import function_tree
from penstock.api.inference.names.table_uses import TABLES
from penstock.api.inference.values import NOTHING, Known, Value, join

_MISSING = object()


def read_name(run: Analysis, node: ast.AST, name: str, frame: Frame) -> Value:
    """The values that a name may have."""
    owner = frame.owner_of(name)
    if owner is not None:
        return owner.names[name]
    if frame.mangle(name) != name:
        return run.blame(node, frame, f"it reads `{name}`, a private name outside of its class")
    key = ("free", frame.function, name)
    if key not in run.frames:
        run.frames[key] = _free_name(frame.function, name)
    found = run.frames[key]
    return run.blame(node, frame, found) if isinstance(found, str) else found


def _free_name(function: FunctionType, name: str) -> Value | str:
    code = function.__code__
    if name in code.co_freevars:
        return _cell(function, name)
    if name in function.__globals__:
        why = why_global_moves(function, name)
        return f"it reads `{name}`, {why}" if why else _global(function, name)
    if why := why_attribute_moves(name):
        return f"it uses `{name}`, {why}"
    found = getattr(function, "__builtins__").get(name, _MISSING)  # noqa: B009 # typeshed does not know it
    return f"`{name}` is not defined yet" if found is _MISSING else _fixed(found, name)


def _global(function: FunctionType, name: str) -> Value | str:
    value = function.__globals__[name]
    found = fix_global(value, function, name) if type(value) in TABLES else fix(value)
    return f"it reads `{name}`, {found}" if isinstance(found, str) else found


def _cell(function: FunctionType, name: str) -> Value | str:
    cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
    try:
        value = cell.cell_contents
    except ValueError:
        return f"`{name}` is not defined yet"
    if name == "__class__":
        return frozenset({Known(value)})
    tree = function_tree(function)
    why = None if tree is None else why_cell_moves(tree, name)
    if why is None and tree is not None and type(value) in TABLES:
        found = fix_cell(value, tree, name)
        return f"it reads `{name}`, {found}" if isinstance(found, str) else found
    return f"it reads `{name}`, {why}" if why else _fixed(value, name)


def _fixed(value: Any, name: str) -> Value | str:
    found = fix(value)
    return f"it reads `{name}`, {found}" if isinstance(found, str) else found


def bind(run: Analysis, name: str, value: Value, frame: Frame, node: ast.AST) -> None:
    """Let a name mean something more."""
    owner = frame.owner_of(name)
    if owner is None or (name in frame.declared and owner is frame):
        run.blame(node, frame, f"it writes `{name}`, which outlives the call")
        return
    if owner in run.init_frames and not run.is_init:
        run.blame(node, frame, f"it writes `{name}`, which outlives the call")
    before = owner.names.get(name, NOTHING)
    if not value <= before:
        owner.names[name], run.changed = join(before, value), True
