"""Abstract interpretation of expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from penstock.api.inference.analysis import Analysis
from penstock.api.inference.attributes import read_attribute
from penstock.api.inference.calls.dispatch import call
from penstock.api.inference.frames import Frame
from penstock.api.inference.names.lookup import bind, read_name
from penstock.api.inference.operations import (
    BOOL,
    STR,
    check_hash,
    compare,
    is_told_by_equality,
    operate,
    operate_alone,
    test,
)
from penstock.api.inference.subscripts import assign, read_item
from penstock.api.inference.values import (
    NONE,
    NOTHING,
    Closure,
    Iterator,
    Record,
    Special,
    Thing,
    Value,
    join,
    release,
    unwrap,
)


def evaluate(run: Analysis, node: ast.expr | None, frame: Frame) -> Value:
    """The values that an expression may have; its effects are noted."""
    if node is None:
        return NONE
    handle = _HANDLERS.get(type(node))
    if handle is None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                evaluate(run, child, frame)
        return run.blame(node, frame, f"it uses `{type(node).__name__.lower()}`, which is not followed")
    return handle(run, node, frame)


def _constant(run: Analysis, node: ast.Constant, frame: Frame) -> Value:
    return frozenset({type(node.value)})


def _name(run: Analysis, node: ast.Name, frame: Frame) -> Value:
    return read_name(run, node, node.id, frame)


def _attribute(run: Analysis, node: ast.Attribute, frame: Frame) -> Value:
    return read_attribute(run, evaluate(run, node.value, frame), frame.mangle(node.attr), node, frame)


def _subscript(run: Analysis, node: ast.Subscript, frame: Frame) -> Value:
    base, index = evaluate(run, node.value, frame), evaluate(run, node.slice, frame)
    return read_item(run, base, index, node, frame)


def _slice(run: Analysis, node: ast.Slice, frame: Frame) -> Value:
    for part in (node.lower, node.upper, node.step):
        run.observe(evaluate(run, part, frame), node, frame)
    return frozenset({slice})


def _tuple(run: Analysis, node: ast.Tuple, frame: Frame) -> Value:
    if any(isinstance(e, ast.Starred) for e in node.elts):
        return run.fresh(node, frame, tuple, _elements(run, node.elts, frame))
    return run.record(node, frame, Record((), tuple(evaluate(run, e, frame) for e in node.elts)))


def _elements(run: Analysis, nodes: Iterable[ast.expr], frame: Frame) -> Value:
    found = [
        run.iterate(evaluate(run, n.value, frame), n, frame) if isinstance(n, ast.Starred) else evaluate(run, n, frame)
        for n in nodes
    ]
    return join(*found)


def _list(run: Analysis, node: ast.List, frame: Frame) -> Value:
    return run.fresh(node, frame, list, _elements(run, node.elts, frame))


def _set(run: Analysis, node: ast.Set, frame: Frame) -> Value:
    items = _elements(run, node.elts, frame)
    check_hash(run, items, node, frame)
    return run.fresh(node, frame, set, items)


def _dict(run: Analysis, node: ast.Dict, frame: Frame) -> Value:
    """A dict display keeps its entries apart as long as all its keys are constant names."""
    (thing,) = run.fresh(node, frame, dict)
    for key, item in zip(node.keys, node.values, strict=True):
        value = evaluate(run, item, frame)
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            is_again = sum(isinstance(k, ast.Constant) and k.value == key.value for k in node.keys) > 1
            run.grow(thing, release(value) if is_again else value, field=key.value)
        elif key is None:
            inside = run.iterate(value, node, frame)
            thing.is_open = True
            held = [run.held(a) if isinstance(a, Thing) else inside for a in unwrap(value)]
            run.grow(thing, release(join(*held)), release(inside))
        else:
            index = evaluate(run, key, frame)
            check_hash(run, index, node, frame)
            thing.is_open = True
            run.grow(thing, value, index)
    return frozenset({thing})


# Operators.


def _binary(run: Analysis, node: ast.BinOp, frame: Frame) -> Value:
    left, right = evaluate(run, node.left, frame), evaluate(run, node.right, frame)
    return operate(run, type(node.op).__name__, left, right, node, frame)


def _unary(run: Analysis, node: ast.UnaryOp, frame: Frame) -> Value:
    value = unwrap(evaluate(run, node.operand, frame))
    if isinstance(node.op, ast.Not):
        test(run, value, node, frame)
        return BOOL
    return operate_alone(run, type(node.op).__name__, value, node, frame)


def _boolean(run: Analysis, node: ast.BoolOp, frame: Frame) -> Value:
    found = [evaluate(run, value, frame) for value in node.values]
    for value in found:
        test(run, value, node, frame)
    return join(*found)


def _choice(run: Analysis, node: ast.IfExp, frame: Frame) -> Value:
    test(run, evaluate(run, node.test, frame), node, frame)
    return join(evaluate(run, node.body, frame), evaluate(run, node.orelse, frame))


def _compare(run: Analysis, node: ast.Compare, frame: Frame) -> Value:
    left = evaluate(run, node.left, frame)
    for op, other in zip(node.ops, node.comparators, strict=True):
        right = evaluate(run, other, frame)
        compare(run, type(op).__name__, left, right, node, frame)
        left = right
    return BOOL


# Text.


def _joined(run: Analysis, node: ast.JoinedStr, frame: Frame) -> Value:
    for part in node.values:
        evaluate(run, part, frame)
    return STR


def _formatted(run: Analysis, node: ast.FormattedValue, frame: Frame) -> Value:
    run.observe(evaluate(run, node.value, frame), node, frame, shown=True)
    if node.format_spec is not None:
        evaluate(run, node.format_spec, frame)
    return STR


# Functions and comprehensions.


def _lambda(run: Analysis, node: ast.Lambda, frame: Frame) -> Value:
    return make_closure(run, node, frame)


def make_closure(run: Analysis, node: ast.Lambda | ast.FunctionDef, frame: Frame) -> Value:
    """A function that is defined here; its defaults are evaluated here."""
    key = ("closure", id(node), frame)
    defaults = tuple(evaluate(run, d, frame) for d in node.args.defaults)
    keywords = tuple(None if d is None else evaluate(run, d, frame) for d in node.args.kw_defaults)
    known: Closure | None = run.frames.get(key)
    if known is None or (known.defaults, known.keyword_defaults) != (defaults, keywords):
        known = run.frames[key] = Closure(node, frame, defaults, keywords)
        run.changed = True
    return frozenset({known})


def _comprehension(run: Analysis, node: Any, frame: Frame) -> Value:
    inner = run.frames.setdefault(
        (id(node), frame), Frame(function=frame.function, names={}, parent=frame, is_comprehension=True)
    )
    for clause in node.generators:
        for target in ast.walk(clause.target):
            if isinstance(target, ast.Name):
                inner.names.setdefault(target.id, NOTHING)
    first, is_unordered = frame, False
    for clause in node.generators:
        if clause.is_async:
            run.blame(node, frame, "it waits, which is not followed")
        source = evaluate(run, clause.iter, first)
        is_unordered |= run.is_unordered(source)
        assign(run, clause.target, run.iterate(source, node, frame, ordered=False), inner)
        run.unordered += is_unordered
        for condition in clause.ifs:
            test(run, evaluate(run, condition, inner), node, inner)
        run.unordered -= is_unordered
        first = inner
    run.unordered += is_unordered
    try:
        return _collected(run, node, frame, inner, is_unordered)
    finally:
        run.unordered -= is_unordered


def _collected(run: Analysis, node: Any, frame: Frame, inner: Frame, is_unordered: bool) -> Value:
    if isinstance(node, ast.DictComp):
        key, value = evaluate(run, node.key, inner), evaluate(run, node.value, inner)
        check_hash(run, key, node, frame)
        if is_unordered and not _is_element(node.key, node.generators):
            run.blame(node, frame, "it gives several elements of a set one key, the last of which differs")
        return run.fresh(node, frame, dict, release(value), keys=release(key), unordered=is_unordered)
    item = evaluate(run, node.elt, inner)
    cls: Any = {ast.ListComp: list, ast.SetComp: set, ast.GeneratorExp: Iterator}[type(node)]
    if cls is set:
        check_hash(run, item, node, frame)
        if is_unordered and not is_told_by_equality(item):
            run.depend_on_order(node, frame)
    return run.fresh(node, frame, cls, item, unordered=is_unordered)


def _is_element(key: ast.expr, clauses: list[ast.comprehension]) -> bool:
    """Whether the keys of a dict are the elements that a comprehension goes over, each once."""
    names = [clause.target.id for clause in clauses if isinstance(clause.target, ast.Name)]
    return len(clauses) == 1 and isinstance(key, ast.Name) and [key.id] == names


def _walrus(run: Analysis, node: ast.NamedExpr, frame: Frame) -> Value:
    value = evaluate(run, node.value, frame)
    if run.unordered:
        run.blame(node, frame, "it binds a name in the order of a set")
    bind(run, node.target.id, value, frame.home, node)
    return value


def _yield(run: Analysis, node: ast.Yield, frame: Frame) -> Value:
    give(run, evaluate(run, node.value, frame), node, frame)
    return NONE


def _yield_from(run: Analysis, node: ast.YieldFrom, frame: Frame) -> Value:
    source = evaluate(run, node.value, frame)
    give(run, run.iterate(source, node, frame), node, frame)
    foreign = frozenset(a for a in source if a is Special.FOREIGN)
    return join(NONE, foreign, *(release(a.returned) for a in unwrap(source) if isinstance(a, Thing)))


def give(run: Analysis, value: Value, node: ast.AST, frame: Frame) -> None:
    """Note what a generator yields."""
    home = frame.home
    if not value <= home.yielded:
        home.yielded, run.changed = join(home.yielded, value), True


def _starred(run: Analysis, node: ast.Starred, frame: Frame) -> Value:
    return run.iterate(evaluate(run, node.value, frame), node, frame)


def _call(run: Analysis, node: ast.Call, frame: Frame) -> Value:
    return call(run, node, frame)


_HANDLERS: dict[type, Callable[[Analysis, Any, Frame], Value]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.Subscript: _subscript, ast.Slice: _slice,
    ast.Tuple: _tuple, ast.List: _list, ast.Set: _set, ast.Dict: _dict, ast.BinOp: _binary, ast.UnaryOp: _unary,
    ast.BoolOp: _boolean, ast.IfExp: _choice, ast.Compare: _compare, ast.JoinedStr: _joined,
    ast.FormattedValue: _formatted, ast.Lambda: _lambda, ast.ListComp: _comprehension, ast.SetComp: _comprehension,
    ast.DictComp: _comprehension, ast.GeneratorExp: _comprehension, ast.NamedExpr: _walrus, ast.Yield: _yield,
    ast.YieldFrom: _yield_from, ast.Starred: _starred, ast.Call: _call,
}  # fmt: skip
