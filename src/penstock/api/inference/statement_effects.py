"""Abstract interpretation of statements."""

from __future__ import annotations
import __future__

import ast
import sys
from collections.abc import Callable, Iterable
from typing import Any

from penstock.api.inference.analysis import Analysis
from penstock.api.inference.attributes import store_attribute
from penstock.api.inference.calls.known_parts import CONTAINERS, ERROR, SCALARS
from penstock.api.inference.calls.methods import fill_dict
from penstock.api.inference.expression_values import evaluate, make_closure
from penstock.api.inference.frames import Frame, bound_names
from penstock.api.inference.names.lookup import bind
from penstock.api.inference.operations import operate, test
from penstock.api.inference.subscripts import assign, delete_item, read_item
from penstock.api.inference.values import (
    FOREIGN,
    NONE,
    NOTHING,
    Known,
    Record,
    Special,
    Thing,
    Value,
    join,
    release,
    unwrap,
)


def execute(run: Analysis, body: Iterable[ast.stmt], frame: Frame) -> None:
    """Follow statements; the order does not matter, since every name means all that it is ever bound to."""
    statements = list(body)
    for statement in statements:
        handle = _HANDLERS.get(type(statement), _unknown)
        handle(run, statement, frame)
    if statements and not isinstance(statements[-1], ast.Return | ast.Raise):
        _returns(run, NONE, frame)


def _block(run: Analysis, body: Iterable[ast.stmt], frame: Frame) -> None:
    for statement in body:
        _HANDLERS.get(type(statement), _unknown)(run, statement, frame)


def _unknown(run: Analysis, node: ast.stmt, frame: Frame) -> None:
    """A statement that is not followed: whatever it binds may be anything, and what stands in it may happen."""
    run.blame(node, frame, f"it uses `{type(node).__name__.lower()}`, which is not followed")
    for name in bound_names([node]):
        bind(run, name, FOREIGN, frame, node)
    if not isinstance(node, ast.ClassDef | ast.AsyncFunctionDef):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                _block(run, [child], frame)
            elif isinstance(child, ast.expr) and not isinstance(getattr(child, "ctx", None), ast.Store | ast.Del):
                evaluate(run, child, frame)


def _returns(run: Analysis, value: Value, frame: Frame) -> None:
    if not value <= frame.returned:
        frame.returned, run.changed = join(frame.returned, value), True


def _return(run: Analysis, node: ast.Return, frame: Frame) -> None:
    _returns(run, evaluate(run, node.value, frame), frame)


def _expression(run: Analysis, node: ast.Expr, frame: Frame) -> None:
    evaluate(run, node.value, frame)


def _assign(run: Analysis, node: ast.Assign, frame: Frame) -> None:
    value = evaluate(run, node.value, frame)
    for target in node.targets:
        assign(run, target, value, frame)


