"""Calls that are followed into the function, and those that cannot be."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from penstock.api.inference.analysis import Analysis, Arguments, name_of
from penstock.api.inference.frames import Frame, arguments_of, bound_names, is_generator, walk_scope
from penstock.api.inference.names.bindings import is_library
from penstock.api.inference.names.lookup_tables import fix_default
from penstock.api.inference.names.objects import BASES, fix
from penstock.api.inference.names.syntax_trees import function_tree
from penstock.api.inference.names.table_uses import TABLES
from penstock.api.inference.values import FOREIGN, NOTHING, Closure, Iterator, Known, Value, join

_MOST_FRAMES = 3000


def invoke(run: Analysis, function: Any, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """The result of a function of the program, which is read, not run."""
    if not isinstance(function, FunctionType):
        return refuse(run, f"it calls {name_of(Known(function))}, which cannot be seen into", given, node, frame)
    if function.__module__ in BASES:
        run.blame(node, frame, f"it calls `{function.__name__}` of its base class")
        return FOREIGN
    tree = None if is_library(function.__code__.co_filename) else function_tree(function)
    if tree is None or len(run.frames) > _MOST_FRAMES:
        why = "which is not known to be without effect and memory" if tree is None else "which calls too much"
        return refuse(run, f"it calls `{function.__qualname__}`, {why}", given, node, frame)
    active = next((f for called, f in run.active if called is function), None)
    entered = active or _frame(run, (function, id(node), frame), function, tree.node, None)
    defaults = _defaults(run, function, node, frame)
    _bind_arguments(run, tree.node, defaults, given, node, entered)
    if active is None:
        run.active.append((function, entered))
        run.execute(tree.body, entered)
        run.active.pop()
    return _result_of(run, tree.node, entered, node)


def _defaults(run: Analysis, function: FunctionType, node: ast.AST, frame: Frame) -> dict[str, Value]:
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    values = dict(zip(reversed(positional), reversed(function.__defaults__ or ()), strict=False))
    values.update(function.__kwdefaults__ or {})
    found = {}
    for name, value in values.items():
        key = ("default", function, name)
        if key not in run.frames:
            tree = function_tree(function) if type(value) in TABLES else None
            run.frames[key] = fix(value) if tree is None else fix_default(value, tree, name)
        made = run.frames[key]
        found[name] = frozenset({Known(_Unknown(made))}) if isinstance(made, str) else made
    return found


class _Unknown:
    """A default of which nothing can be said; blamed only where the parameter takes it."""

    def __init__(self, why: str) -> None:
        self.why = why


def enter_closure(run: Analysis, closure: Closure, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """The result of a lambda or nested function."""
    active = next((f for called, f in run.active if called is closure), None)
    if active is None and (len(run.active) > 40 or len(run.frames) > _MOST_FRAMES):
        return refuse(run, "it calls a function that calls too much", given, node, frame)
    entered = active or _frame(
        run, (closure.node, id(node), closure.frame, frame), closure.frame.function, closure.node, closure.frame
    )
    arguments = closure.node.args
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    defaults = dict(zip(reversed(positional), reversed(closure.defaults), strict=False))
    defaults.update(
        {a.arg: d for a, d in zip(arguments.kwonlyargs, closure.keyword_defaults, strict=True) if d is not None}
    )
    _bind_arguments(run, closure.node, defaults, given, node, entered)
    if active is None:
        body = closure.node.body if isinstance(closure.node, ast.FunctionDef) else [ast.Return(value=closure.node.body)]
        run.active.append((closure, entered))
        run.execute(body, entered)
        run.active.pop()
    return _result_of(run, closure.node, entered, node)


def _frame(run: Analysis, key: Any, function: FunctionType, node: Any, parent: Frame | None) -> Frame:
    found: Frame | None = run.frames.get(key)
    if found is None:
        body = node.body if isinstance(node.body, list) else [node.body]
        declared = frozenset(n for s in walk_scope(body) if isinstance(s, ast.Global | ast.Nonlocal) for n in s.names)
        names = dict.fromkeys([*arguments_of(node.args), *(n for n in bound_names(body) if n not in declared)], NOTHING)
        found = run.frames[key] = Frame(function=function, names=names, parent=parent, declared=declared)
        if run.is_init:
            run.init_frames.add(found)
        run.changed = True
    return found


def _bind_arguments(
    run: Analysis, node: Any, defaults: dict[str, Value], given: Arguments, site: ast.AST, frame: Frame
) -> None:
    arguments = node.args
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    bound: dict[str, Value] = dict(zip(positional, given.positional, strict=False))
    extra = join(*given.positional[len(positional) :])
    bound.update(
        {k: v for k, v in given.keywords.items() if k in (*positional, *(a.arg for a in arguments.kwonlyargs))}
    )
    others = join(*(v for k, v in given.keywords.items() if k not in bound))
    if given.rest is not None:
        for name in positional[len(given.positional) :]:
            bound[name] = join(bound.get(name, NOTHING), given.rest)
        extra = join(extra, given.rest)
    for name, value in defaults.items():
        if name not in bound or given.rest is not None:
            bound[name] = join(bound.get(name, NOTHING), _default(run, value, name, site, frame))
    if arguments.vararg is not None:
        bound[arguments.vararg.arg] = run.fresh(node, frame, tuple, extra, label="*")
    if arguments.kwarg is not None:
        bound[arguments.kwarg.arg] = run.fresh(node, frame, dict, others, keys=frozenset({str}), label="**")
    for name, value in bound.items():
        if not value <= frame.names.get(name, NOTHING):
            frame.names[name], run.changed = join(frame.names.get(name, NOTHING), value), True


def _default(run: Analysis, value: Value, name: str, site: ast.AST, frame: Frame) -> Value:
    for atom in value:
        if isinstance(atom, Known) and isinstance(atom.object, _Unknown):
            return run.blame(site, frame, f"the default of `{name}` is {atom.object.why}")
    return value


def _result_of(run: Analysis, node: Any, entered: Frame, site: ast.AST) -> Value:
    body = node.body if isinstance(node.body, list) else [node.body]
    if is_generator(body):
        made = run.fresh(site, entered, Iterator, entered.yielded, label="generator")
        for thing in made:
            if not entered.returned <= thing.returned:
                thing.returned, run.changed = entered.returned, True
        return made
    return entered.returned


def call_foreign(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Unknown code may change its arguments, and call them."""
    for value in given.all:
        run.spoil(value)
        for atom in value:
            if isinstance(atom, Closure):
                enter_closure(run, atom, Arguments(rest=FOREIGN), node, frame)
    return FOREIGN


def refuse(run: Analysis, text: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Blame a call, and let it do its worst."""
    run.blame(node, frame, text)
    return call_foreign(run, given, node, frame)
