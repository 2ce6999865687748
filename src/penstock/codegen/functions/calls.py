"""Calls: what is known of Python's own functions and methods; functions of the program are followed."""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

from penstock.api.keyed.operator import KeyedOperator
from penstock.codegen.functions.analysis import OWN, Flow, Instance, Rules, as_value, choose, follow, take_ends
from penstock.codegen.functions.arithmetic import fold, narrow, to_float, to_int, truth
from penstock.codegen.functions.methods import (
    LENGTH,
    call_method,
    call_object_method,
    call_regular,
    plain_nodes,
)
from penstock.codegen.functions.nodes import (
    BOOL,
    FLOAT,
    GREATEST,
    INT,
    LEAST,
    STR,
    Kind,
    Known,
    Node,
    NotUnderstood,
    Record,
    Value,
    Where,
    constant,
    unify,
)
from penstock.codegen.functions.record_classes import plain_fields

_ROW_MATH = frozenset(
    "exp expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh hypot pow fmod copysign degrees "
    "radians cbrt exp2".split()
)
_VECTOR_MATH = {"isnan": BOOL, "isinf": BOOL, "isfinite": BOOL, "fabs": FLOAT, "sqrt": FLOAT}
_TO_INTEGER = {"floor": "floor", "ceil": "ceil", "trunc": "truncate"}


def call(receiver: Value, name: str, args: list[Value], named: dict[str, Value], flow: Flow, rules: Rules) -> Value:
    """The result of a call of a function, or of a method of that name.

    Raises:
        NotUnderstood: It is not known, or not with these arguments.
    """
    if isinstance(receiver, Record):
        return _record_method(receiver, name, args, named)
    if isinstance(receiver, Node):
        return call_method(receiver, name, plain_nodes(args, named), flow.here)
    called = receiver.object
    if name:
        return call_object_method(called, name, args, named, flow.here)
    if isinstance(called, FunctionType) and called.__module__ not in ("re", "math"):
        return _followed(called, args, named, flow, rules)
    if isinstance(called, type) and called not in (bool, float, int, str, dict, list, tuple, set):
        return _made(called, args, named)
    known = str(getattr(called, "__name__", type(called).__name__))
    if getattr(math, known, None) is called:
        return _math(known, plain_nodes(args, named), flow.here)
    if getattr(re, known, None) is called:
        return call_regular(known, args, named, flow.here)
    if getattr(builtins, known, None) is called:
        return _builtin(known, args, named, flow.here)
    raise NotUnderstood(f"it calls `{known}`")


def call_own(
    instance: Instance, name: str, args: list[Value], named: dict[str, Value], flow: Flow, rules: Rules
) -> Value:
    """The result of a call of a method of the instance itself; `submit` gives a tuple."""
    method = inspect.getattr_static(instance.owner, name, None)
    if name == "submit" and method is KeyedOperator.submit:
        if len(args) != 1 or named:
            raise NotUnderstood("it submits to a port")
        flow.force(args[0])
        flow.yields.append((flow.here, args[0]))
        return constant(None)
    if not isinstance(method, FunctionType) or name in vars(KeyedOperator) or f"{OWN}{name}" in flow.names:
        raise NotUnderstood(f"it calls `self.{name}`")
    return _followed(method, [instance, *args], named, flow, rules)


def _row(kind: Kind, callee: str, args: list[Node], path: Where) -> Node:
    """A call that is made row by row."""
    inside = ", ".join(f"{{{i}}}" for i in range(len(args)))
    return Node(kind, f"{callee}({inside})", tuple(args), "", path)


def _followed(function: FunctionType, args: list[Value], named: dict[str, Value], flow: Flow, rules: Rules) -> Value:
    for value in (*args, *named.values()):
        flow.force(value)
    inner = follow(function, args, named, flow, rules)
    if not inner.returns:
        raise NotUnderstood(f"`{function.__name__}` never returns")
    take_ends(inner, flow)
    return inner.returns[0][1] if len(inner.returns) == 1 else choose(inner.returns, flow.here)


def _made(cls: Any, args: list[Value], named: dict[str, Value]) -> Record:
    """A named tuple or a dataclass without hooks."""
    names = plain_fields(cls)
    if names is None:
        raise NotUnderstood(f"it makes a `{cls.__name__}`")
    if len(args) > len(names) or not set(named) <= set(list(names)[len(args) :]):
        raise NotUnderstood(f"it makes a `{cls.__name__}` in a way that cannot be followed")
    given: dict[str, Value] = dict(zip(names, args, strict=False)) | named
    found = {n: as_value(default) for n, default in names.items() if default is not dataclasses.MISSING} | given
    if set(found) != set(names):
        raise NotUnderstood(f"it makes a `{cls.__name__}` without all its attributes")
    return Record(tuple(found[n] for n in names), tuple(names), "object")


def _record_method(record: Record, name: str, args: list[Value], named: dict[str, Value]) -> Value:
    if record.form == "row" and not args:
        if name == "_asdict" and not named:
            return replace(record, form="dict")
        if name == "_replace" and set(named) <= set(record.names):
            return replace(
                record, parts=tuple(named.get(n, p) for n, p in zip(record.names, record.parts, strict=True))
            )
    raise NotUnderstood(f"the method `{name}` of a tuple or dict")


