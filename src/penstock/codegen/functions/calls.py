"""Calls: what is known of Python's own functions and methods; functions of the program are followed."""

from __future__ import annotations

import builtins
import dataclasses
import math
import re
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

from penstock.codegen.functions.analysis import Flow, Rules, as_value, choose, follow
from penstock.codegen.functions.arithmetic import fold, narrow, to_float, to_int, truth
from penstock.codegen.functions.nodes import (
    BOOL,
    FLOAT,
    GREATEST,
    INT,
    LEAST,
    LIST,
    MATCH,
    STR,
    Kind,
    Known,
    Node,
    NotUnderstood,
    Record,
    Value,
    Where,
    constant,
    held,
    kind_of_value,
    literal,
    unify,
)

_LENGTH = Kind("int", -1, 2**31)
_MOST_WIDTH = 1000

_TEXT = frozenset(
    "upper lower strip lstrip rstrip title capitalize swapcase casefold replace removeprefix removesuffix".split()
)
_PADDED = frozenset("zfill ljust rjust center".split())
_ASKED = frozenset(
    "startswith endswith isdigit isalpha isalnum isspace isupper islower isnumeric isdecimal istitle isascii".split()
)
_COUNTED = frozenset("find rfind index rindex count".split())
_SPLIT = frozenset("split rsplit splitlines".split())
_MATCHED = frozenset("match search fullmatch".split())

_ROW_MATH = frozenset(
    "exp expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh hypot pow fmod copysign degrees "
    "radians cbrt exp2".split()
)
_VECTOR_MATH = {"isnan": BOOL, "isinf": BOOL, "isfinite": BOOL, "fabs": FLOAT, "sqrt": FLOAT}
_TO_INTEGER = {"floor": "floor", "ceil": "ceil", "trunc": "truncate"}


def call(receiver: Value, name: str, args: list[Value], named: dict[str, Value], flow: Flow, rules: Rules) -> Value:
    """What a call of a function, or of a method of that name, gives.

    Raises:
        NotUnderstood: It is not known, or not with these arguments.
    """
    if isinstance(receiver, Record):
        return _record_method(receiver, name, args, named)
    if isinstance(receiver, Node):
        return _method(receiver, name, _nodes(args, named), flow.here)
    called = receiver.object
    if name:
        return _object_method(called, name, args, named, flow.here)
    if isinstance(called, FunctionType) and called.__module__ not in ("re", "math"):
        return _followed(called, args, named, flow, rules)
    if isinstance(called, type) and called not in (bool, float, int, str, dict, list, tuple, set):
        return _made(called, args, named)
    if getattr(called, "__module__", "") == "math" and getattr(math, called.__name__, None) is called:
        return _math(called.__name__, _nodes(args, named), flow.here)
    if getattr(re, getattr(called, "__name__", ""), None) is called:
        return _regular(called.__name__, args, named, flow.here)
    function_name = getattr(called, "__name__", "")
    if getattr(builtins, function_name, None) is called:
        return _builtin(function_name, args, named, flow.here)
    raise NotUnderstood(f"it calls `{function_name or type(called).__name__}`")


def _nodes(args: list[Value], named: dict[str, Value]) -> list[Node]:
    if named:
        raise NotUnderstood(f"a call with the keyword `{next(iter(named))}`")
    if not all(isinstance(a, Node) and (a.kind.is_column or a.kind.name == "none") for a in args):
        raise NotUnderstood("a call with something that is no number and no text")
    return [a for a in args if isinstance(a, Node)]


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
    return inner.returns[0][1] if len(inner.returns) == 1 else choose(inner.returns, flow.here)


