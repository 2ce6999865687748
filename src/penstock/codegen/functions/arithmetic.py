"""Operators and truth values of nodes: their kinds, their ranges, and the operations over columns that they become."""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

from penstock.codegen.functions.nodes import (
    BOOL,
    EXACT,
    FLOAT,
    GREATEST,
    INT,
    LEAST,
    STR,
    Kind,
    Node,
    NotUnderstood,
    Where,
    constant,
)

OPERATIONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "Add": ("+", python.add),
    "Sub": ("-", python.sub),
    "Mult": ("*", python.mul),
    "Div": ("/", python.truediv),
    "FloorDiv": ("//", python.floordiv),
    "Mod": ("%", python.mod),
    "Pow": ("**", python.pow),
    "BitAnd": ("&", python.and_),
    "BitOr": ("|", python.or_),
    "BitXor": ("^", python.xor),
    "RShift": (">>", python.rshift),
}
COMPARISONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "Eq": ("==", python.eq),
    "NotEq": ("!=", python.ne),
    "Lt": ("<", python.lt),
    "LtE": ("<=", python.le),
    "Gt": (">", python.gt),
    "GtE": (">=", python.ge),
}
_UNARY: dict[str, Callable[[Any], Any]] = {"-": python.neg, "+": python.pos, "~": python.inv}
_CHECKED = {"+": "add", "-": "subtract", "*": "multiply"}
_MOST_EXPONENT = 64


def fold(compute: Callable[..., Any], *args: Node) -> Node:
    """The constant that an operation on constants gives.

    Raises:
        NotUnderstood: It raises an exception, or gives something else.
    """
    try:
        return constant(compute(*(a.value for a in args)))
    except (ArithmeticError, TypeError, ValueError) as error:
        raise NotUnderstood(f"a constant expression raises {type(error).__name__}") from None


def narrow(node: Node, path: Where) -> Node:
    """The value without None: rows in which it is None leave the normal case."""
    if node.kind.name == "none":
        raise NotUnderstood("it computes with None")
    if not node.kind.is_column:
        raise NotUnderstood(f"it computes with a `{node.kind.name}`")
    if not node.kind.optional:
        return node
    return Node(replace(node.kind, optional=False), "{0}", (node,), "present", path)


def to_int(node: Node, path: Where) -> Node:
    """A truth value as a number; numbers stay."""
    if node.kind.name != "bool":
        return node
    if node.is_constant:
        return constant(int(node.value))
    return Node(Kind("int", 0, 1), "{0}", (node,), "int of bool", path)


def to_float(node: Node, path: Where, *, exactly: bool = False) -> Node:
    """A number as a float; `exactly` where rows with integers that are no floats have to leave."""
    node = to_int(node, path)
    if node.kind.name == "float":
        return node
    is_exact = node.kind.low >= -EXACT and node.kind.high <= EXACT
    if node.is_constant and (is_exact or not exactly):
        return replace(constant(float(node.value)), row=node.row)
    return Node(FLOAT, "{0}", (node,), "float" if is_exact or not exactly else "exact float", path)


def binary(symbol: str, left: Node, right: Node, path: Where) -> Node:
    """The result of a binary operator.

    Raises:
        NotUnderstood: It does not work on columns of these kinds.
    """
    left, right = narrow(left, path), narrow(right, path)
    if left.is_constant and right.is_constant and (symbol != "**" or abs(right.value) <= _MOST_EXPONENT):
        return fold(next(f for s, f in OPERATIONS.values() if s == symbol), left, right)
    row = f"({{0}} {symbol} {{1}})"
    if left.kind.name == right.kind.name == "str" and symbol == "+":
        return Node(STR, row, (left, right), "concatenate", path)
    if left.kind.name == right.kind.name == "bool" and symbol in "&|^":
        return Node(BOOL, row, (left, right), f"plain {symbol}", path)
    if "str" in (left.kind.name, right.kind.name):
        raise NotUnderstood(f"`{symbol}` of text")
    left, right = to_int(left, path), to_int(right, path)
    if symbol == "**":
        return _power(left, right, path)
    if symbol == "/":
        exactly = left.kind.name == right.kind.name == "int"
        parts = to_float(left, path, exactly=exactly), to_float(right, path, exactly=exactly)
        vector = "plain /" if parts[1].is_constant and parts[1].value else "divide"
        return Node(FLOAT, row, parts, vector, path)
    if "float" in (left.kind.name, right.kind.name):
        return _float(symbol, to_float(left, path), to_float(right, path), row, path)
    return _integer(symbol, left, right, row, path)


def _float(symbol: str, left: Node, right: Node, row: str, path: Where) -> Node:
    if symbol in "+-*":
        return Node(FLOAT, row, (left, right), f"plain {symbol}", path)
    if symbol in ("//", "%"):
        return Node(FLOAT, row, (left, right), {"//": "floor_divide", "%": "modulo"}[symbol], path)
    raise NotUnderstood(f"`{symbol}` of floats")