def _annotated(run: Analysis, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        assign(run, node.target, evaluate(run, node.value, frame), frame)
    elif not isinstance(node.target, ast.Name):
        run.blame(node, frame, "it annotates what it does not assign, which is not followed")


def _augmented(run: Analysis, node: ast.AugAssign, frame: Frame) -> None:
    """`x += y` changes a list, set or dict in place, and gives something new of all else."""
    value = evaluate(run, node.value, frame)
    match node.target:
        case ast.Name(id=name):
            before = evaluate(run, ast.copy_location(ast.Name(id=name, ctx=ast.Load()), node), frame)
        case ast.Attribute(value=base, attr=attribute):
            holder = evaluate(run, base, frame)
            from penstock.api.inference.attributes import read_attribute

            before = read_attribute(run, holder, frame.mangle(attribute), node, frame)
        case ast.Subscript(value=base, slice=index):
            before = read_item(run, evaluate(run, base, frame), evaluate(run, index, frame), node.target, frame)
    in_place = frozenset(
        a for a in unwrap(before) if isinstance(a, Thing) and a.type in CONTAINERS - {tuple, frozenset}
    )
    for thing in in_place:
        run.change(thing, node, frame)
        if thing.type.__name__ in ("dict", "defaultdict", "OrderedDict", "Counter"):
            fill_dict(run, thing, value, node, frame)
        else:
            is_set = thing.type is set
            run.grow(thing, run.iterate(value, node, frame, ordered=not is_set))
    plain = unwrap(before) - in_place
    made = operate(run, type(node.op).__name__, plain, value, node, frame) if plain else NOTHING
    assign(run, node.target, join(made, in_place), frame)


def _delete(run: Analysis, node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        match target:
            case ast.Subscript(value=base, slice=index):
                delete_item(run, evaluate(run, base, frame), evaluate(run, index, frame), target, frame)
            case ast.Attribute(value=base, attr=name):
                store_attribute(run, evaluate(run, base, frame), frame.mangle(name), NOTHING, target, frame)
            case ast.Name():
                pass
            case _:
                run.blame(node, frame, "it deletes several things at once, which is not followed")


def _if(run: Analysis, node: ast.If | ast.While, frame: Frame) -> None:
    test(run, evaluate(run, node.test, frame), node, frame)
    _block(run, node.body, frame)
    _block(run, node.orelse, frame)


def _for(run: Analysis, node: ast.For, frame: Frame) -> None:
    assign(run, node.target, run.iterate(evaluate(run, node.iter, frame), node, frame), frame)
    _block(run, node.body, frame)
    _block(run, node.orelse, frame)


def _try(run: Analysis, node: ast.Try, frame: Frame) -> None:
    _block(run, node.body, frame)
    for handler in node.handlers:
        if handler.type is not None:
            _check_caught(run, evaluate(run, handler.type, frame), node, frame)
        if handler.name:
            bind(run, handler.name, frozenset({ERROR}), frame, handler)
        _block(run, handler.body, frame)
    _block(run, node.orelse, frame)
    _block(run, node.finalbody, frame)


def _check_caught(run: Analysis, value: Value, node: ast.AST, frame: Frame) -> None:
    for atom in value:
        if isinstance(atom, Record):
            _check_caught(run, join(*atom.parts), node, frame)
        elif isinstance(atom, Known) and atom.object in (RecursionError, MemoryError, KeyboardInterrupt):
            run.blame(node, frame, f"it catches `{atom.object.__name__}`, which depends on the machine")


def _raise(run: Analysis, node: ast.Raise, frame: Frame) -> None:
    for part in (node.exc, node.cause):
        value = evaluate(run, part, frame) if part is not None else NOTHING
        if any(isinstance(a, Known) for a in value):
            run.call(frozenset(a for a in value if isinstance(a, Known)), node, frame)


def _assert(run: Analysis, node: ast.Assert, frame: Frame) -> None:
    test(run, evaluate(run, node.test, frame), node, frame)
    evaluate(run, node.msg, frame)


def _define(run: Analysis, node: ast.FunctionDef, frame: Frame) -> None:
    written = [node.returns, *(a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg))]
    notes = [note for note in written if note is not None]
    acts = (ast.Call, ast.Subscript, ast.NamedExpr, ast.Yield, ast.YieldFrom)
    is_acting = not _postpones_notes(frame) and any(isinstance(n, acts) for note in notes for n in ast.walk(note))
    if node.decorator_list or is_acting:
        run.blame(node, frame, "it decorates a function inside, which is not followed")
        bind(run, node.name, FOREIGN, frame, node)
        return
    bind(run, node.name, make_closure(run, node, frame), frame, node)


def _postpones_notes(frame: Frame) -> bool:
    return bool(frame.function.__code__.co_flags & __future__.annotations.compiler_flag)


def _import(run: Analysis, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
    """An import inside the function, of a module of the standard library that is loaded."""
    for alias in node.names:
        name = alias.name if isinstance(node, ast.Import) else str(node.module)
        module = sys.modules.get(name)
        known = module is not None and name.partition(".")[0] in sys.stdlib_module_names
        value: Value = (
            frozenset({Known(module if alias.asname else sys.modules[name.partition(".")[0]])}) if known else FOREIGN
        )
        if known and isinstance(node, ast.ImportFrom):
            from penstock.api.inference.attributes import read_attribute

            value = read_attribute(run, frozenset({Known(module)}), alias.name, node, frame)
        if not known or alias.name == "*":
            run.blame(node, frame, f"it imports `{name}` inside the function")
        bind(run, alias.asname or alias.name.partition(".")[0], value, frame, node)


def _declare(run: Analysis, node: ast.Global | ast.Nonlocal, frame: Frame) -> None:
    for name in node.names:
        owner = frame.owner_of(name)
        if owner is None or isinstance(node, ast.Global):
            run.blame(node, frame, f"it writes `{name}`, which outlives the call")


def _match(run: Analysis, node: ast.Match, frame: Frame) -> None:
    subject = evaluate(run, node.subject, frame)
    for case in node.cases:
        _pattern(run, case.pattern, subject, frame)
        if case.guard is not None:
            test(run, evaluate(run, case.guard, frame), node, frame)
        _block(run, case.body, frame)


def _pattern(run: Analysis, pattern: Any, subject: Value, frame: Frame) -> None:
    match pattern:
        case ast.MatchValue(value=value):
            run.observe(join(evaluate(run, value, frame), subject), pattern, frame, ordered=False)
        case ast.MatchAs(pattern=inner, name=name):
            if inner is not None:
                _pattern(run, inner, subject, frame)
            if name is not None:
                bind(run, name, subject, frame, pattern)
        case ast.MatchOr(patterns=patterns):
            for inner in patterns:
                _pattern(run, inner, subject, frame)
        case ast.MatchSequence(patterns=patterns):
            _sequence_pattern(run, patterns, subject, pattern, frame)
        case ast.MatchSingleton():
            pass
        case ast.MatchClass(cls=cls, patterns=patterns, kwd_patterns=named) if len(patterns) <= 1 and not named:
            found = evaluate(run, cls, frame)
            if not all(isinstance(a, Known) and a.object in SCALARS | CONTAINERS for a in found):
                run.blame(pattern, frame, "it matches a class that is not followed")
            for inner in patterns:
                _pattern(run, inner, subject, frame)
        case _:
            run.blame(pattern, frame, "it matches a pattern that is not followed")
            for name in bound_names([pattern]):
                bind(run, name, FOREIGN, frame, pattern)
            run.spoil(subject)


def _sequence_pattern(run: Analysis, patterns: list[Any], subject: Value, node: ast.AST, frame: Frame) -> None:
    holders = frozenset(a for a in unwrap(subject) if isinstance(a, Record | Thing) or a is Special.FOREIGN)
    elements = release(run.iterate(holders, node, frame)) if holders else NOTHING
    for pattern in patterns:
        if isinstance(pattern, ast.MatchStar):
            if pattern.name is not None:
                bind(run, pattern.name, run.fresh(pattern, frame, list, elements), frame, pattern)
        else:
            _pattern(run, pattern, elements, frame)


def _nothing(run: Analysis, node: ast.stmt, frame: Frame) -> None:
    pass


_HANDLERS: dict[type, Callable[[Analysis, Any, Frame], None]] = {
    ast.Return: _return, ast.Expr: _expression, ast.Assign: _assign, ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented, ast.Delete: _delete, ast.If: _if, ast.While: _if, ast.For: _for, ast.Try: _try,
    ast.Raise: _raise, ast.Assert: _assert, ast.FunctionDef: _define, ast.Import: _import, ast.ImportFrom: _import,
    ast.Global: _declare, ast.Nonlocal: _declare, ast.Match: _match, ast.Pass: _nothing, ast.Break: _nothing,
    ast.Continue: _nothing,
}  # fmt: skip