def _made(cls: type, args: list[Value], named: dict[str, Value]) -> Record:
    """A named tuple or a dataclass without hooks."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields") and cls.__new__.__module__.startswith("namedtuple_"):
        names, defaults = cls._fields, dict(cls._field_defaults)
        is_plain = "__init__" not in vars(cls) and "__getattribute__" not in vars(cls)
    elif "__dataclass_params__" in vars(cls) and vars(cls)["__dataclass_params__"].init:
        fields = dataclasses.fields(cls)
        names = tuple(f.name for f in fields)
        defaults = {f.name: f.default for f in fields if f.default is not dataclasses.MISSING}
        hooks = ("__post_init__", "__setattr__", "__getattribute__", "__getattr__", "__new__")
        is_frozen = vars(cls)["__dataclass_params__"].frozen
        is_plain = all(f.init and not f.kw_only and f.default_factory is dataclasses.MISSING for f in fields)
        is_plain &= not any(h in vars(c) for c in cls.__mro__[:-1] for h in hooks if not (is_frozen and h == "__setattr__"))
    else:
        raise NotUnderstood(f"it makes a `{cls.__name__}`")
    if not is_plain or len(args) > len(names) or not set(named) <= set(names[len(args) :]):
        raise NotUnderstood(f"it makes a `{cls.__name__}` in a way that cannot be followed")
    found = {n: as_value(v) for n, v in defaults.items()} | dict(zip(names, args, strict=False)) | named
    if set(found) != set(names):
        raise NotUnderstood(f"it makes a `{cls.__name__}` without all its attributes")
    return Record(tuple(found[n] for n in names), tuple(names), "object")


def _record_method(record: Record, name: str, args: list[Value], named: dict[str, Value]) -> Value:
    if record.form == "row" and not args:
        if name == "_asdict" and not named:
            return replace(record, form="dict")
        if name == "_replace" and set(named) <= set(record.names):
            return replace(record, parts=tuple(named.get(n, p) for n, p in zip(record.names, record.parts, strict=True)))
    raise NotUnderstood(f"the method `{name}` of a tuple or dict")


def _builtin(name: str, args: list[Value], named: dict[str, Value], path: Where) -> Value:
    if name == "len" and len(args) == 1 and isinstance(args[0], Record | Known):
        held = args[0].parts if isinstance(args[0], Record) else args[0].object
        if type(held) in (tuple, list, dict, set, frozenset) and getattr(args[0], "form", "") != "object":
            return constant(len(held))
    if name == "len" and len(args) == 1 and isinstance(args[0], Node) and args[0].kind.name == "list":
        return Node(_LENGTH, "len({0})", (args[0],), "", path)
    nodes = _nodes(args, named)
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
    return fold(len, text) if text.is_constant else Node(_LENGTH, "len({0})", (text,), "length", path)


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


def _method(receiver: Node, name: str, args: list[Node], path: Where) -> Node:
    """A method of a text, a match or a list of texts."""
    if receiver.kind.name == "match" and name == "group" and all(a.is_constant for a in args) and len(args) < 2:
        return _of(receiver, name, args, path, replace(STR, optional=True))
    if receiver.kind.name != "str":
        raise NotUnderstood(f"the method `{name}` of a `{receiver.kind.name}`")
    if receiver.is_constant:
        raise NotUnderstood(f"the method `{name}` of a constant")
    if name in _TEXT:
        return _of(receiver, name, args, path, STR)
    if name in _PADDED and args and args[0].is_constant and type(args[0].value) is int and args[0].value <= _MOST_WIDTH:
        return _of(receiver, name, args, path, STR)
    if name in ("startswith", "endswith") and len(args) == 1 and args[0].is_constant and not receiver.kind.optional:
        return replace(_of(receiver, name, args, path, BOOL), vector=name if args[0].kind == STR else "")
    if name in _ASKED:
        return _of(receiver, name, args, path, BOOL)
    if name in _COUNTED:
        return _of(receiver, name, args, path, _LENGTH)
    if name in _SPLIT and all(a.is_constant and a.value != "" for a in args):
        return _of(_text(receiver, path), name, args, path, LIST)
    raise NotUnderstood(f"the method `{name}` of text")


def _text(node: Node, path: Where) -> Node:
    """A text that is not None: what is made of it stays inside a row's expression, and must not raise there unseen."""
    node = narrow(node, path)
    if node.kind.name != "str" or node.is_constant:
        raise NotUnderstood("it takes a constant, or no text, apart")
    return node


def _of(receiver: Node, name: str, args: list[Node], path: Where, kind: Kind) -> Node:
    inside = ", ".join(f"{{{i + 1}}}" for i in range(len(args)))
    return Node(kind, f"{{0}}.{name}({inside})", (receiver, *args), "", path)


def _object_method(held: Any, name: str, args: list[Value], named: dict[str, Value], path: Where) -> Value:
    """A method of a lookup table or of a compiled pattern."""
    if type(held) is dict and name == "get":
        return _get(held, _nodes(args, named), path)
    if isinstance(held, re.Pattern):
        return _pattern(held, name, _nodes(args, named), path)
    raise NotUnderstood(f"the method `{name}` of a `{type(held).__name__}`")


def _get(table: dict[Any, Any], args: list[Node], path: Where) -> Node:
    if not 1 <= len(args) <= 2 or args[0].is_constant:
        raise NotUnderstood("`get` with other arguments")
    default = args[1] if len(args) == 2 else constant(None)
    kind = unify([*_kinds(table.values()), default.kind])
    return Node(kind, "{0}.get({1}, {2})", (held("table", literal(table)), args[0], default), "", path)


