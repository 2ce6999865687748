"""The expressions of a function as nodes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from penstock.codegen.functions.analysis import (
    Flow,
    Instance,
    Rules,
    Unclear,
    as_value,
    assign,
    choose,
    free_name,
    truth_of,
)
from penstock.codegen.functions.arithmetic import (
    COMPARISONS,
    OPERATIONS,
    binary,
    compare,
    fold,
    is_none,
    narrow,
    negate,
    truth,
    unary,
)
from penstock.codegen.functions.calls import call, call_own
from penstock.codegen.functions.methods import constants_in, index
from penstock.codegen.functions.nodes import (
    BOOL,
    STR,
    Known,
    Node,
    NotUnderstood,
    Path,
    Record,
    Value,
    Where,
    constant,
    held,
    literal,
)


def evaluate(node: ast.expr, flow: Flow) -> Value:
    """The value of an expression.

    Raises:
        NotUnderstood: It cannot become columns.
    """
    match node:
        case ast.Constant(value=value):
            return constant(value)
        case ast.Name(id=name):
            return _read(flow.names[name] if name in flow.names else free_name(name, flow.function))
        case ast.Attribute(value=base, attr=name):
            return _attribute(evaluate(base, flow), name, flow)
        case ast.BinOp(left=left, op=op, right=right) if type(op).__name__ in OPERATIONS:
            symbol = OPERATIONS[type(op).__name__][0]
            first, second = as_node(evaluate(left, flow)), as_node(evaluate(right, flow))
            return binary(symbol, first, second, flow.here)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return negate(_truth(operand, flow), flow.here)
        case ast.UnaryOp(op=op, operand=operand):
            symbol = {"USub": "-", "UAdd": "+", "Invert": "~"}[type(op).__name__]
            return unary(symbol, as_node(evaluate(operand, flow)), flow.here)
        case ast.BoolOp(op=op, values=values):
            return _either(isinstance(op, ast.And), values, flow)
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _compare(evaluate(left, flow), ops, others, flow)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _choice(test, body, orelse, flow)
        case ast.NamedExpr(target=target, value=value):
            found = evaluate(value, flow)
            flow.force(found)
            assign(target, found, flow)
            return found
        case ast.Subscript(value=base, slice=where):
            return index(evaluate(base, flow), _slice(where, flow), flow)
        case ast.JoinedStr(values=values):
            return _joined([_formatted(v, flow) for v in values], flow.here)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            form = "tuple" if isinstance(node, ast.Tuple) else "list"
            return Record(tuple(evaluate(p, flow) for p in parts), (), form)
        case ast.Dict(keys=keys, values=values):
            return _dict(keys, values, flow)
        case ast.Call(func=callee, args=args, keywords=keywords):
            return _call(callee, args, keywords, flow)
    raise NotUnderstood(f"a `{type(node).__name__}` expression")


def as_node(value: Value) -> Node:
    """A value that is a number, a text, a truth value or None."""
    if not isinstance(value, Node):
        raise NotUnderstood("it computes with a tuple, a table or another object")
    return value


def _read(value: Value) -> Value:
    if isinstance(value, Unclear):
        raise NotUnderstood(str(value.object))
    return value


def _attribute(base: Value, name: str, flow: Flow) -> Value:
    if isinstance(base, Instance):
        return _read(base.read(name, flow))
    if isinstance(base, Record):
        return base.part(name)  # type: ignore[no-any-return]
    if isinstance(base, Known) and isinstance(base.object, ModuleType | type):
        if not hasattr(base.object, name):
            raise NotUnderstood(f"there is no `{name}`")
        return as_value(getattr(base.object, name))
    raise NotUnderstood(f"the attribute `{name}` of a value")


def _truth(node: ast.expr, flow: Flow) -> Node:
    """Whether an expression counts as true: of `and` and `or`, only that matters of their sides."""
    if isinstance(node, ast.BoolOp):
        return _both(isinstance(node.op, ast.And), node.values, flow)
    found = evaluate(node, flow)
    return truth(found, flow.here) if isinstance(found, Node) else constant(truth_of(found))


def _under(path: Path, flow: Flow, compute: Callable[[], Value]) -> Value:
    """A value that is computed for some of the rows; it sets no variable, because the others have these, too."""
    before, names = flow.path, flow.names
    flow.path, flow.names = path, dict(names)
    found = compute()
    flow.force(found)
    left_behind, flow.path, flow.names = flow.names, before, names
    if left_behind.keys() != names.keys() or any(left_behind[n] is not names[n] for n in names):
        raise NotUnderstood("it assigns inside a side of a condition")
    return found


def _choice(test: ast.expr, body: ast.expr, orelse: ast.expr, flow: Flow) -> Value:
    asked = _truth(test, flow)
    if asked.is_constant:
        return evaluate(body if asked.value else orelse, flow)
    flow.force(asked)
    sides = (Path(flow.here, asked, True), Path(flow.here, asked, False))
    ends = [
        (side, _under(side, flow, partial(evaluate, node, flow)))
        for side, node in zip(sides, (body, orelse), strict=True)
    ]
    return _read(choose(ends, flow.here))


def _either(is_and: bool, values: list[ast.expr], flow: Flow) -> Value:
    """`and` and `or`: the right side is for the rows that the left side has not decided."""
    first, rest = evaluate(values[0], flow), values[1:]
    if not rest:
        return first
    asked = truth(first, flow.here) if isinstance(first, Node) else constant(truth_of(first))
    if asked.is_constant:
        return _either(is_and, rest, flow) if asked.value is is_and else first
    flow.force(asked)
    path = Path(flow.here, asked, is_and)
    whole = ast.BoolOp(op=ast.And() if is_and else ast.Or(), values=rest)
    second = as_node(_under(path, flow, lambda: evaluate(whole if len(rest) > 1 else rest[0], flow)))
    if asked is first and second.kind == BOOL:
        symbol = "and" if is_and else "or"
        return Node(BOOL, f"({{0}} {symbol} {{1}})", (asked, second), "plain &" if is_and else "plain |", flow.here)
    decided = Path(flow.here, asked, not is_and)
    left = as_node(first)
    if not is_and and left.kind.optional and left.kind.is_column:
        left = narrow(left, decided)  # what counts as true is not None
    return _read(choose([(decided, left), (path, second)], flow.here))


def _both(is_and: bool, values: list[ast.expr], flow: Flow) -> Node:
    """The truth of `and` and `or`."""
    asked, rest = _truth(values[0], flow), values[1:]
    if not rest:
        return asked
    if asked.is_constant:
        return _both(is_and, rest, flow) if asked.value is is_and else asked
    flow.force(asked)
    second = as_node(_under(Path(flow.here, asked, is_and), flow, lambda: _both(is_and, rest, flow)))
    symbol = "and" if is_and else "or"
    return Node(BOOL, f"({{0}} {symbol} {{1}})", (asked, second), "plain &" if is_and else "plain |", flow.here)


def _compare(left: Value, ops: list[ast.cmpop], others: list[ast.expr], flow: Flow) -> Value:
    """One comparison, or a chain: each is for the rows for which those before hold."""
    right = evaluate(others[0], flow)
    first = _compared(left, ops[0], right, flow)
    if len(ops) == 1:
        return first
    flow.force(right)
    if first.is_constant:
        return _compare(right, ops[1:], others[1:], flow) if first.value else first
    flow.force(first)
    others_on_path = lambda: _compare(right, ops[1:], others[1:], flow)  # noqa: E731 # for these rows alone
    rest = as_node(_under(Path(flow.here, first, True), flow, others_on_path))
    return Node(BOOL, "({0} and {1})", (first, rest), "plain &", flow.here)


def _compared(left: Value, op: ast.cmpop, right: Value, flow: Flow) -> Node:
    match op:
        case ast.Is() | ast.IsNot():
            if not (isinstance(right, Node) and right.kind.name == "none"):
                raise NotUnderstood("`is` with something else than None")
            return is_none(as_node(left), flow.here, holds=isinstance(op, ast.Is))
        case ast.In() | ast.NotIn():
            found = _contained(as_node(left), right, flow.here)
            return negate(found, flow.here) if isinstance(op, ast.NotIn) else found
    return compare(COMPARISONS[type(op).__name__][0], as_node(left), as_node(right), flow.here)


def _contained(left: Node, right: Value, path: Where) -> Node:
    """`in` a text, a tuple of constants, or a lookup table."""
    if isinstance(right, Node):
        if right.kind.name != "str" or left.kind.name != "str":
            raise NotUnderstood("`in` something that is no text and no table")
        if left.is_constant and right.is_constant:
            return fold(lambda a, b: a in b, left, right)
        vector = "contains" if left.is_constant and not right.kind.optional else ""
        return Node(BOOL, "({0} in {1})", (left, right), vector, path)
    table = constants_in(right)
    if left.is_constant:
        return constant(left.value in table)
    kinds = {type(v) for v in table}
    is_plain = not left.kind.optional and kinds <= {{"int": int, "str": str}.get(left.kind.name)}
    # In an order that is the same in every process.
    values, known = sorted(table, key=repr), held("table", literal(table))
    if is_plain and all(not isinstance(v, int) or -(2**63) <= v < 2**63 for v in values) and values:
        return Node(BOOL, "({0} in {1})", (left, known), "in", path, value=values)
    return Node(BOOL, "({0} in {1})", (left, known), "", path)


def _slice(node: ast.expr, flow: Flow) -> Any:
    """An index, or the three parts of a slice."""
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return tuple(None if p is None else as_node(evaluate(p, flow)) for p in parts)
    return evaluate(node, flow)


def _formatted(node: ast.expr, flow: Flow) -> Node:
    """A part of an f-string as text."""
    if isinstance(node, ast.Constant):
        return constant(node.value)
    assert isinstance(node, ast.FormattedValue)
    value = as_node(evaluate(node.value, flow))
    if node.conversion != -1:
        function = {"s": "str", "r": "repr", "a": "ascii"}[chr(node.conversion)]
        value = Node(STR, f"{function}({{0}})", (value,), "", flow.here)
    spec = "" if node.format_spec is None else as_node(evaluate(node.format_spec, flow)).value
    if spec is None:
        raise NotUnderstood("a format that is not constant")
    return as_text(value, spec, flow.here)


def as_text(value: Node, spec: str, path: Where) -> Node:
    """A value as a format specification writes it."""
    if not spec and value.kind == STR:
        return value
    if value.is_constant:
        return fold(lambda v: format(v, spec), value)
    if not value.kind.is_column:
        raise NotUnderstood("it formats something that is no number and no text")
    is_digits = not spec and value.kind.name == "int" and not value.kind.optional
    return Node(STR, "format({0}, {1})", (value, constant(spec)), "digits" if is_digits else "", path)


def _joined(parts: list[Node], path: Where) -> Node:
    """Texts one after the other."""
    if not parts:
        return constant("")
    if all(p.is_constant for p in parts):
        return constant("".join(p.value for p in parts))
    if len(parts) == 1:
        return parts[0]
    row = f'"".join(({", ".join(f"{{{i}}}" for i in range(len(parts)))}))'
    vector = "concatenate" if all(p.vector for p in parts) else ""
    return Node(STR, row, tuple(parts), vector, path)


def _dict(keys: list[ast.expr | None], values: list[ast.expr], flow: Flow) -> Record:
    found: dict[str, Value] = {}
    for key, value in zip(keys, values, strict=True):
        inner = evaluate(value, flow)
        if key is None:
            if not isinstance(inner, Record) or inner.form != "dict":
                raise NotUnderstood("`**` of something that is no dict of known keys")
            found.update(zip(inner.names, inner.parts, strict=True))
            continue
        name = evaluate(key, flow)
        if not (isinstance(name, Node) and name.is_constant and isinstance(name.value, str)):
            raise NotUnderstood("a dict whose keys are not constant texts")
        found[name.value] = inner
    return Record(tuple(found.values()), tuple(found), "dict")


def _call(callee: ast.expr, args: list[ast.expr], keywords: list[ast.keyword], flow: Flow) -> Value:
    if any(isinstance(a, ast.Starred) for a in args) or any(k.arg is None for k in keywords):
        raise NotUnderstood("a call with `*` or `**`")
    receiver: Value | None = None
    if isinstance(callee, ast.Attribute):
        base = evaluate(callee.value, flow)
        if isinstance(base, Node | Record) or _is_object(base):
            receiver, name = base, callee.attr
        else:
            receiver, name = _attribute(base, callee.attr, flow), ""
    else:
        receiver, name = evaluate(callee, flow), ""
    given = [evaluate(a, flow) for a in args]
    named = {str(k.arg): evaluate(k.value, flow) for k in keywords}
    if isinstance(receiver, Instance) and name:
        return _read(call_own(receiver, name, given, named, flow, RULES))
    return _read(call(receiver, name, given, named, flow, RULES))


def _is_object(value: Value) -> bool:
    """Whether a value is an object with methods, not a module or a class that holds functions."""
    return isinstance(value, Known) and not isinstance(value.object, ModuleType | type)


RULES = Rules(evaluate, _truth)
"""How expressions are evaluated, for who follows statements."""
