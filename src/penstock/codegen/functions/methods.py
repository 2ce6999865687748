"""Methods of texts, and what is looked up: patterns, tables, items and slices."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from penstock.codegen.functions.analysis import Flow, as_value
from penstock.codegen.functions.arithmetic import narrow
from penstock.codegen.functions.nodes import (
    BOOL,
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

LENGTH = Kind("int", -1, 2**31)
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


def plain_nodes(args: list[Value], named: dict[str, Value]) -> list[Node]:
    """The arguments of a call that takes numbers and texts, none of them by name."""
    if named:
        raise NotUnderstood(f"a call with the keyword `{next(iter(named))}`")
    if not all(isinstance(a, Node) and (a.kind.is_column or a.kind.name == "none") for a in args):
        raise NotUnderstood("a call with something that is no number and no text")
    return [a for a in args if isinstance(a, Node)]


def call_method(receiver: Node, name: str, args: list[Node], path: Where) -> Node:
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
        return _of(receiver, name, args, path, LENGTH)
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


def call_object_method(held: Any, name: str, args: list[Value], named: dict[str, Value], path: Where) -> Value:
    """A method of a lookup table or of a compiled pattern."""
    if type(held) is dict and name == "get":
        return _get(held, plain_nodes(args, named), path)
    if isinstance(held, re.Pattern):
        return _pattern(held, name, plain_nodes(args, named), path)
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


def call_regular(name: str, args: list[Value], named: dict[str, Value], path: Where) -> Node:
    """A function of `re`."""
    first = args[0] if args else None
    if isinstance(first, Known) and isinstance(first.object, re.Pattern):
        return _pattern(first.object, name, plain_nodes(args[1:], named), path)
    if not (isinstance(first, Node) and first.is_constant and isinstance(first.value, str)):
        raise NotUnderstood("a pattern that is not constant")
    try:
        pattern = re.compile(first.value)
    except re.error:
        raise NotUnderstood("a pattern that is none") from None
    return _pattern(pattern, name, plain_nodes(args[1:], named), path)


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
        if (
            base.form == "object"
            or type(where.value) is not int
            or not -len(base.parts) <= where.value < len(base.parts)
        ):
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