def _builtin(name: str, args: list[Value], named: dict[str, Value], path: Where) -> Value:
    if name == "len" and len(args) == 1 and isinstance(args[0], Record | Known):
        held = args[0].parts if isinstance(args[0], Record) else args[0].object
        if type(held) in (tuple, list, dict, set, frozenset) and getattr(args[0], "form", "") != "object":
            return constant(len(held))
    if name == "len" and len(args) == 1 and isinstance(args[0], Node) and args[0].kind.name == "list":
        return Node(LENGTH, "len({0})", (args[0],), "", path)
    nodes = plain_nodes(args, named)
    if name in _BUILTINS and nodes:
        return _BUILTINS[name](nodes, path)
    raise NotUnderstood(f"it calls `{name}`")


def _one(args: list[Node], name: str) -> Node:
    if len(args) != 1:
        raise NotUnderstood(f"it calls `{name}` with {len(args)} arguments")
    return args[0]


def _len(args: list[Node], path: Where) -> Node:
    text = narrow(_one(args, "len"), path)
    if text.kind.name != "str":
        raise NotUnderstood("the length of something that is no text")
    return fold(len, text) if text.is_constant else Node(LENGTH, "len({0})", (text,), "length", path)


def _abs(args: list[Node], path: Where) -> Node:
    number = to_int(narrow(_one(args, "abs"), path), path)
    if number.is_constant:
        return fold(abs, number)
    if number.kind.name == "float":
        return Node(FLOAT, "abs({0})", (number,), "np abs", path)
    if number.kind.name != "int":
        raise NotUnderstood("`abs` of text")
    low, high = number.kind.low, number.kind.high
    kind = Kind("int", 0, min(max(abs(low), abs(high)), GREATEST))
    return Node(kind, "abs({0})", (number,), "np abs" if low > LEAST else "absolute", path)


def _extreme(name: str) -> Callable[[list[Node], Where], Node]:
    def extreme(args: list[Node], path: Where) -> Node:
        if len(args) < 2:
            raise NotUnderstood(f"`{name}` of one value")
        found = narrow(args[0], path)
        for other in (narrow(a, path) for a in args[1:]):
            if found.kind.name != other.kind.name:
                raise NotUnderstood(f"`{name}` of values of several kinds")
            if found.is_constant and other.is_constant:
                found = fold(getattr(builtins, name), found, other)
                continue
            kind = unify([found.kind, other.kind])
            vector = name if kind.name in ("int", "float") else ""
            found = Node(kind, f"{name}({{0}}, {{1}})", (found, other), vector, path)
        return found

    return extreme


def _round(args: list[Node], path: Where) -> Node:
    number = to_int(narrow(args[0], path), path)
    if number.kind.name == "str" or number.is_constant or len(args) > 2:
        raise NotUnderstood("`round` of that")
    if len(args) == 1:
        return number if number.kind.name == "int" else Node(INT, "round({0})", (number,), "round_even", path)
    if not (args[1].is_constant and args[1].kind.name == "int"):
        raise NotUnderstood("`round` to a number of digits that is not constant")
    kind = FLOAT if number.kind.name == "float" else INT
    return Node(kind, "round({0}, {1})", (number, args[1]), "", path)


def _int(args: list[Node], path: Where) -> Node:
    value = narrow(args[0], path)
    if value.kind.name == "str":
        return _row(INT, "int", [value, *args[1:]], path)
    if len(args) > 1 or value.is_constant:
        raise NotUnderstood("`int` of that")
    value = to_int(value, path)
    return value if value.kind.name == "int" else Node(INT, "int({0})", (value,), "truncate", path)


def _float(args: list[Node], path: Where) -> Node:
    value = narrow(_one(args, "float"), path)
    if value.is_constant:
        return fold(float, value)
    if value.kind.name == "str":
        return _row(FLOAT, "float", [value], path)
    made = to_float(value, path)
    return made if made is value else replace(made, row="float({0})")


def _str(args: list[Node], path: Where) -> Node:
    value = _one(args, "str")
    if value.is_constant:
        return fold(str, value)
    if value.kind == STR:
        return value
    is_digits = value.kind.name == "int" and not value.kind.optional
    return Node(STR, "str({0})", (value,), "digits" if is_digits else "", path)


_BUILTINS: dict[str, Callable[[list[Node], Where], Node]] = {
    "len": _len,
    "abs": _abs,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "round": _round,
    "int": _int,
    "float": _float,
    "str": _str,
    "bool": lambda args, path: truth(_one(args, "bool"), path),
    "repr": lambda args, path: _row(STR, "repr", [_one(args, "repr")], path),
    "ord": lambda args, path: _row(INT, "ord", [_one(args, "ord")], path),
    "chr": lambda args, path: _row(STR, "chr", [_one(args, "chr")], path),
}


def _math(name: str, args: list[Node], path: Where) -> Node:
    numbers = [to_int(narrow(a, path), path) for a in args]
    if any(n.kind.name == "str" for n in numbers) or all(n.is_constant for n in numbers):
        raise NotUnderstood(f"`math.{name}` of that")
    if name in _VECTOR_MATH and len(args) == 1:
        return Node(_VECTOR_MATH[name], f"math.{name}({{0}})", (to_float(numbers[0], path),), name, path)
    if name in _TO_INTEGER and len(args) == 1:
        if numbers[0].kind.name == "int":
            return numbers[0]
        return Node(INT, f"math.{name}({{0}})", (numbers[0],), _TO_INTEGER[name], path)
    if name in _ROW_MATH:
        return _row(FLOAT, f"math.{name}", numbers, path)
    raise NotUnderstood(f"it calls `math.{name}`")