def _kinds(values: Any) -> list[Kind]:
    found = [kind_of_value(v) for v in values]
    if not found or None in found:
        raise NotUnderstood("a table of other things than numbers and texts")
    return [k for k in found if k is not None]


def _pattern(pattern: re.Pattern[Any], name: str, args: list[Node], path: Where) -> Node:
    if not isinstance(pattern.pattern, str):
        raise NotUnderstood("a pattern of bytes")
    known = held("pattern", f"re.compile({pattern.pattern!r}, {pattern.flags})")
    if name in _MATCHED and len(args) == 1:
        return _of(known, name, [_text(args[0], path)], path, MATCH)
    if name == "sub" and len(args) == 2 and args[0].is_constant:
        return _of(known, name, args, path, STR)
    raise NotUnderstood(f"the method `{name}` of a pattern")


def _regular(name: str, args: list[Value], named: dict[str, Value], path: Where) -> Node:
    first = args[0] if args else None
    if isinstance(first, Known) and isinstance(first.object, re.Pattern):
        return _pattern(first.object, name, _nodes(args[1:], named), path)
    if not (isinstance(first, Node) and first.is_constant and isinstance(first.value, str)):
        raise NotUnderstood("a pattern that is not constant")
    try:
        pattern = re.compile(first.value)
    except re.error:
        raise NotUnderstood("a pattern that is none") from None
    return _pattern(pattern, name, _nodes(args[1:], named), path)


def constants_in(value: Value) -> Any:
    """The constants of a tuple, list or lookup table, in a form that says what is in it as Python does."""
    if isinstance(value, Record) and value.form in ("tuple", "list"):
        if not all(isinstance(p, Node) and p.is_constant for p in value.parts):
            raise NotUnderstood("`in` a tuple that is not constant")
        return tuple(p.value for p in value.parts)
    if isinstance(value, Known) and type(value.object) in (tuple, list, set, frozenset, dict):
        return value.object
    raise NotUnderstood("`in` something that is no text and no table")


def index(base: Value, where: Any, flow: Flow) -> Value:
    """`base[where]`."""
    if isinstance(base, Record):
        if not (isinstance(where, Node) and where.is_constant):
            raise NotUnderstood("an index that is not constant")
        if base.form == "dict":
            if where.value not in base.names:
                raise NotUnderstood(f"there is no key {where.value!r}")
            return base.parts[base.names.index(where.value)]  # type: ignore[no-any-return]
        if base.form == "object" or type(where.value) is not int or not -len(base.parts) <= where.value < len(base.parts):
            raise NotUnderstood("an index that is not there")
        return base.parts[where.value]  # type: ignore[no-any-return]
    if isinstance(base, Known):
        return _table_item(base.object, where, flow.here)
    if base.kind.name == "str" and isinstance(where, tuple):
        return _sliced(base, where, flow.here)
    if base.kind.name in ("str", "list", "match") and isinstance(where, Node) and not base.is_constant:
        kind = replace(STR, optional=True) if base.kind.name == "match" else STR
        return Node(kind, "{0}[{1}]", (base, _index(where)), "", flow.here)
    raise NotUnderstood("an index of that")


def _index(node: Node) -> Node:
    if node.kind.name != "int" or node.kind.optional:
        raise NotUnderstood("an index that is no integer")
    return node


def _sliced(base: Node, where: tuple[Node | None, ...], path: Where) -> Node:
    given = [p for p in where if p is not None]
    if base.is_constant or any(p.kind.name not in ("int", "none") for p in given):
        raise NotUnderstood("a slice of that")
    places = iter(range(1, len(given) + 1))
    texts = ["" if p is None else f"{{{next(places)}}}" for p in where]
    text = ":".join(texts[:2]) + (f":{texts[2]}" if texts[2] else "")
    return Node(STR, f"{{0}}[{text}]", (base, *given), "", path)


def _table_item(table: Any, where: Any, path: Where) -> Value:
    if type(table) in (dict, list, tuple) and isinstance(where, Node):
        if where.is_constant:
            try:
                return as_value(table[where.value])
            except (LookupError, TypeError):
                raise NotUnderstood("an entry of a table that is not there") from None
        kind = unify(_kinds(table.values() if type(table) is dict else table))
        return Node(kind, "{0}[{1}]", (held("table", literal(table)), where), "", path)
    raise NotUnderstood("an item of that")