def _integer(symbol: str, left: Node, right: Node, row: str, path: Where) -> Node:
    a, b = left.kind, right.kind
    if symbol in _CHECKED:
        compute = next(f for s, f in OPERATIONS.values() if s == symbol)
        corners = [compute(x, y) for x, y in product((a.low, a.high), (b.low, b.high))]
        return _ranged(min(corners), max(corners), row, (left, right), f"plain {symbol}", _CHECKED[symbol], path)
    if symbol == "//":
        size = max(abs(a.low), abs(a.high))
        is_plain = right.is_constant and right.value > 0
        return _ranged(-size, size, row, (left, right), "plain //" if is_plain else "", "floor_divide", path)
    if symbol == "%":
        is_plain = right.is_constant and right.value > 0
        low, high = min(0, b.low + 1), max(0, b.high - 1)
        return Node(Kind("int", low, high), row, (left, right), "plain %" if is_plain else "modulo", path)
    if symbol == ">>":
        if not (right.is_constant and 0 <= right.value <= 63):
            raise NotUnderstood("`>>` by a number that is not a constant")
        return Node(Kind("int", min(a.low, 0), max(a.high, 0)), row, (left, right), "plain >>", path)
    return Node(INT, row, (left, right), f"plain {symbol}", path)


def _ranged(low: int, high: int, row: str, args: tuple[Node, ...], plain: str, checked: str, path: Where) -> Node:
    """An operation that needs no check if its result cannot leave 64 bits."""
    fits = low >= LEAST and high <= GREATEST
    return Node(
        Kind("int", max(low, LEAST), min(high, GREATEST)), row, args, plain if fits and plain else checked, path
    )


def _power(left: Node, right: Node, path: Where) -> Node:
    """A power is computed row by row: numpy's need not be Python's to the last bit."""
    row = "({0} ** {1})"
    if "float" in (left.kind.name, right.kind.name):
        return Node(FLOAT, row, (left, right), "", path)
    if not (right.is_constant and 0 <= right.value <= _MOST_EXPONENT):
        raise NotUnderstood("a power of integers whose exponent is no small constant")
    if right.value == 2:
        low, high = left.kind.low, left.kind.high
        most = max(low * low, high * high)
        return _ranged(0, most, "({0} ** 2)", (left, left), "plain *", "multiply", path)
    return Node(INT, row, (left, right), "", path)


def unary(symbol: str, node: Node, path: Where) -> Node:
    """The result of `-`, `+` or `~`."""
    node = to_int(narrow(node, path), path)
    if node.kind.name == "str":
        raise NotUnderstood(f"`{symbol}` of text")
    if node.is_constant:
        return fold(_UNARY[symbol], node)
    if symbol == "+":
        return node
    if node.kind.name == "float":
        if symbol == "~":
            raise NotUnderstood("`~` of a float")
        return Node(FLOAT, "(-{0})", (node,), "plain -", path)
    low, high = node.kind.low, node.kind.high
    if symbol == "~":
        return Node(Kind("int", ~high, ~low), "(~{0})", (node,), "plain ~", path)
    return _ranged(-high, -low, "(-{0})", (node,), "plain -", "negate", path)


def compare(symbol: str, left: Node, right: Node, path: Where) -> Node:
    """The result of a comparison; text is compared by code points in Python and, as UTF-8, in Arrow."""
    if symbol in ("==", "!=") and "none" in (left.kind.name, right.kind.name):
        return is_none(right if left.kind.name == "none" else left, path, holds=symbol == "==")
    left, right = narrow(left, path), narrow(right, path)
    if left.is_constant and right.is_constant:
        return fold(next(f for s, f in COMPARISONS.values() if s == symbol), left, right)
    row = f"({{0}} {symbol} {{1}})"
    if left.kind.name == right.kind.name == "str":
        return Node(BOOL, row, (left, right), f"text {symbol}", path)
    if "str" in (left.kind.name, right.kind.name):
        raise NotUnderstood("a comparison of text with something else")
    left, right = to_int(left, path), to_int(right, path)
    if left.kind.name != right.kind.name:
        left, right = to_float(left, path, exactly=True), to_float(right, path, exactly=True)
    return Node(BOOL, row, (left, right), f"plain {symbol}", path)


def is_none(node: Node, path: Where, *, holds: bool = True) -> Node:
    """Whether a value is None."""
    if node.kind.name == "opaque":
        raise NotUnderstood("it asks whether an attribute is None that is no number, text or truth value")
    if node.kind.name == "none" or not node.kind.optional:
        return constant((node.kind.name == "none") is holds)
    row = "({0} is None)" if holds else "({0} is not None)"
    return Node(BOOL, row, (node,), ("is null" if holds else "is valid") if node.kind.is_column else "", path)


def truth(node: Node, path: Where) -> Node:
    """Whether a value counts as true."""
    if node.is_constant:
        return constant(bool(node.value))
    if node.kind.name == "bool" and not node.kind.optional:
        return node
    if node.kind.name == "opaque":
        raise NotUnderstood("it asks whether an attribute is true that is no number, text or truth value")
    vector = "truth" if node.kind.is_column else ""
    return Node(BOOL, "bool({0})", (node,), vector, path)


def negate(node: Node, path: Where) -> Node:
    """The opposite of a truth value."""
    return constant(not node.value) if node.is_constant else Node(BOOL, "(not {0})", (node,), "plain ~", path)
